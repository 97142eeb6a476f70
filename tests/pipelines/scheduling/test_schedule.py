"""Times of the nightly run, missed nights, and the election of the leading scheduler."""

import os
import subprocess
import sys
import threading
import time
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import pairwise

import pytest
import sqlalchemy as sa
from apscheduler.schedulers import base
from structlog.testing import capture_logs

from pipelines.cli.context import CommandContext
from pipelines.nightly.run import NIGHTLY_LOCK
from pipelines.runs.ledger import recorded
from pipelines.runs.locks import try_lock
from pipelines.scheduling import schedule
from pipelines.scheduling.schedule import NightlyJobs, SubprocessRunner
from pipelines.schema import runs
from pipelines.settings import Settings
from pipelines.settings.days import newest_complete_day
from tests.pipelines.in_process import harbor
from tests.pipelines.make import add_depot, night_finding, query

PATIENCE_S = 30


def day(number):
    return date(2026, 6, number)


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "zone",
    ["Europe/Amsterdam", "America/Chicago", "Australia/Lord_Howe", "America/Havana"],
)
@pytest.mark.parametrize("hour", ["04:30", "02:30", "00:30", "02:00", "23:45"])
def test_every_local_day_of_a_year_has_one_night(zone, hour):
    settings = Settings(timezone=zone, nightly_at=hour)
    nights, now = [], datetime(2026, 1, 1, tzinfo=UTC)
    while len(nights) < 366:
        nights.append(settings.next_night(now))
        now = nights[-1].astimezone(UTC) + timedelta(milliseconds=3)
        assert settings.last_night(now) == nights[-1]
    assert all((b.date() - a.date()).days == 1 for a, b in pairwise(nights))
    moved = [f"{night:%H:%M}" for night in nights if f"{night:%H:%M}" != hour]
    assert len(moved) <= 1
    assert all(local > hour for local in moved)


@pytest.mark.parametrize(
    ("zone", "before", "after"),
    [
        ("Europe/Amsterdam", "2026-03-28 03:30", "2026-03-29 02:30"),
        ("Europe/Amsterdam", "2026-10-24 02:30", "2026-10-25 03:30"),
        ("America/Chicago", "2026-03-07 10:30", "2026-03-08 09:30"),
        ("America/Chicago", "2026-10-31 09:30", "2026-11-01 10:30"),
        # Half an hour is taken back.
        ("Australia/Lord_Howe", "2026-04-03 17:30", "2026-04-04 18:00"),
    ],
)
def test_the_night_of_a_clock_change_runs_at_half_past_four(zone, before, after):
    """In UTC, worked by hand: the clocks change between the two. The library agrees."""
    settings = Settings(timezone=zone)
    assert settings.next_night(at(before)) == at(before)
    second = timedelta(seconds=1)
    assert settings.next_night(at(before) + second) == at(after)
    assert settings.last_night(at(after) - second) == at(before)
    assert settings.last_night(at(after)) == at(after)
    scheduler = schedule._scheduler(settings, NightlyJobs(None, settings, None))
    night, look = (job.trigger for job in scheduler.get_jobs())
    assert night.get_next_fire_time(None, at(before) + second) == at(after)
    assert look.interval == timedelta(minutes=10)


@pytest.mark.parametrize(
    ("moment", "zones", "expected"),
    [
        pytest.param("2026-06-10 02:30", {"Europe/Amsterdam": 1}, 9, id="at home"),
        # 21:30 on the ninth there: the ninth is not over.
        pytest.param("2026-06-10 02:30", {"America/Chicago": 1}, 8, id="west"),
        pytest.param(
            "2026-06-10 02:30",
            {"Europe/Amsterdam": 1, "America/Chicago": 2},
            8,
            id="mostly west",
        ),
        pytest.param(
            "2026-06-10 02:30",
            {"Europe/Amsterdam": 40, "Pacific/Honolulu": 1},
            9,
            id="one far west holds nobody back",
        ),
        pytest.param(
            "2026-06-10 12:30",
            {"Europe/Amsterdam": 40, "Pacific/Auckland": 1},
            9,
            id="one far east hurries nobody",
        ),
        pytest.param(
            "2026-06-10 09:30",
            {"America/Chicago": 1, "Europe/Amsterdam": 1},
            9,
            id="over at both",
        ),
        pytest.param("2026-06-10 09:30", {"Pacific/Auckland": 1}, 9, id="far east"),
        pytest.param(
            "2026-06-10 12:30", {"Pacific/Auckland": 1}, 10, id="tomorrow there"
        ),
    ],
)
def test_a_day_counts_once_it_is_over_at_half_of_the_depots(moment, zones, expected):
    assert newest_complete_day(at(moment), zones) == day(expected)


