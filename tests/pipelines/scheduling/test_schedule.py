"""When the night runs, what becomes of missed ones, and which of two schedulers leads."""

import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from apscheduler.executors.pool import BasePoolExecutor

from pipelines.cli.night_findings import look_at_nights
from pipelines.nightly.run import NIGHTLY_LOCK
from pipelines.runs.ledger import recorded
from pipelines.scheduling import catch_up, schedule
from pipelines.scheduling.catch_up import Due
from pipelines.scheduling.jobs import ScheduledJobs
from pipelines.scheduling.schedule import NightlyTrigger
from pipelines.scheduling.subprocess_runner import harbor_command
from pipelines.schema import runs
from pipelines.settings import Settings
from pipelines.settings.complete_days import newest_whole_day
from pipelines.store.locks import LostRunError, try_lock
from pipelines.store.nightly_runs import NightsKept
from tests.pipelines.make import add_depot

ROOT = Path(__file__).parents[3]
PATIENCE_S = 30
AMSTERDAM = Settings(timezone="Europe/Amsterdam")


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
    """As the clock asks: given the night before, with the time just after it."""
    trigger = NightlyTrigger(Settings(timezone=zone, nightly_at=hour))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    nights = []
    while len(nights) < 366:
        previous = nights[-1] if nights else None
        nights.append(trigger.get_next_fire_time(previous, now))
        now = nights[-1].astimezone(UTC) + timedelta(milliseconds=3)
    nights = [night.astimezone(ZoneInfo(zone)) for night in nights]
    days = [night.date() for night in nights]
    assert all((b - a).days == 1 for a, b in pairwise(days))
    odd = [f"{night:%H:%M}" for night in nights if f"{night:%H:%M}" != hour]
    assert len(odd) <= 1
    assert all(moved > hour for moved in odd)


def test_a_night_that_the_clock_slept_through_is_still_asked_for():
    trigger = NightlyTrigger(AMSTERDAM)
    slept_through = trigger.get_next_fire_time(
        at("2026-06-10 02:30"), at("2026-06-14 09:00")
    )
    assert slept_through == at("2026-06-11 02:30")


@pytest.mark.parametrize(
    ("hour", "nights"),
    [
        ("04:30", []),
        ("02:30", ["2026-03-29 01:30", "2026-10-25 00:30"]),
        ("02:00", ["2026-03-29 01:00", "2026-10-25 00:00"]),
        ("03:00", []),
    ],
)
def test_nights_that_the_clocks_move_are_known_in_advance(hour, nights):
    """In UTC, worked by hand: from 02:00 to 03:00 in March, and back in October."""
    settings = Settings(timezone="Europe/Amsterdam", nightly_at=hour)
    odd = catch_up.nights_at_clock_change(settings, at("2026-01-01 00:00"))
    # Two times of which one comes twice are never equal, whatever their zones.
    odd = [night.astimezone(UTC) for night in odd]
    assert odd == [at(night) for night in nights]
    second, after = timedelta(seconds=1), timedelta(hours=1)
    for night in odd:
        for moment in (night, night + after):
            assert catch_up.last_nightly(settings, moment).astimezone(UTC) == night
        assert catch_up.last_nightly(settings, night - second).astimezone(UTC) < night
        following = catch_up.next_nightly(settings, night + second).astimezone(UTC)
        assert timedelta(hours=22) < following - night < timedelta(hours=26)


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
    """In UTC, worked by hand: the clocks change between the two."""
    settings = Settings(timezone=zone)
    assert catch_up.next_nightly(settings, at(before)) == at(before)
    second = timedelta(seconds=1)
    assert catch_up.next_nightly(settings, at(before) + second) == at(after)
    assert catch_up.last_nightly(settings, at(after) - second) == at(before)
    assert catch_up.last_nightly(settings, at(after)) == at(after)


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
    assert newest_whole_day(at(moment), zones) == day(expected)


def test_what_is_due_waits_for_half_of_the_depots():
    morning = at("2026-06-10 06:00")
    assert AMSTERDAM.due_on(morning) == day(9)
    assert AMSTERDAM.due_on(morning, {"America/Chicago": 1}) == day(8)
    assert AMSTERDAM.due_on(at("2026-06-10 03:00")) == day(8)


