"""Panels of past origins, as known in the night after the origin."""

import json
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import sqlalchemy as sa

from forecaster.errors import NoDataError
from pipelines.demand import counting
from pipelines.demand.panels import PanelsAsKnown, read_panel
from pipelines.schema import depots, public_holidays
from pipelines.training.train import training_panel
from tests.make import make_artefact
from tests.pipelines.make import (
    START,
    add_counts,
    add_depot,
    add_event,
    correct_count,
    count_fleet,
    query,
    scalar,
)

ZONE = ZoneInfo("UTC")
DAYS = 40
LAST = START + timedelta(days=DAYS - 1)


@pytest.fixture
def fleet(clean_engine):
    count_fleet(clean_engine, n_days=DAYS)
    return clean_engine


def morning_after(day, hour=6):
    return datetime(day.year, day.month, day.day, hour, tzinfo=UTC) + timedelta(days=1)


def count_again(engine, depot_id, day, orders, now):
    with engine.begin() as connection:
        correct_count(connection, depot_id, day, orders)
    counting.rebuild(engine, now)


def close(engine, day, known_from):
    with engine.begin() as connection:
        add_event(connection, "closed", day, depot_id="A0", known_from=known_from)


def test_a_count_changes_for_the_origins_whose_night_knew_of_it(fleet):
    day, again = LAST - timedelta(days=9), LAST + timedelta(days=5)
    first = int(read_panel(fleet, LAST).demand_dt[0, -10])
    count_again(fleet, "A0", day, 7_000, morning_after(LAST + timedelta(days=1)))
    count_again(fleet, "A0", day, None, morning_after(again, hour=13))

    panels = PanelsAsKnown(fleet, again + timedelta(days=1), ZONE)

    def known(origin):
        panel = panels.at(origin)
        return panel.demand_dt[0, panel.step(day)]

    assert known(day) == first
    assert known(LAST) == first
    assert known(LAST + timedelta(days=1)) == 7_000
    # The correction at 13:00 came after the night of its day.
    assert known(again) == 7_000
    assert np.isnan(known(again + timedelta(days=1)))


def test_an_origin_sees_orders_of_a_day_it_did_not_know_to_be_closed(fleet):
    day = LAST - timedelta(days=9)
    before = read_panel(fleet, LAST).demand_dt[0, -10]
    close(fleet, day, LAST - timedelta(days=3))
    panels = PanelsAsKnown(fleet, LAST, ZONE)
    early, late = panels.at(LAST - timedelta(days=4)), panels.at(LAST)
    assert early.demand_dt[0, early.step(day)] == before
    assert np.isnan(late.demand_dt[0, late.step(day)])
    assert not early.closed_dt[0, early.step(day)]
    assert late.closed_dt[0, late.step(day)]


def test_a_training_through_a_past_day_learns_no_later_correction(fleet):
    day, arrived = LAST - timedelta(days=9), morning_after(LAST)
    first = read_panel(fleet, LAST).demand_dt[0, -10]
    count_again(fleet, "A0", day, 7_000, arrived)
    panels = PanelsAsKnown(fleet, LAST, ZONE)
    past = training_panel(fleet, panels, LAST - timedelta(days=1))
    now = training_panel(fleet, panels, LAST)
    assert past.demand_dt[0, past.step(day)] == first
    assert now.demand_dt[0, now.step(day)] == 7_000


