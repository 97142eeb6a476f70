"""Planners' overrides: what the database accepts, and what its role may do."""

from datetime import timedelta

import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.planning import overrides
from dashboard.planning.overrides import Cell
from dashboard.queries import database
from dashboard.tables import display_tables
from forecaster.errors import BadInputError
from pipelines import schema
from tests.dashboard.planning.changing import cell, change, history, save, undo

pytestmark = pytest.mark.db

DEPOT = "LON-01"


def model_number(seeded, day, depot=DEPOT):
    newest = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    mine = newest[(newest["depot_id"] == depot) & (newest["target_on"] == day)]
    return mine["point"].iloc[0]


def test_an_override_is_stored_with_reason_name_and_forecast(seeded, tomorrow):
    change(900, day=tomorrow)
    [row] = history(city="London").to_dict("records")
    assert (row["orders"], row["reason"], row["made_by"]) == (900, "A strike", "Anna")
    assert row["point"] == pytest.approx(model_number(seeded, tomorrow))
    assert history(city="Rotterdam").empty


def test_a_withdrawn_override_is_the_forecast_again(seeded, tomorrow):
    change(900, day=tomorrow)
    change(None, day=tomorrow)
    found = cell(DEPOT, tomorrow)
    assert (found.orders, found.is_set) == (model_number(seeded, tomorrow), False)
    row = row_of(tomorrow)
    names = ("override_reason", "made_by", "overruled_by")
    assert [row[name] for name in names] == [None, None, None]


@pytest.mark.parametrize("days", [0, -5, 8])
def test_only_forecast_days_ahead_can_be_overridden(seeded, days):
    gone = Cell(DEPOT, seeded.through + timedelta(days=days), 900.0, 900.0)
    with pytest.raises(
        BadInputError, match=r"at Greenwich is not among the days ahead"
    ):
        save(900, gone)


def test_every_refused_day_is_told_at_once_with_the_depots_name(seeded, tomorrow):
    """And nothing of the batch is stored."""
    gone = cell("LON-02", tomorrow)
    change(700, day=tomorrow, depot="LON-02")
    cells = [cell("LON-01", tomorrow), gone, Cell("NO-99", tomorrow, 1.0, 1.0)]
    with pytest.raises(BadInputError) as refused:
        save(5.0, *cells, by="Ben")
    day = f"{tomorrow:%a} {tomorrow.day} {tomorrow:%b}"
    assert str(refused.value) == (
        f"{day} at Wapping was set to 700 by Anna after you had opened it. Look at it again, "
        f"then save. {day} at NO-99 is not among the days ahead that are forecast. Choose "
        "another day."
    )
    assert not cell("LON-01", tomorrow).is_set
    gone_by = [Cell(DEPOT, seeded.through - timedelta(n), 1.0, 1.0) for n in range(7)]
    with pytest.raises(BadInputError, match=r"The same holds for 2 more\.$") as refused:
        save(5.0, *gone_by)
    assert str(refused.value).count("is not among the days ahead") == 5


def test_the_second_of_two_planners_is_told_of_the_first(tomorrow):
    seen = cell(DEPOT, tomorrow)
    change(700, day=tomorrow, by="Ben")
    first = cell(DEPOT, tomorrow)
    with pytest.raises(BadInputError, match="was set to 700 by Ben after you had"):
        save(900, seen)
    change(None, day=tomorrow, by="Ben")
    with pytest.raises(BadInputError, match="was given back to the model by Ben after"):
        save(900, first)
    assert len(history()) == 2


def test_only_an_override_is_taken_back(tomorrow):
    with pytest.raises(BadInputError, match="has no override, so there is nothing"):
        change(None, day=tomorrow)


def row_of(day, depot=DEPOT):
    week = queries.fleet_week(queries.freshness())
    is_cell = (week["depot_id"] == depot) & (week["target_on"].dt.date == day)
    [row] = week[is_cell].to_dict("records")
    return row


def undone():
    """Whether each row of the history is an undo, newest first."""
    return history()["undoes"].notna().tolist()