@pytest.mark.parametrize("zones", [{"Pacific/Auckland": 1}, {"America/Chicago": 1}, {}])
def test_what_is_due_is_what_the_night_forecasts_from_wherever_the_depots_lie(
    zones,
):
    """Also where no depot lies in the fleet's own zone."""
    evening = Settings(timezone="America/Los_Angeles", nightly_at="20:00")
    hour = evening.night_on(day(10))
    an_hour_later = hour + timedelta(hours=1)
    assert evening.due_on(an_hour_later, zones) == evening.origin_of(hour, zones)
    # The tenth has been over for hours in Auckland, and in no other of these.
    expected = day(10) if "Pacific/Auckland" in zones else day(9)
    assert evening.origin_of(hour, zones) == expected


class Fleet:
    """A ledger, a frozen clock, and nights that end as they are told to."""

    def __init__(self, engine, state="done", **settings):
        self.engine, self.state = engine, state
        settings = {"timezone": "Europe/Amsterdam", "home": "/nowhere", **settings}
        self.settings = Settings(**settings)
        self.now = at("2026-06-10 02:30")
        self.ran = []
        self.jobs = self.new_jobs()

    def new_jobs(self):
        return NightlyJobs(self.engine, self.settings, self.night, lambda: self.now)

    def night(self, command):
        assert command[1:4] == ["-m", "pipelines", "nightly"]
        self.record(date.fromisoformat(command[command.index("--origin") + 1]))
        return 0 if self.state == "done" else 1

    def record(self, origin):
        self.ran.append(origin)
        self.record_run("nightly", origin)

    def record_run(self, step, origin=None):
        query(
            self.engine, sa.insert(runs), step=step, origin_on=origin, state=self.state,
            started_at=self.now, finished_at=self.now,
        )  # fmt: skip


@pytest.fixture
def fleet_of(clean_engine):
    return partial(Fleet, clean_engine)


@pytest.mark.parametrize(
    ("recorded_nights", "now", "expected"),
    [
        pytest.param(
            [], "2026-06-10 02:40", [9], id="a new fleet, just after the hour"
        ),
        pytest.param([], "2026-06-10 15:00", [], id="a new fleet in the afternoon"),
        pytest.param([6], "2026-06-10 15:00", [9], id="the newest of three missed"),
        pytest.param([9], "2026-06-10 15:00", [], id="done"),
        pytest.param([12], "2026-06-10 15:00", [], id="one by hand, of a later day"),
    ],
)
def test_the_newest_night_that_was_missed_is_made_up_for_once(
    fleet_of, recorded_nights, now, expected
):
    fleet = fleet_of()
    for number in recorded_nights:
        fleet.record(day(number))
    fleet.now = at(now)
    for jobs in (fleet.jobs, fleet.jobs, fleet.new_jobs()):
        jobs.catch_up()
    assert fleet.ran[len(recorded_nights) :] == list(map(day, expected))


def test_the_night_runs_at_its_hour_even_if_it_ran_before_by_hand(fleet_of):
    fleet = fleet_of()
    fleet.jobs.start_night()
    assert fleet.ran == [day(9)]
    fleet.jobs.start_night()
    assert fleet.ran == [day(9), day(9)]
    fleet.jobs.catch_up()
    assert len(fleet.ran) == 2


def test_a_night_done_by_a_clock_a_day_ahead_is_due_again_in_its_own_time(fleet_of):
    fleet = fleet_of()
    fleet.jobs.start_night()
    fleet.now += timedelta(days=1)
    fleet.jobs.start_night()
    assert fleet.ran == [day(9), day(10)]
    fleet.now = at("2026-06-10 15:00")
    for _ in range(2):
        fleet.jobs.catch_up()
    assert fleet.ran[2:] == [day(9)]
    fleet.state, fleet.now = "failed", at("2026-06-11 02:29:59")
    fleet.record(day(10))
    fleet.state, fleet.now = "done", at("2026-06-11 02:40")
    fleet.jobs.catch_up()
    assert fleet.ran[3:] == [day(10), day(10)]
    fleet.jobs.catch_up()
    assert len(fleet.ran) == 5


