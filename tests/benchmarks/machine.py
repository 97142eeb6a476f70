"""The machine of a measurement in one line, and a stopwatch."""

import os
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime


def stamp() -> str:
    """Date, processor, cores that this process may use, and commit."""
    cores = len(os.sched_getaffinity(0))
    return f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()} with {cores} cores, commit {commit()}"


def commit() -> str:
    """Short hash of the checked-out commit, marked where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    return completed.stdout.strip()


def timed(work: Callable[[], object]) -> float:
    """Seconds of the wall clock that a piece of work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
