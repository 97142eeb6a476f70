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


def mistyped(names: Iterable[str], valid_names: Iterable[str]) -> dict[str, str]:
    """Returns the names, in any case, that are close to a valid one, each with that one.

    Names unlike any other are left out: other programs may use the prefix, too.
    """
    valid = {name.removeprefix(PREFIX) for name in valid_names}
    suggestions = {}
    for name in sorted(names):
        own = name.upper().removeprefix(PREFIX)
        if not name.upper().startswith(PREFIX) or own in valid:
            continue
        if own.startswith(TEST_PREFIXES) or SERVICE.search(own):
            continue
        if near := _nearest(own, valid):
            suggestions[name] = PREFIX + near
    return suggestions


def nearest(name: str, valid_names: Iterable[str]) -> str | None:
    """The valid name most similar to another one, in any case; None if none is similar."""
    near = _nearest(name.upper(), {each.upper() for each in valid_names})
    return None if near is None else near.lower()


def _nearest(name: str, valid_names: set[str]) -> str | None:
    similar = difflib.get_close_matches(name, sorted(valid_names), 1, MIN_SIMILARITY)
    longer = sorted(each for each in valid_names if each.startswith(f"{name}_"))
    return next(iter([*similar, *longer]), None)
