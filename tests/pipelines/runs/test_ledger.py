"""The ledger: what runs is seen to be alive, and what died does not stay running."""

import contextlib
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipelines.cli.night_findings import look_at_nights
from pipelines.runs import ledger as ledger_module
from pipelines.runs.heartbeat import fail_stale_runs, this_process
from pipelines.runs.ledger import recorded
from pipelines.schema import runs
from pipelines.settings import Settings
from pipelines.store import runs as run_store

pytestmark = pytest.mark.db

ROOT = Path(__file__).parents[3]
PATIENCE_S = 30
RUNS_FOR_EVER = """
import sys, time
import sqlalchemy as sa
from pipelines.cli.logs import configure_logs
from pipelines.runs.ledger import recorded
configure_logs()
with recorded(sa.create_engine(sys.argv[1]), "nightly") as night:
    with recorded(sa.create_engine(sys.argv[1]), "train", parent=night) as run:
        print(run.run_id, flush=True)
        time.sleep(600)
"""


@pytest.fixture
def ledger(clean_engine):
    return clean_engine


@pytest.fixture
def quick_heartbeat(monkeypatch):
    monkeypatch.setattr(ledger_module, "HEARTBEAT_INTERVAL_S", 0.01)


@pytest.fixture
def other_process(database_url):
    """A process that runs a night's training, and says so."""
    command = [sys.executable, "-c", RUNS_FOR_EVER, database_url]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    process.run_id = int(process.stdout.readline())
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def row(engine, run_id):
    with engine.connect() as connection:
        found = sa.select(runs).where(runs.c.run_id == run_id)
        return connection.execute(found).mappings().one()


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def let_time_pass(engine, by):
    with engine.begin() as connection:
        connection.execute(
            sa.update(runs).values(heartbeat_at=runs.c.heartbeat_at - by)
        )


@pytest.mark.usefixtures("quick_heartbeat")
def test_a_step_and_its_night_are_renewed_while_the_step_works(ledger):
    with recorded(ledger, "nightly") as night:
        with recorded(ledger, "train", parent=night) as step:
            let_time_pass(ledger, timedelta(days=1))
            before = row(ledger, night.run_id)["started_at"]
            for run in (night, step):
                wait_for(
                    lambda run=run: row(ledger, run.run_id)["heartbeat_at"] > before
                )
        assert row(ledger, step.run_id)["state"] == "done"
        assert row(ledger, night.run_id)["state"] == "running"


@pytest.mark.usefixtures("quick_heartbeat")
def test_a_heart_goes_on_when_its_connection_is_killed(ledger):
    others = (
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and pid <> pg_backend_pid()"
    )
    with recorded(ledger, "train") as run:
        wait_for(lambda: _has_beaten(ledger, run))
        with ledger.connect() as connection:
            connection.execute(sa.text(others))
        # Other connections that wait in the tests' own pool are dead as well.
        ledger.dispose()
        let_time_pass(ledger, timedelta(days=1))
        wait_for(lambda: _has_beaten(ledger, run))


def _has_beaten(engine, run):
    found = row(engine, run.run_id)
    return found["heartbeat_at"] > found["started_at"]


def test_a_killed_run_is_given_up_with_a_sentence_when_the_next_one_begins(
    ledger, other_process
):
    run_id = other_process.run_id
    other_process.kill()
    other_process.wait()
    let_time_pass(ledger, timedelta(minutes=1))
    with recorded(ledger, "forecast"):
        pass
    found = row(ledger, run_id)
    assert found["state"] == "failed"
    assert "heartbeat stopped" in found["error"]
    assert f"process {other_process.pid} on" in found["error"]
    assert "start it again" in found["error"]
    assert found["finished_at"] == found["heartbeat_at"]
    assert row(ledger, found["parent_id"])["state"] == "failed"


def test_doctor_tells_of_a_killed_run_once(ledger, other_process):
    other_process.kill()
    other_process.wait()
    let_time_pass(ledger, timedelta(minutes=1))
    found = {finding.what: finding for finding in look_at_nights(ledger, Settings())}
    assert not found["runs"].good
    assert f"harbor runs show {other_process.run_id - 1}" in found["runs"].says
    assert "heartbeat stopped" in found["last night"].says
    again = {finding.what: finding for finding in look_at_nights(ledger, Settings())}
    assert again["runs"].good
    assert not again["last night"].good


@pytest.mark.parametrize(
    ("silence", "there", "lost"),
    [
        pytest.param(timedelta(seconds=5), False, False, id="one beat late"),
        pytest.param(timedelta(minutes=1), True, False, id="its process lives"),
        pytest.param(timedelta(minutes=1), False, True, id="its process is gone"),
        pytest.param(timedelta(minutes=3), True, True, id="it hangs"),
    ],
)
def test_a_run_is_lost_when_it_is_silent_for_long(ledger, silence, there, lost):
    run_id = begin(ledger, this_process())
    let_time_pass(ledger, silence)
    assert fail_stale_runs(ledger, lambda _: there) == ([run_id] if lost else [])
    assert row(ledger, run_id)["state"] == ("failed" if lost else "running")


def test_a_run_of_another_machine_is_waited_for(ledger):
    run_id = begin(ledger, ("elsewhere", 1))
    let_time_pass(ledger, timedelta(minutes=1))
    assert fail_stale_runs(ledger, lambda _: False) == []
    let_time_pass(ledger, timedelta(minutes=2))
    assert fail_stale_runs(ledger, lambda _: True) == [run_id]


@pytest.mark.parametrize("parent", [False, True], ids=["a whole", "a step"])
def test_a_run_that_is_ended_as_soon_as_it_has_begun_says_so(
    ledger, monkeypatch, parent
):
    """A signal may come between the row and the work."""
    raised = []

    def end_at_once(run_id, **_):
        if not parent or run_id != night_id:
            raised.append(run_id)
            raise SystemExit(143)

    with contextlib.ExitStack() as stack:
        night = stack.enter_context(recorded(ledger, "nightly")) if parent else None
        night_id = night and night.run_id
        monkeypatch.setattr(ledger_module, "bound_contextvars", end_at_once)
        with pytest.raises(SystemExit), recorded(ledger, "train", parent=night):
            pytest.fail("it was ended before")
    (run_id,) = raised
    assert row(ledger, run_id)["state"] == "failed"
    assert "stopped from outside" in row(ledger, run_id)["error"]


def begin(engine, process):
    with engine.begin() as connection:
        return run_store.begin_run(connection, "train", None, None, process)
