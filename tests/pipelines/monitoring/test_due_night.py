"""Which night should be ready by now, and until when it had time."""

from datetime import UTC, date, datetime

import pytest

from pipelines.monitoring.metrics import newest_due_night
from pipelines.settings import Settings


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("settings", "now", "starts_at", "ready_by"),
    [
        pytest.param(
            # 05:00 in Amsterdam is 03:00 UTC in summer.
            {}, "2026-06-10 03:00", "2026-06-10 02:30", "2026-06-10 03:00", id="summer"
        ),
        pytest.param(
            {}, "2026-06-10 02:59", "2026-06-09 02:30", "2026-06-09 03:00",
            id="a minute is left",
        ),
        pytest.param(
            {}, "2026-03-29 03:00", "2026-03-29 02:30", "2026-03-29 03:00",
            id="the day the clocks change",
        ),
        pytest.param(
            {"nightly_at": "02:30"}, "2026-03-29 12:00",
            "2026-03-29 01:30", "2026-03-29 02:00", id="an hour the clocks leave out",
        ),
        pytest.param(
            {"nightly_at": "22:00", "ready_by": "05:00"}, "2026-06-09 03:00",
            "2026-06-08 20:00", "2026-06-09 03:00", id="ready by the next day",
        ),
        pytest.param(
            {"nightly_at": "22:00", "ready_by": "05:00"}, "2026-06-09 02:00",
            "2026-06-07 20:00", "2026-06-08 03:00", id="two days back",
        ),
    ],
)  # fmt: skip
def test_the_night_that_is_due(settings, now, starts_at, ready_by):
    amsterdam = Settings(timezone="Europe/Amsterdam", **settings)
    night = newest_due_night(amsterdam, {}, at(now))
    assert night.starts_at.astimezone(UTC) == at(starts_at)
    assert night.ready_by.astimezone(UTC) == at(ready_by)


def test_a_fleet_in_the_far_west_makes_the_origin_a_day_older():
    night = newest_due_night(
        Settings(timezone="Europe/Amsterdam"),
        {"Europe/Amsterdam": 1, "America/Los_Angeles": 2},
        at("2026-06-09 12:00"),
    )
    assert night.origin_on == date(2026, 6, 7)
