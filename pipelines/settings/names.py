"""Mistyped names of settings."""

import difflib
import re
from collections.abc import Iterable

PREFIX = "HARBOR_"
TEST_PREFIXES = ("REQUIRE_", "SAMPLE_DATA")
"""Prefixes of names that tests and benchmarks read."""
# Kubernetes sets these for a service named harbor-something.
SERVICE = re.compile(r"(_|^)(PORT|PORT_\d+_.*|SERVICE_HOST|SERVICE_PORT.*)$")
MIN_SIMILARITY = 0.75
"""`difflib` ratio from which a name is taken for a mistyped one."""


def mistyped(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Returns the names that are close to a known one, each with that one.

    Names unlike any other are left out: the prefix is not ours alone.

    Args:
      names: Names in the environment, in any case.
      known: Names of the settings, in capitals, with the prefix.
    """
    ours = {name.removeprefix(PREFIX) for name in known}
    meant = {}
    for name in sorted(names):
        own = name.upper().removeprefix(PREFIX)
        if not name.upper().startswith(PREFIX) or own in ours:
            continue
        if own.startswith(TEST_PREFIXES) or SERVICE.search(own):
            continue
        if near := _nearest(own, ours):
            meant[name] = PREFIX + near
    return meant


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like another one, in any case; None if none is."""
    near = _nearest(name.upper(), {each.upper() for each in known})
    return None if near is None else near.lower()


def _nearest(name: str, known: set[str]) -> str | None:
    similar = difflib.get_close_matches(name, sorted(known), 1, MIN_SIMILARITY)
    longer = sorted(each for each in known if each.startswith(f"{name}_"))
    return next(iter([*similar, *longer]), None)
