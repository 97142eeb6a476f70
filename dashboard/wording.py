"""Numbers, days and sentences as people read them. English, whatever the machine's."""

import math
import re
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
UNKNOWN = "–"
LIVE, HINDCAST = "Live", "Hindcast"
NO_SCORES = {
    LIVE: "No live forecast has been scored yet. A score appears in the night after the "
    "day that was forecast. Hindcasts are there to look at meanwhile.",
    HINDCAST: "There are no hindcasts. `harbor backfill run --from DAY --to DAY` makes "
    "and scores them.",
}

BASES = {"model": "own history", "similar": "depots like it", "closed": "closed"}
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$:])")


def day(value: date | pd.Timestamp, year_of: date | None = None) -> str:
    """'Fri 21 Nov', with the year where it is not the year of `year_of`."""
    year = f" {value.year}" if year_of and value.year != year_of.year else ""
    return f"{WEEKDAYS[value.weekday()]} {value.day} {MONTHS[value.month - 1]}{year}"


def moment(value: datetime, zone: ZoneInfo) -> str:
    """'Fri 21 Nov, 04:31' in a zone."""
    local = value.astimezone(zone)
    return f"{day(local)}, {local:%H:%M}"


def orders(value: float) -> str:
    """Whole orders, '12,346'; a dash where not known."""
    return UNKNOWN if math.isnan(value) else f"{round(value):,}"


def percent(fraction: float) -> str:
    """'8.1 %'; a dash where undefined."""
    return UNKNOWN if math.isnan(fraction) else f"{100 * fraction:.1f} %"


def signed_percent(fraction: float, digits: int = 1) -> str:
    """'+12 %' or '−3 %'; a dash where undefined."""
    if math.isnan(fraction):
        return UNKNOWN
    shown = f"{abs(100 * fraction):.{digits}f} %"
    if float(shown.removesuffix(" %")) == 0:
        return shown
    return ("+" if fraction > 0 else "−") + shown


def signed_orders(value: float) -> str:
    """'+12' or '−3', whole orders."""
    rounded = round(value)
    if rounded == 0:
        return "no change"
    return ("+" if rounded > 0 else "−") + f"{abs(rounded):,}"


def count(number: int, noun: str) -> str:
    """'1 day', '2 days'."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def kind(name: str) -> str:
    """A kind of event as people say it: 'black_friday' is 'Black friday'."""
    said = name.replace("_", " ").strip()
    return said[:1].upper() + said[1:]


def plain(text: str) -> str:
    """Somebody's text, with whatever Markdown would make of it taken away."""
    return MARKDOWN.sub(r"\\\1", text)


def safe_cell(value: Any) -> Any:
    """A cell of a CSV; text that a spreadsheet would take for a formula is quoted."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return "'" + value
    return value


def csv(table: pd.DataFrame) -> bytes:
    """A table as a CSV that opens anywhere; numbers stay numbers."""
    safe = table.apply(lambda column: column.map(safe_cell))
    safe.columns = [safe_cell(name) for name in table.columns]
    return safe.to_csv(index=False, lineterminator="\n").encode("utf-8-sig")


def is_text(column: pd.Series) -> bool:
    """Whether a column of a table for people holds words or days, not numbers."""
    return not pd.api.types.is_numeric_dtype(column)


def column(values: pd.Series, name: str) -> list[str]:
    """A column of a table for people, written out; a dash where nothing is known."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return [UNKNOWN if pd.isna(value) else day(value) for value in values]
    if is_text(values):
        return [UNKNOWN if pd.isna(value) else str(value) for value in values]
    if pd.api.types.is_integer_dtype(values):
        return [UNKNOWN if pd.isna(value) else f"{value:,}" for value in values]
    written = signed_percent if name == "Bias" else percent
    return [written(value / 100) for value in values.astype(float)]
