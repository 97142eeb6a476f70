"""Finds the setting that a mistyped name means."""

import difflib
import re
from collections.abc import Collection

PREFIX = "HARBOR_"
# Tests and benchmarks read the first two; Kubernetes sets the rest for a service named
# harbor-something.
OTHERS = re.compile(
    r"^(require_|sample_data)|(_|^)(port|port_\d+_.*|service_host|service_port.*)$"
)
MIN_SIMILARITY = 0.75
"""Minimum `difflib` ratio at which a name is taken for a mistyped setting."""


def nearest(name: str, valid_names: Collection[str]) -> str | None:
    """Returns the valid name that is most similar to a mistyped one; None if none is similar.

    All names are in lower case, without the prefix. Names that other programs use (`OTHERS`)
    are never taken for mistyped ones.
    """
    if OTHERS.search(name):
        return None
    valid = sorted(valid_names)
    similar = difflib.get_close_matches(name, valid, 1, MIN_SIMILARITY)
    longer = [each for each in valid if each.startswith(f"{name}_")]
    return next(iter([*similar, *longer]), None)
