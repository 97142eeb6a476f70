"""Programs of other people that some tests check our files with."""

import os
import shutil

import pytest


def needed(program: str, package: str) -> str:
    """Where a program lies; without it the test is skipped, or fails where it must run.

    Args:
      program: Its name on the PATH.
      package: Debian's package that has it.
    """
    found = shutil.which(program)
    if found is not None:
        return found
    says = f"needs {program}: apt-get install {package}"
    if os.environ.get("HARBOR_REQUIRE_TOOLS"):
        pytest.fail(says)
    pytest.skip(says)
