"""What `harbor doctor` finds: one thing looked at, and what to do about it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    what: str
    good: bool
    says: str
