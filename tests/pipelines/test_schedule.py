"""When the night runs: once a day, on the fleet's clock, whatever the clocks do."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines import schedule
from pipelines.settings import Settings


@pytest.mark.parametrize(
    "zone", ["Europe/Amsterdam", "America/Chicago", "Australia/Lord_Howe"]
)
def test_every_local_day_of_a_year_has_one_night(zone):
    settings = Settings(timezone=zone)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    nights = []
    while len(nights) < 366:
        now = schedule.next_night(settings, now)
        nights.append(now)
        now += timedelta(seconds=1)
    days = [night.date() for night in nights]
    assert len(set(days)) == 366
    assert all((b - a).days == 1 for a, b in pairwise(days))
    assert {(night.hour, night.minute) for night in nights} == {(4, 30)}


def test_stopping_the_clock_ends_its_child(monkeypatch):
    import threading
    import time

    child = schedule.NightlyChild()
    monkeypatch.setattr(schedule.sys, "executable", "/bin/sleep")
    monkeypatch.setattr(
        schedule.subprocess, "Popen", _with_arguments(schedule.subprocess.Popen, "30")
    )
    ended = []
    night = threading.Thread(target=lambda: ended.append(child.run(Settings())))
    night.start()
    while child._process is None:
        time.sleep(0.01)
    assert child.stop() < 0
    night.join(timeout=10)
    assert ended
    assert ended[0] < 0


def _with_arguments(popen, *arguments):
    return lambda command: popen([command[0], *arguments])


@pytest.mark.db
def test_a_second_scheduler_leaves(engine):
    with engine.connect() as other:
        other.execute(sa.select(sa.func.pg_advisory_lock(schedule.LEADER_LOCK)))
        with pytest.raises(NothingToDoError, match="Another scheduler"):
            schedule.run_clock(engine, Settings())
        # The pool would hand the session on with its lock.
        other.execute(sa.select(sa.func.pg_advisory_unlock_all()))
