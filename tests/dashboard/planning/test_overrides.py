"""Planners' overrides: what the database accepts, and what its role may do."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.planning import edits, overrides, undo
from dashboard.planning.overrides import (
    LOCK,
    SET,
    UNLOCK,
    WITHDRAW,
    Batch,
    Cell,
    Change,
)
from dashboard.queries import database
from forecaster.errors import BadInputError
from pipelines import schema
from tests.dashboard.planning.changing import batch, cell, change

pytestmark = pytest.mark.db

DEPOT = "LON-01"


def history(city=""):
    return queries.override_history(city, queries.freshness())


def model_number(seeded, day, depot=DEPOT):
    newest = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    mine = newest[(newest["depot_id"] == depot) & (newest["target_on"] == day)]
    return mine["point"].iloc[0]


def test_an_override_is_stored_with_reason_name_and_forecast(seeded, tomorrow):
    change(SET, 900, day=tomorrow)
    [row] = history("London").to_dict("records")
    assert (row["action"], row["orders"], row["reason"], row["made_by"]) == (
        "set", 900, "A strike", "Anna",
    )  # fmt: skip
    assert row["point"] == pytest.approx(model_number(seeded, tomorrow))
    assert history("Rotterdam").empty


def test_the_newest_override_counts_and_the_history_has_both(tomorrow):
    change(SET, 900, day=tomorrow)
    change(SET, 950, day=tomorrow, by="Ben")
    assert cell(DEPOT, tomorrow).orders == 950
    assert history()["orders"].tolist() == [950, 900]


def test_a_withdrawn_override_is_the_forecast_again(seeded, tomorrow):
    change(SET, 900, day=tomorrow)
    change(WITHDRAW, day=tomorrow)
    found = cell(DEPOT, tomorrow)
    assert (found.orders, found.is_set) == (model_number(seeded, tomorrow), False)


def test_a_locked_day_cannot_be_changed(tomorrow):
    change(LOCK, day=tomorrow)
    locked = cell(DEPOT, tomorrow)
    assert (locked.is_locked, locked.is_set) == (True, False)
    for action, orders in ((SET, 900), (WITHDRAW, None), (LOCK, None)):
        with pytest.raises(BadInputError, match=r"locked by Anna. Unlock it first"):
            overrides.add(batch(action, orders, locked))
    change(UNLOCK, day=tomorrow)
    change(SET, 900, day=tomorrow)
    assert cell(DEPOT, tomorrow).orders == 900


def test_an_untouched_day_that_is_locked_and_unlocked_is_the_models_again(
    seeded, tomorrow
):
    before = cell(DEPOT, tomorrow)
    change(LOCK, day=tomorrow)
    change(UNLOCK, day=tomorrow)
    after = cell(DEPOT, tomorrow)
    assert replace(after, override_id=None) == before
    assert history()["orders"].isna().tolist() == [True, False]


def test_a_set_day_that_is_locked_and_unlocked_stays_set(tomorrow):
    change(SET, 900, day=tomorrow)
    change(LOCK, day=tomorrow)
    change(UNLOCK, day=tomorrow)
    found = cell(DEPOT, tomorrow)
    assert (found.orders, found.is_set, found.is_locked) == (900, True, False)


def test_a_number_can_be_set_and_locked_at_once(tomorrow):
    change(LOCK, 900, day=tomorrow)
    found = cell(DEPOT, tomorrow)
    assert (found.orders, found.is_set, found.is_locked) == (900, True, True)


@pytest.mark.parametrize(
    ("action", "message"),
    [(UNLOCK, "is not locked"), (WITHDRAW, "nothing to undo")],
)
def test_only_locks_and_overrides_can_be_undone(tomorrow, action, message):
    with pytest.raises(BadInputError, match=message):
        change(action, day=tomorrow)


@pytest.mark.parametrize("days", [0, -5, 8])
def test_only_forecast_days_ahead_can_be_overridden(seeded, days):
    gone = Cell(DEPOT, seeded.through + timedelta(days=days), 900.0, 900.0)
    with pytest.raises(
        BadInputError, match=r"at Greenwich is not among the days ahead"
    ):
        overrides.add(batch(SET, 900, gone))


def test_every_refused_day_is_told_at_once_with_the_depots_name(seeded, tomorrow):
    """And nothing of the batch is stored."""
    change(LOCK, day=tomorrow, depot="LON-02")
    cells = [
        cell("LON-01", tomorrow),
        cell("LON-02", tomorrow),
        Cell("NO-99", tomorrow, 1.0, 1.0),
    ]
    made = tuple(Change(each, SET, 5.0) for each in cells)
    with pytest.raises(BadInputError) as refused:
        overrides.add(Batch(made, "Roster is out", "Ben"))
    day = f"{tomorrow:%a} {tomorrow.day} {tomorrow:%b}"
    assert str(refused.value) == (
        f"{day} at Wapping is locked by Anna. Unlock it first. {day} at NO-99 is not "
        "among the days ahead that are forecast. Choose another day."
    )
    assert not cell("LON-01", tomorrow).is_set


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (SET, "was set to 700 by Ben after you had opened it"),
        (LOCK, "is locked by Ben"),
    ],
)
def test_the_second_of_two_planners_is_told_of_the_first(tomorrow, first, told):
    seen = cell(DEPOT, tomorrow)
    change(first, 700 if first == SET else None, day=tomorrow, by="Ben")
    with pytest.raises(BadInputError, match=told):
        overrides.add(batch(SET, 900, seen))
    assert len(history()) == 1


def test_the_same_change_is_not_stored_twice(tomorrow):
    made = batch(SET, 900, cell(DEPOT, tomorrow))
    overrides.add(made)
    with pytest.raises(BadInputError, match="was set to 900 by Anna after"):
        overrides.add(made)
    assert len(history()) == 1


EVERY_ACTION = pytest.mark.parametrize(
    ("before", "action", "orders"),
    [
        pytest.param([], SET, 900, id="a first number"),
        pytest.param([], LOCK, None, id="a lock"),
        pytest.param([], LOCK, 900, id="a first number, locked"),
        pytest.param([(SET, 700)], SET, 900, id="a second number"),
        pytest.param([(SET, 700)], LOCK, None, id="a lock of a number"),
        pytest.param([(SET, 700)], LOCK, 900, id="a second number, locked"),
        pytest.param([(SET, 700)], WITHDRAW, None, id="back to the model"),
        pytest.param([(LOCK, None)], UNLOCK, None, id="an unlocking"),
        pytest.param([(LOCK, 700)], UNLOCK, None, id="an unlocking of a number"),
    ],
)


def row_of(day, depot=DEPOT):
    week = queries.fleet_week(queries.freshness())
    is_cell = (week["depot_id"] == depot) & (week["target_on"].dt.date == day)
    [row] = week[is_cell].to_dict("records")
    return row


@EVERY_ACTION
def test_undo_restores_the_day_as_it_was(tomorrow, before, action, orders):
    """With the planner and the reason of its number; the history has who undid it."""
    for earlier, number in before:
        change(earlier, number, day=tomorrow, reason="Roadworks")
    was, row = cell(DEPOT, tomorrow), row_of(tomorrow)
    taken_back = change(action, orders, day=tomorrow, by="Ben")
    assert cell(DEPOT, tomorrow) != was
    overrides.add(taken_back)
    assert replace(cell(DEPOT, tomorrow), override_id=was.override_id) == was
    for name in ("made_by", "override_reason"):
        assert row_of(tomorrow)[name] == row[name]
    newest = history().iloc[0]
    assert (newest["made_by"], newest["reason"]) == ("Ben", "Undo: A strike")


def test_undo_of_a_change_after_an_undo_still_knows_the_first_planner(tomorrow):
    change(SET, 700, day=tomorrow)
    for orders in (900, 950):
        overrides.add(change(SET, orders, day=tomorrow, by="Ben"))
    assert (row_of(tomorrow)["point"], row_of(tomorrow)["made_by"]) == (700, "Anna")


def test_a_lock_that_an_undo_restored_is_told_by_who_locked(tomorrow):
    change(LOCK, 700, day=tomorrow)
    overrides.add(change(UNLOCK, day=tomorrow, by="Ben"))
    with pytest.raises(BadInputError, match="is locked by Anna"):
        change(SET, 900, day=tomorrow)


@pytest.mark.parametrize(
    ("day", "orders"), [(0, 701.0), (1, 700.0)], ids=["another number", "another day"]
)
def test_a_number_is_nobody_elses_than_that_of_the_day(tomorrow, day, orders):
    change(SET, 700, day=tomorrow)
    first = cell(DEPOT, tomorrow).override_id
    target = tomorrow + timedelta(days=day)
    made = Change(cell(DEPOT, target), SET, orders, restores=first)
    overrides.add(Batch((made,), "A fair", "Ben"))
    assert row_of(target)["made_by"] == "Ben"


def last_changes(planner="Ben"):
    return undo.last_changes(queries.last_change(planner, queries.freshness()))


@EVERY_ACTION
def test_a_change_is_undone_the_same_from_the_database(
    tomorrow, before, action, orders
):
    for earlier, number in before:
        change(earlier, number, day=tomorrow)
    taken_back = change(action, orders, day=tomorrow, by="Ben")
    batch_of = Batch(tuple(last_changes()), "A strike", "Ben")
    assert undo.inverse(batch_of, [cell(DEPOT, tomorrow).override_id]) == taken_back
    assert not last_changes("Anna"), "his is newer"


def test_a_batch_is_undone_as_a_whole_from_the_database(tomorrow):
    change(LOCK, 700, day=tomorrow)
    both = edits.changes(
        [cell(DEPOT, tomorrow)], WITHDRAW, None, lock=False, unlock=True
    )
    other = cell("LON-02", tomorrow)
    made = Batch((*both, Change(other, SET, 30.0)), "A strike", "Ben")
    ids = overrides.add(made)
    batch_of = Batch(tuple(last_changes()), "A strike", "Ben")
    assert undo.inverse(batch_of, ids) == undo.inverse(made, ids)
    change(SET, 31, depot="LON-02", day=tomorrow, by="Anna")
    assert not last_changes(), "changed since"


def test_neither_an_undo_nor_a_change_of_an_earlier_forecast_is_undone(tomorrow, write):
    overrides.add(change(SET, 900, day=tomorrow, by="Ben"))
    assert not last_changes()
    change(SET, 950, day=tomorrow, by="Ben")
    assert last_changes()
    write(sa.update(schema.overrides).values(origin_on=tomorrow - timedelta(days=2)))
    assert not last_changes()


@pytest.mark.parametrize("locked", [None, 900.0], ids=["the model's", "a planner's"])
def test_a_locked_day_is_unlocked_and_withdrawn_together_and_undone_so(
    tomorrow, locked
):
    change(LOCK, locked, day=tomorrow)
    was = cell(DEPOT, tomorrow)
    both = tuple(edits.changes([was], WITHDRAW, None, lock=False, unlock=True))
    made = Batch(both, "A strike", "Ben")
    taken_back = undo.inverse(made, overrides.add(made))
    now = cell(DEPOT, tomorrow)
    assert (now.orders, now.is_set, now.is_locked) == (was.model_orders, False, False)
    overrides.add(taken_back)
    assert replace(cell(DEPOT, tomorrow), override_id=was.override_id) == was


def test_undo_of_the_models_number_locked_over_a_planners_restores_the_planners(
    seeded, tomorrow
):
    model = cell(DEPOT, tomorrow).orders
    change(SET, model + 80, day=tomorrow)
    taken_back = change(LOCK, model, day=tomorrow)
    overrides.add(taken_back)
    found = cell(DEPOT, tomorrow)
    assert (found.orders, found.is_set, found.is_locked) == (model + 80, True, False)


def test_undo_of_an_unlocking_after_another_night_sets_no_number(tomorrow, write):
    change(LOCK, day=tomorrow)
    taken_back = change(UNLOCK, day=tomorrow)
    f = schema.forecasts.c
    is_day = (f.depot_id == DEPOT) & (f.target_on == tomorrow)
    write(sa.update(schema.forecasts).where(is_day).values(point=f.point + 10))
    model = cell(DEPOT, tomorrow).model_orders
    overrides.add(taken_back)
    found = cell(DEPOT, tomorrow)
    assert (found.orders, found.is_set, found.is_locked) == (model, False, True)


@pytest.mark.parametrize("locked", [None, 900.0], ids=["the model's", "a planner's"])
def test_unlocking_after_another_night_gives_the_number_of_its_preview(
    tomorrow, write, locked
):
    change(LOCK, locked, day=tomorrow)
    f = schema.forecasts.c
    is_day = (f.depot_id == DEPOT) & (f.target_on == tomorrow)
    write(sa.update(schema.forecasts).where(is_day).values(point=f.point + 10))
    unlocking = batch(UNLOCK, None, cell(DEPOT, tomorrow))
    [previewed] = edits.new_orders(unlocking.changes).values()
    overrides.add(unlocking)
    assert cell(DEPOT, tomorrow).orders == previewed


def test_undo_does_not_take_back_what_somebody_else_did_since(tomorrow):
    taken_back = change(SET, 900, day=tomorrow)
    change(SET, 950, day=tomorrow, by="Ben")
    with pytest.raises(BadInputError, match="was set to 950 by Ben"):
        overrides.add(taken_back)
    assert cell(DEPOT, tomorrow).orders == 950


@pytest.mark.parametrize(
    ("orders", "reason", "by", "message"),
    [
        pytest.param(900, " ", "Anna", "A reason is missing", id="no reason"),
        pytest.param(900, "x" * 501, "Anna", "A reason has 501", id="a long reason"),
        pytest.param(900, "A strike", "", "Your name is missing", id="no name"),
        pytest.param(
            -1, "A strike", "Anna", "-1 orders a day lie outside", id="below 0"
        ),
        pytest.param(1e9, "A strike", "Anna", "1,000,000,000 orders", id="a billion"),
        pytest.param(1e9, "", "", "orders.* A reason .* Your name", id="all three"),
    ],
)
def test_an_incomplete_override_is_refused(tomorrow, orders, reason, by, message):
    with pytest.raises(BadInputError, match=message):
        batch(SET, orders, Cell(DEPOT, tomorrow, 1.0, 1.0), by, reason)


def test_texts_are_stored_as_typed(tomorrow):
    nasty = '\'); delete from scores; --<b>=1+1 \\ :x "q"'
    overrides.add(batch(SET, 1, cell(DEPOT, tomorrow), "=cmd()", nasty))
    assert history()[["reason", "made_by"]].to_numpy().tolist() == [[nasty, "=cmd()"]]


def test_an_override_is_visible_at_once(tomorrow):
    before = queries.freshness()
    change(SET, 900, day=tomorrow)
    assert queries.freshness() != before


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
