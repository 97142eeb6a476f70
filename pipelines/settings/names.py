"""Names of settings that nobody reads: most of them are mistyped."""

import difflib
import re
from collections.abc import Iterable

PREFIX = "HARBOR_"
OF_TESTS = ("REQUIRE_", "SAMPLE_DATA")
"""What names begin with that tests and benchmarks read."""
# Kubernetes sets these for a service named harbor-something.
SERVICE = re.compile(r"(_|^)(PORT|PORT_\d+_.*|SERVICE_HOST|SERVICE_PORT.*)$")
ALIKE = 0.75
"""Share of letters from which on a name is taken for another one, mistyped."""


def mistyped(said: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Names that are close to a known one, each with that one.

    A name like no other stays out: the prefix is not ours alone.

    Args:
      said: Names in the environment, in any case.
      known: Those of the settings, in capitals, with the prefix.
    """
    ours = {name.removeprefix(PREFIX) for name in known}
    rest = {name: name.upper().removeprefix(PREFIX) for name in said if _is_ours(name)}
    meant = {name: _nearest(own, ours) for name, own in rest.items() if own not in ours}
    return {name: PREFIX + near for name, near in sorted(meant.items()) if near}


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like one that is unknown, in any case; None if none is."""
    found = _nearest(name.upper(), {each.upper() for each in known})
    return None if found is None else found.lower()


def _is_ours(name: str) -> bool:
    own = name.upper().removeprefix(PREFIX)
    return (
        name.upper().startswith(PREFIX)
        and not own.startswith(OF_TESTS)
        and SERVICE.search(own) is None
    )


def _nearest(name: str, known: set[str]) -> str | None:
    begun = sorted(each for each in known if each.startswith(f"{name}_"))
    alike = difflib.get_close_matches(name, sorted(known), n=1, cutoff=ALIKE)
    return next(iter([*alike, *begun]), None)