def test_a_clock_that_was_ahead_costs_no_night_that_no_scheduler_saw(fleet_of):
    fleet = fleet_of()
    fleet.record(day(8))
    fleet.now += timedelta(days=1)
    fleet.jobs.start_night()
    fleet.now = at("2026-06-10 15:00")
    for jobs in (fleet.jobs, fleet.jobs, fleet.new_jobs()):
        jobs.catch_up()
    assert fleet.ran == [day(8), day(10), day(9)]
    fleet.now = at("2026-06-11 15:00")
    for jobs in (fleet.new_jobs(), fleet.new_jobs()):
        jobs.catch_up()
    assert fleet.ran[3:] == [day(10)]


def test_any_command_tells_that_a_night_was_done_by_a_clock_ahead(fleet_of):
    fleet = fleet_of()
    fleet.record(day(9))
    fleet.now += timedelta(days=1)
    fleet.record(day(10))
    fleet.now = at("2026-06-10 15:00")
    fleet.record_run("ingest")
    # The scheduler comes back once the time of that night is over.
    fleet.now = at("2026-06-11 02:40")
    for jobs in (fleet.jobs, fleet.new_jobs()):
        jobs.catch_up()
    assert fleet.ran == [day(9), day(10), day(10)]


def test_a_clock_that_is_set_right_by_seconds_repeats_no_night(fleet_of):
    fleet = fleet_of()
    fleet.record(day(9))
    fleet.now -= timedelta(seconds=50)
    fleet.record_run("ingest")
    fleet.now = at("2026-06-10 15:00")
    fleet.jobs.catch_up()
    assert fleet.ran == [day(9)]


def test_a_failed_night_is_tried_three_times_and_then_left_to_the_next(fleet_of):
    fleet = fleet_of(state="failed")
    with capture_logs() as lines:
        fleet.jobs.start_night()
        fleet.now += timedelta(minutes=10)
        fleet.jobs.catch_up()
        assert [line["event"] for line in lines] == ["nightly_ended"] * 2
        for _ in range(4):
            fleet.jobs.catch_up()
    assert fleet.ran == [day(9)] * 3
    assert [line for line in lines if line["event"] == "night_given_up"] == [
        {
            "event": "night_given_up", "log_level": "warning", "origin": str(day(9)),
            "attempts": 3, "next": "2026-06-11 04:30:00+02:00",
        }
    ]  # fmt: skip
    fleet.state = "done"
    fleet.now += timedelta(days=1)
    fleet.jobs.start_night()
    assert fleet.ran[3:] == [day(10)]


def test_a_night_that_could_not_publish_is_tried_again(fleet_of):
    fleet = fleet_of()
    fleet.jobs.start_night()
    query(fleet.engine, sa.update(runs).values(metrics={"unpublished": "No room."}))
    for _ in range(3):
        fleet.jobs.catch_up()
    # The first attempt succeeds, and is the newest night.
    assert fleet.ran == [day(9)] * 2


def test_a_night_that_waits_for_one_started_by_hand_loses_no_attempt(fleet_of):
    fleet = fleet_of(state="failed")
    with try_lock(fleet.engine, NIGHTLY_LOCK):
        fleet.jobs.start_night()
        fleet.jobs.catch_up()
        assert fleet.ran == []
    fleet.record(day(9))
    for _ in range(4):
        fleet.jobs.catch_up()
    assert fleet.ran[1:] == [day(9)] * 3


@pytest.mark.parametrize(
    ("start", "zone", "passed_over"),
    [
        # Midnight there falls before the fleet's half past four in one half of the year,
        # and after it in the other: a day comes twice, or two days at once.
        # Of two days the newer is forecast from.
        ("2026-03-26 03:30", "America/Sao_Paulo", set()),
        ("2026-10-22 02:30", "America/Sao_Paulo", {date(2026, 10, 23)}),
        ("2026-03-26 03:30", "Europe/Amsterdam", set()),
        ("2026-10-22 02:30", "Europe/Amsterdam", set()),
    ],
)
def test_no_day_is_lost_or_run_after_it_was_seen_when_the_clocks_change(
    fleet_of, start, zone, passed_over
):
    fleet = fleet_of()
    with fleet.engine.begin() as connection:
        add_depot(connection, "W", timezone=zone)
    fleet.now = at(start)
    for _ in range(6):
        fleet.jobs.start_night()
        fleet.now = fleet.settings.next_night(fleet.now + timedelta(seconds=1))
    first = fleet.ran[0]
    length = (fleet.ran[-1] - first).days + 1
    days = {first + timedelta(days=n) for n in range(length)}
    assert {*fleet.ran} == days - passed_over
    assert fleet.ran == sorted(fleet.ran)
    # The night of the clock change is the fleet's fourth.
    gone = (at(start).date() + timedelta(days=5) - fleet.ran[-1]).days
    assert gone in ({1, 2} if zone == "America/Sao_Paulo" else {1})


