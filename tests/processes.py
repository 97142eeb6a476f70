"""Processes of their own that tests start."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]


NOT_INSTALLED = """
import sys
class NotInstalled:
    def find_spec(self, name, *_):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NotInstalled())
"""


def run_python(
    code: str, not_installed: Iterable[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs code in the folder of the repository; it must not fail.

    It cannot import the packages that are `not_installed`.
    """
    absent = NOT_INSTALLED.format(names=set(not_installed))
    done = subprocess.run(
        [sys.executable, "-c", absent + code],
        capture_output=True, text=True, cwd=ROOT, env=os.environ | environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done
