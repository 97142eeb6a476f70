"""Numbers, days and sentences as people read them. English, whatever the machine's."""

import math
import re
from collections.abc import Iterable
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pandas as pd

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
UNKNOWN = "–"
LIVE, HINDCAST = "Live", "Hindcast"
NO_SCORES = {
    LIVE: "No live forecast has been scored yet. Scores appear the night after the "
    "forecast day. Choose Hindcast meanwhile.",
    HINDCAST: "There are no hindcasts. `harbor backfill run --from DAY --to DAY` makes "
    "and scores them.",
}

BASES = {"model": "own history", "cold_start": "similar depots", "closed": "closed"}
COMMAND = r"'harbor [^']*'|`[^`]*`"
CLOCK = r"[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?"
# A day or a moment as programs write it, but neither in a command nor in a file's name.
WRITTEN = re.compile(
    rf"{COMMAND}|(?<![\w/.-])(\d{{4}}-\d\d-\d\d(?:{CLOCK})?)(?![\w/-]|\.\w)"
)
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$:])")


def day(value: date | pd.Timestamp, year_of: date | None = None) -> str:
    """'Fri 21 Nov', with the year where it is not the year of `year_of`."""
    year = f" {value.year}" if year_of and value.year != year_of.year else ""
    return f"{WEEKDAYS[value.weekday()]} {value.day} {MONTHS[value.month - 1]}{year}"


def rounded(value: float) -> str:
    """Orders where there is little room: '371k', '3.74M'; below 1,000 whole."""
    if value < 999.5:
        return orders(value)
    if value < 999_500:
        return f"{value / 1000:.0f}k"
    return f"{value / 1_000_000:.3g}M"


def since(before: date, origin: date) -> str:
    """'overnight' if the previous forecast is one day older, else 'since Mon 17 Nov'.

    Args:
      before: Origin of the previous forecast.
      origin: Origin of the forecast compared with it.
    """
    return "overnight" if (origin - before).days == 1 else f"since {day(before)}"


def iso_day(value: str) -> str:
    """'Fri 21 Nov 2025' from '2025-11-21'."""
    found = date.fromisoformat(value)
    return f"{day(found)} {found.year}"


def moment(value: datetime, zone: ZoneInfo) -> str:
    """'Fri 21 Nov, 04:31' in a zone."""
    local = value.astimezone(zone)
    return f"{day(local)}, {local:%H:%M}"


def dated(sentence: str, zone: ZoneInfo) -> str:
    """A sentence of the program's, its days and moments as people say them.

    Args:
      sentence: May hold days and moments as ISO 8601 writes them.
      zone: In which moments are told.
    """
    return WRITTEN.sub(lambda found: _said(found, zone), sentence)


def _said(found: re.Match[str], zone: ZoneInfo) -> str:
    if found[1] is None:
        return found[0]
    try:
        at = datetime.fromisoformat(found[1])
    except ValueError:
        return found[0]
    if len(found[1]) == len("2025-11-21"):
        return iso_day(found[1])
    local = at.astimezone(zone) if at.tzinfo else at
    return f"{day(local)} {local.year}, {local:%H:%M}"


def short(version: str) -> str:
    """What tells models apart: a version without the day it was trained through."""
    return version.partition("-")[2] or version


def whole(value: int) -> str:
    """'1,234' or '−12'."""
    return f"{value:,}".replace("-", "−")


def difference(value: int) -> str:
    """'+1,234', '−12', or '0'."""
    return f"+{value:,}" if value > 0 else whole(value)


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


def change(before: float, after: float) -> str:
    """How far apart two numbers are, as they are shown: '246' and '257' are '+11'."""
    return signed_orders(round(after) - round(before))


def count(number: int, noun: str) -> str:
    """'1 day', '2 days'."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def kind(name: str) -> str:
    """A kind of event as people say it: 'black_friday' is 'Black friday'."""
    said = name.replace("_", " ").strip()
    return said[:1].upper() + said[1:]


def remarks(days: pd.DataFrame) -> list[list[str]]:
    """What is on on each day, as people say it: holidays, events, whether it is closed.

    Args:
      days: With holidays (names), events (kinds) and is_closed.
    """
    noted = zip(days["holidays"], days["events"], days["is_closed"], strict=True)
    return [
        [*holidays, *map(kind, _but_closures(events)), *(["Closed"] if closed else [])]
        for holidays, events, closed in noted
    ]


def _but_closures(events: Iterable[str]) -> list[str]:
    return [event for event in events if event != "closed"]


def missing(number: int) -> str:
    """How many depots a total lacks; nothing where it is whole."""
    return "" if number == 0 else f"without {count(number, 'depot')}"


def next_days(horizon: int) -> str:
    """'the next 7 days', 'the next day'."""
    return "the next day" if horizon == 1 else f"the next {horizon} days"


def plain(text: str) -> str:
    """Somebody's text, with whatever Markdown would make of it taken away."""
    return MARKDOWN.sub(r"\\\1", text)
