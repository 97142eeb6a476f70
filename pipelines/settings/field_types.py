"""Types of settings that validate their values, and shared limits."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field


def _hour_and_minute(clock: str) -> str:
    if re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", clock) is None:
        raise ValueError("must be hour and minute, 00:00 to 23:59, such as 04:30")
    return clock


WallClock = Annotated[str, AfterValidator(_hour_and_minute)]
"""A time of day such as 04:30, in the fleet's time zone."""

MAX_MIB = 1 << 20
"""One TiB, in MiB."""

MAX_DAYS = 36_500
"""A hundred years."""
MAX_VANS = 100_000

Share = Annotated[float, Field(ge=0, le=1)]
"""A fraction from 0 to 1."""
