"""The machine of a measurement in one line, and its speed now."""

import os
import platform
import subprocess
import time
from datetime import UTC, datetime

import numpy as np

PRODUCT_SIZE = 2048


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
    """Short hash of the checked-out commit."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    return completed.stdout.strip()


def product_seconds(size: int = PRODUCT_SIZE) -> float:
    """Seconds of one large float32 matrix product by NumPy on all cores, now.

    The unit in which seconds are kept, so that they mean the same on another machine.
    """
    left = np.random.default_rng(0).random((size, size), np.float32)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        left @ left
        times.append(time.perf_counter() - started)
    return min(times)
