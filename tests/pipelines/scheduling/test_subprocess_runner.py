"""A command in a process of its own is ended when it must."""

import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest

from pipelines.scheduling import schedule
from pipelines.scheduling.schedule import SubprocessRunner

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
LONG = timedelta(hours=1)
PATIENCE_S = 30


@pytest.mark.parametrize("status", [0, 3])
def test_its_status_is_told(status):
    assert (
        SubprocessRunner(LONG).run(
            [sys.executable, "-c", f"raise SystemExit({status})"]
        )
        == status
    )


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
