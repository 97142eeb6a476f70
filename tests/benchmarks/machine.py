"""The machine of a measurement in one line, and its speed now."""

import os
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

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
    """Short hash of the checked-out commit, marked where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    return completed.stdout.strip()


def product_seconds(size: int = PRODUCT_SIZE) -> float:
    """Seconds of one large float32 matrix product by NumPy on all cores, now.

    The unit in which seconds are kept, so that they mean the same on another machine.
    """
    left = np.random.default_rng(0).random((size, size), np.float32)
    return _least_seconds(lambda: left @ left)


def recurrent_seconds() -> float:
    """Seconds of 100 small products by NumPy, each with its tanh, now.

    The unit of what serves a recurrent network: a processor may be as quick as another in a
    large product and take three times as long for these.
    """
    rng = np.random.default_rng(0)
    kernel = rng.random((4, 96, 33), np.float32)
    state = rng.random((4, 33, 128), np.float32)

    def work() -> None:
        for _ in range(100):
            np.tanh(kernel @ state)

    return _least_seconds(work, times=20)


def _least_seconds(work: Callable[[], Any], times: int = 5) -> float:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)