@pytest.mark.parametrize("zones", [{"Pacific/Auckland": 1}, {"America/Chicago": 1}, {}])
def test_what_is_due_is_what_the_night_forecasts_from_wherever_the_depots_lie(
    zones,
):
    """Also where no depot lies in the fleet's own zone."""
    evening = Settings(timezone="America/Los_Angeles", nightly_at="20:00")
    hour = catch_up.nightly_at(evening, day(10))
    an_hour_later = hour + timedelta(hours=1)
    assert evening.due_on(an_hour_later, zones) == evening.origin_of(hour, zones)
    # The tenth has been over for hours in Auckland, and in no other of these.
    expected = day(10) if "Pacific/Auckland" in zones else day(9)
    assert evening.origin_of(hour, zones) == expected


@pytest.mark.parametrize(
    ("settled", "first", "on_time", "expected"),
    [
        pytest.param(None, None, True, [9], id="a new fleet, just after the hour"),
        pytest.param(None, None, False, [], id="a new fleet in the afternoon"),
        pytest.param(None, 7, False, [7, 8, 9], id="none ever ended"),
        pytest.param(9, 1, True, [], id="all there"),
        pytest.param(6, 1, False, [7, 8, 9], id="three days down"),
        pytest.param(12, 1, True, [], id="one by hand, of a later day"),
    ],
)
def test_nights_are_missed_since_the_newest_that_was(settled, first, on_time, expected):
    kept = NightsKept(settled and day(settled), first and day(first))
    found = catch_up.missing_origins(kept, day(9), on_time)
    assert found == [day(number) for number in expected]


def test_no_more_than_a_month_is_caught_up_with():
    kept = NightsKept(day(9) - timedelta(days=400), None)
    found = catch_up.missing_origins(kept, day(9), on_time=True)
    assert found[-1] == day(9)
    assert len(found) == catch_up.MAX_CATCH_UP


@pytest.mark.parametrize(
    ("policy", "on_time", "run", "leave_out"),
    [
        ("all", False, [7, 8, 9], []),
        ("latest", False, [9], [7, 8]),
        ("skip", False, [], [7, 8, 9]),
        # The night itself is late, not missed: it runs whatever the policy.
        ("all", True, [7, 8, 9], []),
        ("latest", True, [9], [7, 8]),
        ("skip", True, [9], [7, 8]),
    ],
)
def test_the_policy_decides_on_missed_nights(policy, on_time, run, leave_out):
    three = [day(7), day(8), day(9)]
    due = catch_up.apply_policy(three, day(9) if on_time else None, policy)
    assert due.run == tuple(map(day, run))
    assert due.leave_out == tuple(map(day, leave_out))
    assert due.missed == {*three} - ({day(9)} if on_time else set())


class Fleet:
    """A ledger, a frozen clock, and nights that end as they are told to."""

    def __init__(self, engine, lock, policy, state="done"):
        self.engine, self.lock, self.state = engine, lock, state
        self.settings = Settings(
            timezone="Europe/Amsterdam", missed_nights=policy, home="/nowhere"
        )
        self.now = at("2026-06-10 02:30")
        self.ran = []
        self.jobs = self.new_jobs()

    def new_jobs(self):
        return ScheduledJobs(
            self.engine, self.settings, self.lock, self.night, lambda: self.now
        )

    def night(self, command):
        assert command[1:4] == ["-m", "pipelines", "nightly"]
        origin = date.fromisoformat(command[command.index("--origin") + 1])
        self.ran.append(origin)
        with self.engine.begin() as connection:
            connection.execute(
                sa.insert(runs).values(
                    step="nightly", origin_on=origin, state=self.state,
                    started_at=self.now, finished_at=self.now,
                )
            )  # fmt: skip
        return 0 if self.state == "done" else 1

    def ledger(self, step):
        with self.engine.connect() as connection:
            found = sa.select(runs).where(runs.c.step == step).order_by(runs.c.run_id)
            return [dict(row) for row in connection.execute(found).mappings()]


@pytest.fixture
def lead(clean_engine):
    with try_lock(clean_engine, schedule.LEADER_LOCK) as lock:
        yield lambda policy="latest", **how: Fleet(clean_engine, lock, policy, **how)