@pytest.mark.parametrize(
    ("before", "orders"),
    [
        pytest.param([], 900, id="a first number"),
        pytest.param([700], 900, id="a second number"),
        pytest.param([700], None, id="back to the model"),
        pytest.param([700, None], 900, id="a number after back to the model"),
    ],
)
def test_an_undo_is_one_more_row_and_may_be_set_again(tomorrow, before, orders):
    """The number and the reason before the change count again, then those of the change."""
    for number in before:
        change(number, day=tomorrow, reason="Roadworks")
    names = ["point", "p10", "p90", "is_set", "override_reason"]
    was = [row_of(tomorrow)[name] for name in names]
    change(orders, day=tomorrow, by="Ben")
    became = [row_of(tomorrow)[name] for name in names]
    undo("Ben")
    assert [row_of(tomorrow)[name] for name in names] == was
    undo("Ben")
    assert [row_of(tomorrow)[name] for name in names] == became
    assert undone()[:3] == [False, True, False]
    assert history()["orders"].fillna(0).tolist()[::2][:2] == [orders or 0] * 2
    assert history()["made_by"].tolist()[:3] == ["Ben"] * 3
    assert len(history()) == len(before) + 3


def test_an_undo_has_no_reason_of_an_earlier_change_that_was_undone(tomorrow):
    for reason in ("Roadworks", "Fair"):
        change(700, day=tomorrow, reason=reason)
        undo()
    assert history()["reason"].tolist() == ["Fair", "Fair", "Roadworks", "Roadworks"]
    undo()
    assert row_of(tomorrow)["override_reason"] == "Fair", "set again"
    changes = queries.changes("London", queries.freshness())
    shown = display_tables.changes(changes, queries.zone())
    assert shown["Note"].tolist() == ["Fair", "", "Fair", "", "Roadworks"]
    everywhere = queries.changes("", queries.freshness())
    assert everywhere["change_id"].tolist()[:5] == changes["change_id"].tolist()


def test_no_depot_has_more_than_a_hundred_thousand_orders_a_day(seeded, tomorrow):
    change(100_000, day=tomorrow)
    with pytest.raises(BadInputError, match="100,001 orders a day, outside 0 to 100,0"):
        change(100_001, day=tomorrow)


def test_a_reason_that_begins_as_an_undo_is_none(tomorrow):
    change(700, day=tomorrow, reason="Undo: roadworks are over")
    assert undone() == [False]
    undo()
    assert (undone(), cell(DEPOT, tomorrow).is_set) == ([True, False], False)


@pytest.mark.parametrize("what", ["orders", "vans", "settings", "order"])
def test_an_undo_of_what_nobody_has_saved_is_refused_whole(tomorrow, what):
    change(80.0, day=tomorrow)
    [saved] = history()["override_id"]
    known = [saved] * (what == "orders")
    newest = pd.DataFrame({"what": what, "change_id": [*known, 999_999]})
    with pytest.raises(BadInputError, match="is not known"):
        overrides.undo(newest, "Anna")
    assert len(history()) == 1


def test_an_undo_needs_a_name(tomorrow):
    change(80.0, day=tomorrow)
    newest = queries.newest_change("Anna", "London", queries.freshness())
    with pytest.raises(BadInputError, match="Your name is missing"):
        overrides.undo(newest, " ")


def test_what_was_saved_together_is_undone_together(tomorrow):
    change(700, day=tomorrow, reason="Roadworks")
    cells = [cell(depot, tomorrow) for depot in (DEPOT, "LON-02")]
    save(30.0, *cells)
    undo()
    orders = [cell(each.depot, tomorrow).orders for each in cells]
    assert orders == [700, cells[1].orders]
    assert undone()[:2] == [True, True]


def newest(by="Anna", city="London"):
    return queries.newest_change(by, city, queries.freshness())["depot_id"].tolist()


def test_the_newest_change_is_ones_own_of_the_city_and_of_the_days_ahead(
    tomorrow, write
):
    cells = [cell(depot, tomorrow) for depot in (DEPOT, "LON-02")]
    save(30.0, *cells)
    assert (newest(), newest("Ben"), newest(city="Rotterdam")) == (
        [DEPOT, "LON-02"], [], [],
    )  # fmt: skip
    change(31, depot="LON-02", day=tomorrow, by="Ben")
    assert (newest(), newest("Ben")) == ([DEPOT], ["LON-02"]), "changed since"
    made = schema.overrides.c
    past = sa.update(schema.overrides).values(target_on=made.target_on - 1)
    write(past)
    queries.newest_change.clear()
    assert not newest(), "gone by"


