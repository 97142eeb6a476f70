"""Current time and recent days in the fleet's time zone."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pandas as pd

from pipelines.settings import Settings


def zone() -> ZoneInfo:
    """The fleet's own time zone."""
    return Settings.load().zone


def now() -> datetime:
    """Current time in the fleet's zone."""
    return datetime.now(zone())


def days_until(last: date, number: int) -> list[pd.Timestamp]:
    """The `number` days up to `last`, oldest first."""
    return list(pd.date_range(end=pd.Timestamp(last), periods=number))
