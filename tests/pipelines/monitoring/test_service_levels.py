"""Service levels: which nights were due, which were ready in time, what is left to fail."""

import json
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta

import pytest
import sqlalchemy as sa

from pipelines import schema
from pipelines.cli import slo as command
from pipelines.cli.workplace import Workplace
from pipelines.monitoring import service_levels
from pipelines.monitoring.service_levels import Level
from pipelines.settings import Settings

AMSTERDAM = Settings(timezone="Europe/Amsterdam")
DAY = timedelta(days=1)


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "now", "origins"),
    [
        pytest.param(
            # 05:00 in Amsterdam is 03:00 UTC in summer.
            "2026-06-08 00:00", "2026-06-10 03:00", [7, 8, 9], id="ready by now"
        ),
        pytest.param(
            "2026-06-08 00:00", "2026-06-10 02:59", [7, 8], id="a minute is left"
        ),
        pytest.param(
            "2026-06-08 02:31", "2026-06-10 03:00", [8, 9], id="began after its hour"
        ),
        pytest.param("2026-06-10 03:00", "2026-06-10 03:00", [], id="none"),
    ],
)  # fmt: skip
def test_the_nights_that_are_due(since, now, origins):
    due = service_levels.due_nights(AMSTERDAM, [], at(since), at(now))
    assert [night.origin_on for night in due] == [date(2026, 6, n) for n in origins]


def test_the_deadline_is_wall_clock_time_where_the_clocks_change():
    due = service_levels.due_nights(
        AMSTERDAM, [], at("2026-03-27 12:00"), at("2026-03-30 12:00")
    )
    assert [night.ready_by.astimezone(UTC) for night in due] == [
        at("2026-03-28 04:00"),
        at("2026-03-29 03:00"),
        at("2026-03-30 03:00"),
    ]


def test_a_night_whose_hour_the_clocks_leave_out_has_its_time_after_it_begins():
    settings = Settings(timezone="Europe/Amsterdam", nightly_at="02:30")
    (night,) = service_levels.due_nights(
        settings, [], at("2026-03-28 12:00"), at("2026-03-29 12:00")
    )
    assert night.hour_at == at("2026-03-29 01:30")
    assert night.ready_by.astimezone(UTC) == at("2026-03-29 02:00")


def test_a_deadline_before_the_nights_hour_is_the_next_day():
    settings = Settings(timezone="UTC", nightly_at="22:00", ready_by="05:00")
    (night,) = service_levels.due_nights(
        settings, [], at("2026-06-08 12:00"), at("2026-06-09 05:00")
    )
    assert (night.hour_at, night.ready_by) == (
        at("2026-06-08 22:00"),
        at("2026-06-09 05:00"),
    )


def test_a_fleet_in_the_far_west_makes_the_origin_a_day_older():
    (night,) = service_levels.due_nights(
        Settings(timezone="Europe/Amsterdam"),
        {"Europe/Amsterdam": 1, "America/Los_Angeles": 2},
        at("2026-06-09 00:00"),
        at("2026-06-09 12:00"),
    )
    assert night.origin_on == date(2026, 6, 7)


@pytest.mark.parametrize(
    ("of", "kept", "share", "left"),
    [
        pytest.param(100, 100, 1.0, 1.0, id="all kept"),
        pytest.param(200, 199, 0.995, 0.5, id="half is spent"),
        pytest.param(100, 99, 0.99, 0.0, id="all is spent"),
        pytest.param(30, 29, 29 / 30, 1 - 1 / 0.3, id="overspent"),
        pytest.param(0, 0, None, None, id="nothing to keep"),
    ],
)
def test_the_budget_that_is_left(of, kept, share, left):
    level = Level("forecast_ready", 30, 0.99, of, kept)
    assert level.share == (share if share is None else pytest.approx(share))
    assert level.budget_left == (left if left is None else pytest.approx(left))


