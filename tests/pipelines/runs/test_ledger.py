"""The ledger: a run that died does not stay running, and one that lives does."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipelines.runs import ledger as ledger_module
from pipelines.runs.ledger import recorded
from pipelines.schema import run_lines, runs
from pipelines.schema.ledger import RUN_LOCK, RUN_STATE
from pipelines.settings import Settings
from tests.pipelines.make import night_finding, scalar

ROOT = Path(__file__).parents[3]
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
def other_process(database_url):
    """A process that runs a night's training, and says so."""
    command = [sys.executable, "-c", RUNS_FOR_EVER, database_url]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    process.run_id = int(process.stdout.readline())
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def kill(engine, process):
    """Kills it, and waits until the server has noticed."""
    process.kill()
    process.wait()
    held = sa.text("select count(*) from pg_locks where classid = :key")
    deadline = time.monotonic() + 30
    with engine.connect() as connection:
        while connection.scalar(held, {"key": RUN_LOCK}):
            assert time.monotonic() < deadline, "its session goes on"
            time.sleep(0.01)


def row(engine, run_id):
    with engine.connect() as connection:
        query = sa.select(runs).where(runs.c.run_id == run_id)
        return connection.execute(query).mappings().one()


def test_a_killed_run_is_failed_with_a_sentence_when_the_next_one_begins(
    ledger, other_process
):
    def states():
        """As those see them who only read."""
        with ledger.connect() as connection:
            return list(connection.scalars(sa.text(f"select {RUN_STATE} from runs")))

    # While its session lives, it goes on whatever else begins.
    with recorded(ledger, "forecast"):
        pass
    assert sorted(states()) == ["done", "running", "running"]
    run_id = other_process.run_id
    kill(ledger, other_process)
    assert sorted(states()) == ["done", "failed", "failed"]
    with recorded(ledger, "forecast"):
        pass
    run = row(ledger, run_id)
    assert run["state"] == "failed"
    assert "session ended" in run["error"]
    assert f"process {other_process.pid} on" in run["error"]
    assert "start it again" in run["error"]
    # The last that is known of it is its last log line.
    last = sa.select(sa.func.max(run_lines.c.written_at)).where(
        run_lines.c.run_id == run_id
    )
    assert run["finished_at"] == scalar(ledger, last)
    night = row(ledger, run["parent_id"])
    # Its own log ended when the training began.
    assert night["state"] == "failed"
    assert night["finished_at"] == run["finished_at"]


def test_doctor_tells_of_a_killed_run_once(ledger, other_process):
    kill(ledger, other_process)
    finding = night_finding(ledger, "runs", Settings())
    assert not finding.ok
    assert f"harbor runs show {other_process.run_id - 1}" in finding.message
    assert night_finding(ledger, "runs", Settings()).ok
    last_night = night_finding(ledger, "last night", Settings())
    assert not last_night.ok
    assert "session ended" in last_night.message


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
