"""A command in a process of its own is ended when it must, and with its parent."""

import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest

from pipelines.scheduling import subprocess_runner
from pipelines.scheduling.subprocess_runner import NOT_STARTED, SubprocessRunner

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
LONG = timedelta(hours=1)
PATIENCE_S = 30


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(subprocess_runner, "POLL_INTERVAL_S", 0.02)


@pytest.mark.parametrize("status", [0, 3])
def test_its_status_is_told(status):
    assert (
        SubprocessRunner(LONG).run(
            [sys.executable, "-c", f"raise SystemExit({status})"]
        )
        == status
    )


@pytest.mark.usefixtures("quick")
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
    assert one.run(SLEEP) == NOT_STARTED


DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""


def test_one_that_does_not_listen_is_killed(monkeypatch):
    monkeypatch.setattr(subprocess_runner, "GRACE_PERIOD_S", 0.1)
    command = [sys.executable, "-c", DEAF]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as deaf:
        assert deaf.stdout.readline() == "deaf\n"
        subprocess_runner.terminate(deaf)
        assert deaf.returncode == -9


ORPHAN = """
import time
from pipelines.scheduling import parent_watchdog
parent_watchdog.GRACE_PERIOD_S = 0.1
{more}
parent_watchdog.exit_with_parent()
print("watching", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("more", "status"),
    [
        pytest.param("", -15, id="listens"),
        pytest.param(
            "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)",
            -9,
            id="deaf",
        ),
    ],
)
def test_a_child_process_exits_with_its_parent(more, status):
    command = [sys.executable, "-c", ORPHAN.format(more=more)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as child:
        assert child.stdout.readline() == "watching\n"
        # As the kernel does when the parent is killed.
        child.stdin.close()
        assert child.wait(PATIENCE_S) == status