def test_a_young_system_has_the_budget_of_a_whole_window():
    """Its own start, in which the pages did not answer yet, does not overspend it."""
    first_hour = Level("dashboard_up", 30, 0.99, of=60, kept=50, whole=43_200)
    assert first_hour.share == pytest.approx(50 / 60)
    assert first_hour.budget_left == pytest.approx(1 - 10 / 432)


def add_run(connection, step, origin, finished, state="done"):
    values = {
        "step": step, "origin_on": origin, "state": state, "started_at": finished,
        "finished_at": finished,
    }  # fmt: skip
    connection.execute(sa.insert(schema.runs), values)


@pytest.mark.db
def test_a_night_is_kept_by_the_first_forecast_that_was_in_time(clean_engine):
    """Five nights by hand: in time, late, never, failed then by hand, repeated later."""
    first = date(2026, 6, 1)
    with clean_engine.begin() as connection:
        for n in range(5):
            morning = at("2026-06-02 04:30") + n * DAY
            add_run(connection, "nightly", first + n * DAY, morning, "failed")
        in_time, late = timedelta(minutes=29), timedelta(minutes=31)
        for n, delay, state in (
            (0, in_time, "done"),
            (1, late, "done"),
            (2, in_time, "failed"),
            (3, in_time, "failed"),
            (3, 2 * late, "done"),
            (4, in_time, "done"),
            (4, 20 * late, "done"),
        ):
            morning = at("2026-06-02 04:30") + n * DAY
            add_run(connection, "forecast", first + n * DAY, morning + delay, state)
    now = at("2026-06-06 12:00")
    with clean_engine.connect() as connection:
        seen = service_levels.compute(connection, Settings(), now, 30)
        recent = service_levels.compute(connection, Settings(), now, 2)
    assert [night.is_kept for night in seen.nights] == [True, False, False, False, True]
    assert [night.ready_at is not None for night in seen.nights] == [
        True, True, False, True, True,
    ]  # fmt: skip
    assert [night.is_kept for night in recent.nights] == [False, True]


@pytest.mark.db
def test_no_night_is_due_where_none_ever_began(clean_engine):
    with clean_engine.connect() as connection:
        seen = service_levels.compute(
            connection, Settings(), at("2026-06-06 12:00"), 30
        )
    assert seen.nights == ()
    assert all(level.share is None for level in seen.all)


@pytest.mark.db
def test_the_command_tells_machines_and_people(clean_engine, monkeypatch, capsys):
    now = datetime.now(UTC)
    with clean_engine.begin() as connection:
        add_run(connection, "nightly", now.date() - 9 * DAY, now - 9 * DAY, "failed")
        probes = [
            {
                "probed_at": now - timedelta(minutes=n + 1),
                "answered": True,
                "seconds": s,
            }
            for n, s in enumerate([0.5] * 18 + [2.0, 4.0])
        ]
        connection.execute(sa.insert(schema.dashboard_probes), probes)

    @contextmanager
    def here():
        yield Workplace(Settings(), clean_engine)

    monkeypatch.setattr(command, "workplace", here)
    command.slo(days=30, as_json=True)
    (told,) = json.loads(capsys.readouterr().out)
    levels = told["levels"]
    assert levels["forecast_ready"]["kept"] == 0
    assert levels["forecast_ready"]["missed"] == len(told["nights"]) >= 8
    assert levels["dashboard_up"]["kept"] == 1
    assert levels["dashboard_quick"]["kept"] == pytest.approx(0.9)
    # Two late of the 1 in 20 of a whole month's minutes.
    assert levels["dashboard_quick"]["budget_left"] == pytest.approx(
        1 - 2 / (0.05 * 30 * 24 * 60)
    )
    # Between the 19th and the 20th of 20, as percentile_cont counts: 19 × 0.95 = 18.05.
    assert told["dashboard_p95_seconds"] == pytest.approx(2.0 + 0.05 * 2.0)

    command.slo(days=None, as_json=False)
    said = capsys.readouterr()
    assert "forecast ready in time" in said.out
    assert "Not in time over 30 days, by origin: " in said.err
    assert "p95 of the dashboard: 2.10 s over 90 days." in said.err
