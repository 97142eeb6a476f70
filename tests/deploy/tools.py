"""Programs that check what is in deploy/, where this machine has them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def skip_or_fail(why):
    """Skips with a sentence; fails where everything must be there, as in CI."""
    if os.environ.get("HARBOR_REQUIRE_TOOLS"):
        pytest.fail(why)
    pytest.skip(why)


def find_tool(name, package):
    """A program's path.

    Args:
      name: What it is called.
      package: The Debian package that has it.
    """
    path = shutil.which(name)
    if path is None:
        skip_or_fail(f"needs {name}: apt-get install {package}")
    return path


def compose():
    """Compose v2, or the older program."""
    if shutil.which("docker"):
        version = run("docker", "compose", "version")
        if version.returncode == 0:
            return ["docker", "compose"]
    return [find_tool("docker-compose", "docker-compose")]


def run(*command, **environment):
    """Runs a program to its end, and returns what it printed."""
    return subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