@pytest.mark.db
@pytest.mark.parametrize(
    ("policy", "ran", "left_out"),
    [("all", [7, 8, 9], []), ("latest", [9], [7, 8]), ("skip", [], [7, 8, 9])],
)
def test_after_downtime_the_policy_is_followed_and_written_down(
    lead, policy, ran, left_out
):
    fleet = lead(policy)
    fleet.night([*harbor_command("nightly"), "--origin", str(day(6))])
    fleet.now = at("2026-06-10 15:00")
    for clock in (fleet.jobs, fleet.jobs, fleet.new_jobs()):
        clock.poll()
    assert fleet.ran[1:] == list(map(day, ran))
    told = [row for row in fleet.ledger("nightly") if row["state"] == "skipped"]
    assert [row["origin_on"] for row in told] == list(map(day, left_out))
    assert all(
        f"policy for missed nights is '{policy}'" in row["error"] for row in told
    )
    (decision,) = fleet.ledger("schedule")
    assert decision["metrics"] == {
        "policy": policy,
        "run": [str(day(number)) for number in ran],
        "left_out": [str(day(number)) for number in left_out],
    }
    assert all(row["parent_id"] == decision["run_id"] for row in told)


@pytest.mark.db
def test_the_night_runs_at_its_hour_even_if_it_ran_before_by_hand(lead):
    fleet = lead("skip")
    fleet.jobs.run_due()
    assert fleet.ran == [day(9)]
    fleet.jobs.run_due()
    assert fleet.ran == [day(9), day(9)]
    fleet.jobs.poll()
    assert len(fleet.ran) == 2
    assert not fleet.ledger("schedule")


@pytest.mark.db
def test_a_failed_night_is_tried_three_times_and_then_left_to_the_next(lead):
    fleet = lead(state="failed")
    fleet.jobs.run_due()
    for _ in range(5):
        fleet.jobs.poll()
    assert fleet.ran == [day(9)] * 3
    fleet.state = "done"
    fleet.now += timedelta(days=1)
    fleet.jobs.run_due()
    assert fleet.ran[3:] == [day(10)]
    (left_out,) = [row for row in fleet.ledger("nightly") if row["state"] == "skipped"]
    assert left_out["origin_on"] == day(9)


@pytest.mark.db
def test_a_night_at_work_is_left_alone(lead):
    fleet = lead()
    with try_lock(fleet.engine, NIGHTLY_LOCK):
        fleet.jobs.poll()
        assert fleet.ran == []
    fleet.jobs.poll()
    assert fleet.ran == [day(9)]


@pytest.mark.db
@pytest.mark.parametrize(
    ("start", "zone"),
    [
        # Midnight there falls before the fleet's half past four in one half of the year,
        # and after it in the other: a day comes twice, or two days at once.
        ("2026-03-26 03:30", "America/Sao_Paulo"),
        ("2026-10-22 02:30", "America/Sao_Paulo"),
        ("2026-03-26 03:30", "Europe/Amsterdam"),
        ("2026-10-22 02:30", "Europe/Amsterdam"),
    ],
)
def test_no_day_is_lost_or_run_after_it_was_seen_when_the_clocks_change(
    lead, start, zone
):
    fleet = lead("all")
    with fleet.engine.begin() as connection:
        add_depot(connection, "W", timezone=zone)
    fleet.now = at(start)
    for _ in range(6):
        fleet.jobs.run_due()
        fleet.now = catch_up.next_nightly(
            fleet.settings, fleet.now + timedelta(seconds=1)
        )
    first = fleet.ran[0]
    length = (fleet.ran[-1] - first).days + 1
    assert sorted({*fleet.ran}) == [first + timedelta(days=n) for n in range(length)]
    assert fleet.ran == sorted(fleet.ran)
    # The night of the clock change is the fleet's fourth.
    gone = (at(start).date() + timedelta(days=5) - fleet.ran[-1]).days
    assert gone in ({1, 2} if zone == "America/Sao_Paulo" else {1})


@pytest.mark.db
def test_an_hour_that_comes_twice_has_one_new_night(lead):
    fleet = lead()
    fleet.settings = Settings(
        timezone="Europe/Amsterdam", nightly_at="02:30", home="/nowhere"
    )
    clock = fleet.new_jobs()
    for hour in ("00:30", "01:30"):
        fleet.now = at(f"2026-10-25 {hour}")
        clock.run_due()
    assert set(fleet.ran) == {date(2026, 10, 24)}