def test_a_backtest_as_of_a_night_knows_no_correction_since(fleet, harbor, monkeypatch):
    """Its only forecast covers three days, one of which is corrected much later."""
    day = LAST - timedelta(days=1)
    count_again(fleet, "A0", day, 90_000, morning_after(LAST + timedelta(days=9)))
    monkeypatch.setattr("forecaster.model.two_stage_fit.train_model", _learn_nothing)

    def wape(*options):
        asked = ("backtest", "--holdout-days", "3", "--horizon", "3", "--json")
        done = harbor(*asked, *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["models"]["gru"]["wape"]

    assert wape() > 90
    assert wape("--as-of", str(LAST)) < 60
    assert "the data ends on" in harbor("backtest", "--as-of", "2099-01-01").stderr


def _learn_nothing(panel, *_, **__):
    return SimpleNamespace(production=make_artefact(panel, horizon=3), seconds=0.0)


def test_a_depot_committed_while_a_panel_is_read_is_in_it_whole_or_not_at_all(
    fleet, newcomer_between_statements
):
    """A depot without a row must not be written to row -1, the last depot's history."""
    before = [
        read_panel(fleet, LAST).demand_dt,
        PanelsAsKnown(fleet, LAST, ZONE).at(LAST).demand_dt,
    ]
    newcomer_between_statements()
    panels = [read_panel(fleet, LAST), PanelsAsKnown(fleet, LAST, ZONE).at(LAST)]
    assert [panel.depot_ids for panel in panels] == [("A0", "A1"), ("A0", "A1", "Z9")]
    np.testing.assert_array_equal(panels[0].demand_dt, before[0])
    np.testing.assert_array_equal(panels[1].demand_dt[:2], before[1])
    assert (panels[1].demand_dt[2, -3:] == 999_999).all()


def test_counts_of_a_depot_that_is_not_laid_out_are_left_out(fleet):
    """For instance if the depot's row was deleted by hand, and its counts were not."""
    query(fleet, sa.delete(depots).where(depots.c.depot_id == "A1"))
    for panel in (
        read_panel(fleet, LAST),
        PanelsAsKnown(fleet, LAST, ZONE).at(LAST),
    ):
        assert panel.depot_ids == ("A0",)
        assert panel.demand_dt[0, -1] < 100


def test_reading_a_panel_writes_nothing(fleet):
    """Holidays of past days and days ahead are stored when demand is counted."""
    reader = fleet.execution_options(postgresql_readonly=True)
    panel = read_panel(reader, LAST)
    new_year = panel.calendar.active_gtk[0, panel.step(date(2024, 1, 1))]
    assert new_year.any()
    query(fleet, sa.delete(public_holidays))
    read_panel(fleet, LAST)
    PanelsAsKnown(fleet, LAST, ZONE).at(LAST)
    assert scalar(fleet, sa.select(sa.func.count(public_holidays.c.name))) == 0


def test_a_holiday_that_the_library_lists_no_longer_goes(fleet):
    """For instance an estimated date that a later release of the library corrects."""
    king, other, before = date(2024, 4, 27), date(2024, 3, 5), date(2023, 3, 5)
    with fleet.begin() as connection:
        named = sa.update(public_holidays).where(public_holidays.c.day_on == king)
        connection.execute(named.values(name="As it was called"))
        for country, day in (("NL", other), ("NL", before), ("BE", other)):
            row = {"country": country, "subdivision": "", "day_on": day, "name": "X"}
            connection.execute(sa.insert(public_holidays), row)
    counting.rebuild(fleet, morning_after(LAST))
    stored = {
        (row.country, row.day_on): row.name
        for row in query(fleet, sa.select(public_holidays))
    }
    assert ("NL", other) not in stored
    assert stored["NL", king] == "As it was called"
    # Holidays before the demand, and of a country without a depot, are left alone.
    assert {("NL", before), ("BE", other)} <= stored.keys()


@pytest.fixture
def newcomer_between_statements(fleet):
    """Commits a depot and its demand from another session, after the next statement."""
    other = sa.create_engine(fleet.url)

    def arm():
        sa.event.listen(fleet, "after_execute", commit_newcomer, once=True)

    def commit_newcomer(*_):
        days = [LAST - timedelta(days=day) for day in range(3)]
        with other.begin() as connection:
            add_depot(connection, "Z9")
            add_counts(connection, ["Z9"], days, 999_999)
        counting.rebuild(other, morning_after(LAST))

    yield arm
    other.dispose()


def test_an_origin_before_all_demand_says_so(fleet):
    panels = PanelsAsKnown(fleet, LAST, ZONE)
    with pytest.raises(NoDataError, match="There is no demand up to 2023-12-31"):
        panels.at(date(2023, 12, 31))