def test_an_hour_that_comes_twice_has_one_new_night(fleet_of):
    fleet = fleet_of(nightly_at="02:30")
    for hour in ("00:30", "01:30"):
        fleet.now = at(f"2026-10-25 {hour}")
        fleet.jobs.start_night()
    assert set(fleet.ran) == {date(2026, 10, 24)}


@pytest.fixture
def late_fleet(fleet_of, tmp_path):
    """A fleet whose night is done without the orders of two depots."""
    fleet = fleet_of(home=tmp_path)
    fleet.now = datetime.now(UTC)
    fleet.jobs.start_night()
    with fleet.engine.begin() as connection:
        connection.execute(sa.update(runs).values(metrics={"late_depots": 2}))
        demand = sa.insert(runs).values(
            step="demand", parent_id=1, state="done", finished_at=sa.func.now()
        )
        connection.execute(demand)
    return fleet


@pytest.mark.parametrize(
    "written_s",
    [pytest.param(5, id="written there"), pytest.param(-3600, id="moved there")],
)
def test_a_late_night_runs_again_when_its_file_is_in_the_inbox(late_fleet, written_s):
    fleet, jobs = late_fleet, late_fleet.jobs
    (origin,) = fleet.ran
    jobs.catch_up()
    assert fleet.ran == [origin]
    fleet.settings.inbox.mkdir()
    (fleet.settings.inbox / "broken.csv").write_text("depot_id,date,or")
    fleet.state, fleet.now = "skipped", datetime.now(UTC)
    # Nothing is in it, so it is not looked at again; the next file is.
    for _ in range(2):
        jobs.catch_up()
        assert fleet.ran == [origin, origin]
    late = fleet.settings.inbox / "late.csv"
    late.write_text("depot_id,date,orders\n")
    os.utime(late, (time.time() + written_s,) * 2)
    fleet.state, fleet.now = "done", fleet.now + timedelta(seconds=9)
    for _ in range(2):
        jobs.catch_up()
        assert fleet.ran == [origin] * 3


@pytest.mark.parametrize("name", [".late.csv.x7Gq", "late.csv.part", "upload.log"])
def test_a_file_that_no_night_loads_costs_a_late_night_no_attempt(late_fleet, name):
    fleet, jobs = late_fleet, late_fleet.jobs
    (origin,) = fleet.ran
    fleet.settings.inbox.mkdir()
    # An upload that takes hours: the file grows until it is renamed.
    growing = fleet.settings.inbox / name
    fleet.state = "skipped"
    for _ in range(13):
        growing.write_text("depot_id,date,or")
        fleet.now = datetime.now(UTC)
        jobs.catch_up()
    growing.rename(fleet.settings.inbox / "late.csv")
    jobs.catch_up()
    assert fleet.ran == [origin] * 2


@pytest.fixture
def start(clean_engine, monkeypatch):
    """Starts schedulers in threads of their own, which look often; all end with the test."""
    monkeypatch.setattr(schedule, "LEADER_POLL_S", 0.05)
    stopped, threads = threading.Event(), []

    def started():
        arguments = (clean_engine, Settings(), stopped)
        thread = threading.Thread(target=schedule.run_scheduler, args=arguments)
        thread.start()
        threads.append(thread)
        return thread

    def stop():
        stopped.set()
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()

    started.stopped, started.stop = stopped, stop
    yield started
    stop()


def test_when_the_leader_loses_its_session_the_one_that_stands_by_takes_over(
    clean_engine, start, monkeypatch
):
    leads = threading.Semaphore(0)
    monkeypatch.setattr(NightlyJobs, "catch_up", lambda _: leads.release())
    first = start()
    assert leads.acquire(timeout=PATIENCE_S)
    start()
    assert not leads.acquire(timeout=0.5)
    holder = sa.text("select pid from pg_locks where objid = :key and granted")
    with clean_engine.connect() as connection:
        pid = connection.scalar(holder, {"key": schedule.LEADER_LOCK})
        connection.execute(sa.text("select pg_terminate_backend(:pid)"), {"pid": pid})
    first.join(PATIENCE_S)
    assert not first.is_alive()
    assert leads.acquire(timeout=PATIENCE_S)
    assert schedule.has_leader(clean_engine)
    start.stop()
    assert not schedule.has_leader(clean_engine)