@pytest.mark.db
def test_a_late_night_runs_again_when_its_file_is_in_the_inbox(lead, tmp_path):
    fleet = lead()
    fleet.settings = Settings(timezone="Europe/Amsterdam", home=tmp_path)
    fleet.now = datetime.now(UTC)
    clock = fleet.new_jobs()
    clock.run_due()
    (origin,) = fleet.ran
    with fleet.engine.begin() as connection:
        connection.execute(sa.update(runs).values(metrics={"late_depots": 2}))
        demand = sa.insert(runs).values(
            step="demand", parent_id=1, state="done", finished_at=sa.func.now()
        )
        connection.execute(demand)
    clock.poll()
    assert fleet.ran == [origin]
    fleet.settings.inbox.mkdir()
    (fleet.settings.inbox / "broken.csv").write_text("depot_id,date,or")
    fleet.state, fleet.now = "skipped", datetime.now(UTC)
    # Nothing is in it, so it is not looked at again; the next file is.
    for _ in range(2):
        clock.poll()
        assert fleet.ran == [origin, origin]
    late = fleet.settings.inbox / "late.csv"
    late.write_text("depot_id,date,orders\n")
    later = time.time() + 5
    os.utime(late, (later, later))
    fleet.state, fleet.now = "done", fleet.now + timedelta(seconds=9)
    for _ in range(2):
        clock.poll()
        assert fleet.ran == [origin] * 3


@pytest.mark.db
def test_a_leader_that_lost_its_lock_writes_nothing_down(lead):
    fleet = lead("skip")
    fleet.night([*harbor_command("nightly"), "--origin", str(day(6))])
    with fleet.lock.engine.connect() as connection:
        pid = connection.scalar(sa.select(sa.func.pg_backend_pid()))
    _end_session(fleet.engine, pid)
    with pytest.raises(LostRunError, match="lost the database session"):
        fleet.jobs._record_policy(Due(leave_out=(day(7),)))
    assert not [row for row in fleet.ledger("nightly") if row["state"] == "skipped"]


def _end_session(engine, pid):
    with engine.connect() as connection:
        connection.execute(sa.text("select pg_terminate_backend(:pid)"), {"pid": pid})
    gone = sa.text("select count(*) from pg_stat_activity where pid = :pid")

    def is_gone():
        # A transaction would go on seeing what it saw first.
        with engine.connect() as connection:
            return connection.scalar(gone, {"pid": pid}) == 0

    _until(is_gone)


def _until(there):
    deadline = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


@pytest.mark.db
def test_the_lead_ends_with_the_session_that_holds_it(clean_engine, monkeypatch):
    monkeypatch.setattr(schedule, "LEADER_POLL_S", 0.05)
    leading = threading.Event()
    monkeypatch.setattr(ScheduledJobs, "poll", lambda _: leading.set())
    args = (clean_engine, Settings(), threading.Event())
    leader = threading.Thread(target=schedule.run_scheduler, args=args)
    leader.start()
    assert leading.wait(PATIENCE_S)
    assert schedule.has_leader(clean_engine)
    holder = sa.text("select pid from pg_locks where objid = :key and granted")
    with clean_engine.connect() as connection:
        pid = connection.scalar(holder, {"key": schedule.LEADER_LOCK})
    _end_session(clean_engine, pid)
    leader.join(PATIENCE_S)
    assert not leader.is_alive()
    assert not schedule.has_leader(clean_engine)


SCHEDULER = """
import sys
from threading import Event
import sqlalchemy as sa
from pipelines.scheduling import jobs, schedule
from pipelines.settings import Settings

NIGHT = '''
import signal, sys, time
from datetime import date
import sqlalchemy as sa
from pipelines.runs.ledger import recorded
from pipelines.scheduling.parent_watchdog import exit_with_parent

exit_with_parent()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
with recorded(sa.create_engine(sys.argv[1]), "nightly", date(2026, 1, 1)):
    print("at work", flush=True)
    time.sleep(600)
'''
url = sys.argv[1]
schedule.LEADER_POLL_S = 0.05
jobs.harbor_command = lambda *_: [sys.executable, "-c", NIGHT, url]
jobs.ScheduledJobs.poll = lambda self: self._run_nightly(sys.argv[2])
print("started", flush=True)
schedule.run_scheduler(sa.create_engine(url), Settings(), Event())
"""


