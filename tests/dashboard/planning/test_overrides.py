"""Planners' overrides: what the database accepts, and what its role may do."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.planning import overrides
from dashboard.planning.overrides import LOCK, SET, UNLOCK, WITHDRAW, Override
from dashboard.queries import database
from forecaster.errors import BadInputError
from pipelines import schema

pytestmark = pytest.mark.db


@pytest.fixture
def tomorrow(seeded):
    return seeded.through + timedelta(days=1)


@pytest.fixture
def change(tomorrow):
    """Changes a number of one depot tomorrow, or does something else to its day."""

    def changed(action=SET, orders=None, depot="LON-01", day=tomorrow, by="Anna"):
        overrides.add([Override(depot, day, action, orders, "A strike", by)])

    return changed


def ahead():
    return queries.overrides_ahead(queries.freshness())


def test_an_override_is_stored_with_reason_name_and_forecast(change, seeded, tomorrow):
    change(SET, 900)
    [row] = queries.override_history("London", queries.freshness()).to_dict("records")
    newest = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    mine = newest[(newest["depot_id"] == "LON-01") & (newest["target_on"] == tomorrow)]
    assert (row["action"], row["orders"], row["reason"], row["made_by"]) == (
        "set", 900, "A strike", "Anna",
    )  # fmt: skip
    assert row["p50"] == pytest.approx(mine["p50"].iloc[0])
    assert queries.override_history("Rotterdam", queries.freshness()).empty


def test_the_newest_override_counts_and_the_history_has_both(change):
    change(SET, 900)
    change(SET, 950, by="Ben")
    assert ahead()[["orders", "made_by"]].to_numpy().tolist() == [[950, "Ben"]]
    history = queries.override_history("", queries.freshness())
    assert history["orders"].tolist() == [950, 900]


def test_a_withdrawn_override_is_the_forecast_again(change):
    change(SET, 900)
    change(WITHDRAW)
    assert ahead()["orders"].isna().all()


def test_a_locked_day_cannot_be_changed(change, seeded, tomorrow):
    change(LOCK)
    assert ahead()["action"].tolist() == ["lock"]
    newest = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    mine = newest[(newest["depot_id"] == "LON-01") & (newest["target_on"] == tomorrow)]
    assert ahead()["orders"].iloc[0] == pytest.approx(mine["p50"].iloc[0])
    for action, orders in ((SET, 900), (WITHDRAW, None), (LOCK, None)):
        with pytest.raises(BadInputError, match=r"was locked by Anna.*Unlock it first"):
            change(action, orders)
    change(UNLOCK)
    change(SET, 900)
    assert ahead()["orders"].tolist() == [900]


@pytest.mark.parametrize(
    ("action", "message"),
    [(UNLOCK, "is not locked"), (WITHDRAW, "nothing can be taken back")],
)
def test_only_locks_and_overrides_can_be_undone(change, action, message):
    with pytest.raises(BadInputError, match=message):
        change(action)


@pytest.mark.parametrize("days", [0, -5, 8])
def test_only_forecast_days_ahead_can_be_overridden(change, seeded, days):
    with pytest.raises(BadInputError, match="only days ahead"):
        change(SET, 900, day=seeded.through + timedelta(days=days))


def test_an_unknown_depot_cannot_be_overridden(change):
    with pytest.raises(BadInputError, match="Depot NO-99 has no forecast"):
        change(SET, 900, depot="NO-99")


def test_several_overrides_are_stored_all_or_none(tomorrow):
    both = [
        Override(depot, tomorrow, LOCK, None, "Roster is out", "Anna")
        for depot in ("LON-01", "NO-99")
    ]
    with pytest.raises(BadInputError, match="NO-99"):
        overrides.add(both)
    assert ahead().empty


@pytest.mark.parametrize(
    ("orders", "reason", "by", "message"),
    [
        pytest.param(900, " ", "Anna", "The reason has 0 letters", id="no reason"),
        pytest.param(900, "x" * 501, "Anna", "The reason has 501", id="a long reason"),
        pytest.param(900, "A strike", "", "Your name has 0 letters", id="no name"),
        pytest.param(None, "A strike", "Anna", "Orders are None", id="no number"),
        pytest.param(-1, "A strike", "Anna", "Orders are -1", id="a negative number"),
    ],
)
def test_an_incomplete_override_is_refused(tomorrow, orders, reason, by, message):
    with pytest.raises(BadInputError, match=message):
        Override("LON-01", tomorrow, SET, orders, reason, by)


def test_texts_are_stored_as_typed(change, tomorrow):
    nasty = "'); delete from scores; --<b>=1+1"
    overrides.add([Override("LON-01", tomorrow, SET, 1, nasty, "=cmd()")])
    assert ahead()[["reason", "made_by"]].to_numpy().tolist() == [[nasty, "=cmd()"]]


def test_an_override_is_visible_at_once(change):
    before = queries.freshness()
    change(SET, 900)
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


def test_another_user_may_not_add_overrides(seeded, clean_engine, tomorrow):
    with clean_engine.connect() as connection:
        connection.execute(sa.text("set local role pg_monitor"))
        with pytest.raises(
            sa.exc.ProgrammingError, match="permission denied for function"
        ):
            connection.execute(
                sa.text("select add_override('LON-01', :day, 'set', 1, 'a', 'b')"),
                {"day": tomorrow},
            )
