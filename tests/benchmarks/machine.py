"""The machine of a measurement in one line, and a stopwatch."""

import os
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime


def stamp() -> str:
    """Date, processor, cores and commit."""
    return f"{datetime.now(UTC):%Y-%m-%d}, {machine()}, commit {commit()}"


def machine() -> str:
    """Processor and cores."""
    return f"{platform.machine()} with {cores()} cores"


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


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
