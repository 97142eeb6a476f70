"""A finding of `harbor doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: its name, whether it is good, and what to do if not."""

    check: str
    ok: bool
    message: str
