"""What a measurement was made on, in one line."""

import os
import platform
import subprocess
from datetime import UTC, datetime


def stamp() -> str:
    """Date, processor, cores and commit."""
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()} with {cores()} cores, "
        f"commit {_commit()}"
    )


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return made.stdout.strip()