def test_after_a_clock_that_ran_ahead_a_leader_fires_at_the_right_time_again(
    start, monkeypatch
):
    ahead = timedelta(days=1)

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + ahead

    monkeypatch.setattr(base, "datetime", Clock)
    monkeypatch.setattr(schedule, "utc_now", lambda: Clock.now(UTC))
    looks = threading.Semaphore(0)
    monkeypatch.setattr(NightlyJobs, "catch_up", lambda _: looks.release())
    schedulers, make = [], schedule._scheduler

    def scheduler_of(*arguments):
        schedulers.append(make(*arguments))
        return schedulers[-1]

    monkeypatch.setattr(schedule, "_scheduler", scheduler_of)
    start()
    assert looks.acquire(timeout=PATIENCE_S)
    ahead = timedelta()
    # At once, and not once the clock has caught up with what it showed.
    assert looks.acquire(timeout=PATIENCE_S)
    within_a_day = datetime.now(UTC) + timedelta(days=1)
    assert all(job.next_run_time < within_a_day for job in schedulers[0].get_jobs())


def test_show_says_what_runs_when_and_what_ran_last(
    clean_engine, database_url, monkeypatch
):
    with recorded(clean_engine, "nightly", day(9)):
        pass
    monkeypatch.setattr(CommandContext, "now", at("2026-06-10 06:00"))
    fleet = {"HARBOR_TIMEZONE": "Europe/Amsterdam", "HARBOR_DATABASE_URL": database_url}
    printed = harbor("schedule", "show", **fleet)
    for words in (
        "Thu 11 Jun 2026 04:30 CEST",
        "Thu 11 Jun 02:30",
        "2026-06-10",
        "done",
    ):
        assert words in printed.stdout
    assert "No scheduler is running" in printed.stderr


def test_doctor_tells_of_the_scheduler_and_of_a_night_it_missed(
    clean_engine, monkeypatch
):
    finding = partial(night_finding, clean_engine, "scheduler", Settings())
    assert finding().ok
    assert "harbor schedule run" in finding().message
    with try_lock(clean_engine, schedule.LEADER_LOCK):
        assert finding().ok
        assert "next night" in finding().message
        long_ago = datetime.now(UTC).date() - timedelta(days=5)
        with recorded(clean_engine, "nightly", long_ago):
            pass
        hours_ago = timedelta(hours=7)
        monkeypatch.setattr(Settings, "last_night", lambda _, now: now - hours_ago)
        assert not finding().ok
        assert "is not done" in finding().message


def test_a_scheduler_that_is_stopped_in_the_middle_of_a_look_ends(start, monkeypatch):
    looking = threading.Event()

    def catch_up(_jobs):
        looking.set()
        start.stopped.wait(PATIENCE_S)

    monkeypatch.setattr(NightlyJobs, "catch_up", catch_up)
    start()
    assert looking.wait(PATIENCE_S)
    start.stop()


SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
LONG = timedelta(hours=1)


@pytest.mark.parametrize("status", [0, 3])
def test_its_status_is_told(status):
    command = [sys.executable, "-c", f"raise SystemExit({status})"]
    assert SubprocessRunner(LONG).run(command) == status


def test_one_that_does_not_end_is_ended_at_its_deadline():
    assert SubprocessRunner(timedelta(seconds=0.1)).run(SLEEP) == -15


def test_stopping_ends_what_runs_and_nothing_runs_after():
    one = SubprocessRunner(LONG)
    ended = []
    running = threading.Thread(target=lambda: ended.append(one.run(SLEEP)))
    running.start()
    deadline = time.monotonic() + PATIENCE_S
    while one._process is None and time.monotonic() < deadline:
        time.sleep(0.01)
    one.stop()
    running.join(PATIENCE_S)
    assert ended == [-15]
    assert one.run(SLEEP) is None


DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""


def test_one_that_does_not_listen_is_killed(monkeypatch):
    monkeypatch.setattr(schedule, "GRACE_PERIOD_S", 0.1)
    command = [sys.executable, "-c", DEAF]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as deaf:
        assert deaf.stdout.readline() == "deaf\n"
        schedule.terminate(deaf)
        assert deaf.returncode == -9