def test_undo_does_not_take_back_what_somebody_else_did_since(tomorrow):
    change(900, day=tomorrow)
    mine = queries.newest_change("Anna", "London", queries.freshness())
    change(950, day=tomorrow, by="Ben")
    with pytest.raises(BadInputError, match="was set to 950 by Ben"):
        overrides.undo(mine, "Anna")
    assert cell(DEPOT, tomorrow).orders == 950


def test_a_number_of_before_a_closure_does_not_come_back_by_an_undo(tomorrow, write):
    change(900, day=tomorrow)
    f = schema.forecasts.c
    is_day = (f.depot_id == DEPOT) & (f.target_on == tomorrow)
    closed = {"basis": "closed", "p10": 0, "p50": 0, "p90": 0, "point": 0}
    write(sa.update(schema.forecasts).where(is_day).values(**closed))
    change(50, day=tomorrow)
    undo()
    assert (cell(DEPOT, tomorrow).orders, cell(DEPOT, tomorrow).is_set) == (0, False)


@pytest.mark.parametrize(
    ("orders", "reason", "by", "message"),
    [
        pytest.param(900, " ", "Anna", "A reason is missing", id="no reason"),
        pytest.param(900, "x" * 501, "Anna", "A reason has 501", id="a long reason"),
        pytest.param(900, "A strike", "", "Your name is missing", id="no name"),
        pytest.param(
            -1, "A strike", "Anna", "That makes −1 orders a day, outside", id="below 0"
        ),
        pytest.param(1e9, "A strike", "Anna", "1,000,000,000 orders", id="a billion"),
        pytest.param(1e9, "", "", "orders.* A reason .* Your name", id="all three"),
    ],
)
def test_an_incomplete_override_is_refused(tomorrow, orders, reason, by, message):
    with pytest.raises(BadInputError, match=message):
        save(orders, Cell(DEPOT, tomorrow, 1.0, 1.0), by=by, reason=reason)


def test_texts_are_stored_as_typed(tomorrow):
    nasty = '\'); delete from scores; --<b>=1+1 \\ :x "q"'
    save(1, cell(DEPOT, tomorrow), by="=cmd()", reason=nasty)
    assert history()[["reason", "made_by"]].to_numpy().tolist() == [[nasty, "=cmd()"]]


def test_the_dashboard_connects_as_the_reader_role(dashboard):
    with database.engine().connect() as connection:
        assert connection.scalar(sa.text("select current_user")) == database.ROLE


@pytest.mark.parametrize(
    "what",
    ["insert into {} default values", "delete from {}", "truncate {}", "drop table {}"],
)
def test_the_role_cannot_change_tables(dashboard, what):
    """Even where a transaction asks to write."""
    with database.engine().connect() as connection:
        connection.execute(sa.text("set transaction read write"))
        for table in schema.metadata.sorted_tables:
            with (
                pytest.raises(sa.exc.ProgrammingError, match=r"denied|must be owner"),
                connection.begin_nested(),
            ):
                connection.execute(sa.text(what.format(table.name)))


def test_the_role_reads_every_table_and_creates_none(dashboard):
    with database.engine().connect() as connection:
        connection.execute(sa.text("set transaction read write"))
        for table in schema.metadata.sorted_tables:
            connection.execute(sa.select(table).limit(1))
        with pytest.raises(sa.exc.ProgrammingError, match="permission denied"):
            connection.execute(sa.text("create table mine (a int)"))


def test_another_user_may_not_add_overrides(clean_engine):
    with clean_engine.connect() as connection:
        connection.execute(sa.text("set local role pg_monitor"))
        with pytest.raises(
            sa.exc.ProgrammingError, match="permission denied for function"
        ):
            connection.execute(sa.text("select add_overrides('[]', 'a', 'b')"))


def test_a_name_with_a_wide_space_may_undo(seeded, tomorrow):
    change(100.0, day=tomorrow, by="田中\u3000")
    assert not queries.newest_change("田中\u3000", "London", queries.freshness()).empty
