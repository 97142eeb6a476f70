"""A night that comes while a backfill runs: what it forecast stays."""

import time
from dataclasses import replace
from datetime import timedelta
from threading import Thread

import pytest
import sqlalchemy as sa

from pipelines.backfill import ProgressCallbacks
from pipelines.nightly import steps
from pipelines.nightly.run import run_nightly
from pipelines.nightly.steps import NightlyContext
from pipelines.runs.ledger import recorded
from pipelines.schema import forecasts, publications
from pipelines.store import models
from pipelines.store.forecasts import replace_forecasts
from tests.pipelines.backfill.conftest import LAST, backfill, days_before
from tests.pipelines.make import (
    UTC_ZONE,
    count,
    forecast_from,
    forecast_table,
    midnight_after,
    query,
)

MORNING = midnight_after(LAST)


@pytest.fixture
def champion(fleet, add_model):
    version = add_model(days_before(30))
    with fleet.begin() as connection:
        models.promote(connection, version, "It is the first.")
    return version


@pytest.fixture
def run_a_night(fleet, settings, monkeypatch):
    """A whole night but for training, in which a correction of the last day comes."""
    train = replace(steps.STEPS["train"], work=lambda *_: None)
    monkeypatch.setitem(steps.STEPS, "train", train)

    def run():
        settings.inbox.mkdir(parents=True, exist_ok=True)
        file = settings.inbox / "corrected.csv"
        file.write_text(f"depot_id,date,orders\nA0,{LAST},9999\n")
        began = MORNING + timedelta(hours=4)
        run_nightly(NightlyContext(fleet, settings, began, LAST))
        return newest(fleet)

    return run


def newest(engine):
    """The forecasts of the last origin, whole."""
    found = sa.select(forecasts).where(forecasts.c.origin_on == LAST)
    return query(engine, found.order_by("depot_id", "target_on"))


def test_a_night_within_a_group_keeps_its_live_forecast(
    fleet, settings, champion, run_a_night
):
    # The newest origin waits while the night runs.
    seen = []

    def night_after_the_first_origin(n_forecast, _):
        if n_forecast == 1 and not seen:
            seen.append(run_a_night())

    callbacks = ProgressCallbacks(on_progress=night_after_the_first_origin)
    done = backfill(fleet, settings, 2, 0, now=MORNING, callbacks=callbacks)
    [live] = seen
    assert newest(fleet) == live
    assert all(row.is_live for row in live)
    assert len(live) == 21
    last = done.origins[-1]
    assert (last.is_due, last.reason_code, last.rows) == (False, "live_forecast", 0)
    assert (done.n_forecast, done.n_waiting, done.rows) == (2, 0, 2 * 21)


def test_a_backfill_of_the_newest_origin_makes_hindcasts_that_a_night_replaces(
    fleet, settings, champion, run_a_night
):
    backfill(fleet, settings, 0, 0, now=MORNING)
    assert [row.is_live for row in newest(fleet)] == [False] * 21
    assert [row.is_live for row in run_a_night()] == [True] * 21


def test_a_live_forecast_that_began_earlier_does_not_replace_a_later_one(
    fleet, settings, champion
):
    """Neither in the table nor on the pages."""

    def forecast(hours, run=None):
        now = MORNING + timedelta(hours=hours)
        forecast_from(fleet, settings.artefacts, LAST, now, UTC_ZONE, run)
        return {row.made_at for row in newest(fleet)}

    later = MORNING + timedelta(hours=3)
    with recorded(fleet, "forecast", LAST) as earlier:
        assert forecast(3) == {later}
        assert forecast(2, earlier) == {later}
    assert count(fleet, publications) == 1


def test_a_live_forecast_by_a_clock_that_was_ahead_is_replaced(
    fleet, settings, champion
):
    for hours in (5, 2):
        now = MORNING + timedelta(hours=hours)
        forecast_from(fleet, settings.artefacts, LAST, now, UTC_ZONE)
        assert {row.made_at for row in newest(fleet)} == {now}


def test_a_backfill_that_writes_while_a_night_does_waits_and_finds_its_forecast(
    fleet, settings, champion
):
    """Two open transactions: the second asks only once the first is through."""
    forecast_from(fleet, settings.artefacts, LAST, MORNING, UTC_ZONE)
    made = newest(fleet)
    query(fleet, sa.delete(forecasts))
    written = []

    def write(connection, live):
        rows = [{**row._mapping, "is_live": live} for row in made]
        rows = forecast_table([tuple(row.values()) for row in rows])
        return replace_forecasts(connection, LAST, champion, rows, live=live, run_id=0)

    def write_a_hindcast():
        with fleet.begin() as connection:
            written.append(write(connection, live=False))

    hindcasting = Thread(target=write_a_hindcast)
    with fleet.begin() as night:
        assert write(night, live=True)
        hindcasting.start()
        wait_for_a_lock(fleet)
    hindcasting.join()
    assert written == [False]
    assert newest(fleet) == made


def wait_for_a_lock(engine):
    """Until a transaction waits for one that another holds."""
    waiting = sa.text("select count(*) from pg_locks where not granted")
    with engine.connect() as connection:
        while not connection.scalar(waiting):
            connection.rollback()
            time.sleep(0.01)