@pytest.mark.db
def test_when_the_leader_is_killed_its_night_ends_and_the_other_takes_over(
    clean_engine, database_url
):
    def scheduler(name):
        command = [sys.executable, "-c", SCHEDULER, database_url, name]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def says(process, word):
        return any(line == f"{word}\n" for line in process.stdout)

    def nights():
        found = sa.select(runs).where(runs.c.step == "nightly").order_by(runs.c.run_id)
        with clean_engine.connect() as connection:
            return [dict(row) for row in connection.execute(found).mappings()]

    with scheduler("first") as first:
        assert says(first, "at work")
        with scheduler("second") as second:
            assert says(second, "started")
            first.kill()
            assert says(second, "at work")
            # The orphan was ended by its parent watchdog, and recorded as such.
            _until(lambda: nights()[0]["state"] == "failed")
            assert "stopped from outside" in nights()[0]["error"]
            assert nights()[1]["state"] == "running"
            second.kill()
    _until(lambda: nights()[1]["state"] == "failed")


@pytest.mark.db
def test_show_says_what_runs_when_and_what_ran_last(clean_engine, monkeypatch, capsys):
    from contextlib import contextmanager

    from pipelines.cli import schedule as command
    from pipelines.cli.workplace import Workplace

    with recorded(clean_engine, "nightly", day(9)):
        pass

    @contextmanager
    def place():
        yield Workplace(AMSTERDAM, clean_engine)

    monkeypatch.setattr(Workplace, "now", at("2026-06-10 06:00"))
    monkeypatch.setattr(command, "workplace", place)
    command.show()
    said = capsys.readouterr()
    assert "Thu 11 Jun 2026 04:30 CEST" in said.out
    assert "Thu 11 Jun 02:30" in said.out
    assert "2026-06-10" in said.out
    assert "done" in said.out
    assert "No scheduler is running" in said.err
    assert "clocks" not in said.err


@pytest.mark.db
def test_show_says_what_the_clocks_do_to_the_night(clean_engine, monkeypatch, capsys):
    from contextlib import contextmanager

    from pipelines.cli import schedule as command
    from pipelines.cli.workplace import Workplace

    settings = Settings(timezone="Europe/Amsterdam", nightly_at="02:30")

    @contextmanager
    def place():
        yield Workplace(settings, clean_engine)

    monkeypatch.setattr(Workplace, "now", at("2026-06-10 06:00"))
    monkeypatch.setattr(command, "workplace", place)
    command.show()
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "On Sun 25 Oct 2026 02:30 comes twice as the clocks change: that night runs "
        "once, at 02:30 CEST." in said
    )
    assert (
        "On Sun 28 Mar 2027 02:30 is skipped as the clocks change: that night runs "
        "once, at 03:30 CEST." in said
    )
    command.show(as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert [change["on"] for change in told["clock_changes"]] == [
        "2026-10-25",
        "2027-03-28",
    ]


@pytest.mark.db
def test_doctor_tells_of_the_scheduler_and_of_nights_it_missed(clean_engine):
    def finding():
        found = look_at_nights(clean_engine, Settings())
        return next(each for each in found if each.what == "scheduler")

    assert finding().good
    assert "harbor schedule run" in finding().says
    with try_lock(clean_engine, schedule.LEADER_LOCK):
        assert finding().good
        assert "next night" in finding().says
        long_ago = datetime.now(UTC).date() - timedelta(days=5)
        with recorded(clean_engine, "nightly", long_ago):
            pass
        assert not finding().good
        assert str(long_ago + timedelta(days=1)) in finding().says


@pytest.mark.db
def test_a_scheduler_that_is_stopped_in_the_middle_of_a_look_ends(
    clean_engine, tmp_path, monkeypatch
):
    """The look is planned again while the library shuts down: neither waits for ever."""
    looking, shutting_down, stopped = (threading.Event() for _ in range(3))
    shut_down = BasePoolExecutor.shutdown

    def poll(_clock):
        looking.set()
        shutting_down.wait()

    def shut_down_aloud(*arguments, **options):
        shutting_down.set()
        shut_down(*arguments, **options)

    monkeypatch.setattr(ScheduledJobs, "poll", poll)
    monkeypatch.setattr(BasePoolExecutor, "shutdown", shut_down_aloud)
    arguments = (clean_engine, Settings(home=tmp_path), stopped)
    clock = threading.Thread(target=schedule.run_scheduler, args=arguments, daemon=True)
    clock.start()
    assert looking.wait(timeout=30)
    stopped.set()
    clock.join(timeout=30)
    assert not clock.is_alive()
