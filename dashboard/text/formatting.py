"""Formats numbers, days and names for people, in English whatever the locale."""

import math
import re
import unicodedata
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pandas as pd

from forecaster.inference.explain import CORRECTED, NETWORK, POINT_SHIFT
from pipelines.planning.words import (
    MONTHS,
    UNKNOWN,
    chance,
    count,
    day,
    event_name,
    link,
    listed,
    miss,
    occasion_name,
    signed_percent,
)

A_DAY = pd.Timedelta(days=1)
A_YEAR = pd.Timedelta(weeks=52)  # to a day of the same weekday
BASES = {"model": "own history", "cold_start": "similar depots", "closed": "closed"}
NAIVE = "same day last week"
"""The seasonal naive forecast, as pages call it."""
PART_NOTES = {
    NETWORK: "Recent weeks: the effect of the depot's last weeks.",
    POINT_SHIFT: "Small correction: lowers the mean error in percent; vans are planned without it.",
    CORRECTED: "Newer data: orders and events that came after the forecast was made.",
}
"""Plain names of forecast parts that are named after the model's internals, with what they are."""
COMMAND = r"'harbor [^']*'|`[^`]*`"
CLOCK = r"[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?"
# An ISO 8601 day or timestamp, but not inside a command or a file name.
ISO_TIME = re.compile(
    rf"{COMMAND}|(?<![\w/.-])(\d{{4}}-\d\d-\d\d(?:{CLOCK})?)(?![\w/-]|\.\w)"
)
NAIVE_IN_REASON = re.compile(r"(beats?|as|than|% of) the seasonal naive")
IN_PERCENTAGE = re.compile(r"(?<=[<>]) (?=\d)|(?<=\d) (?=%)")
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$:])")


def coming_day(value: date, today: date) -> str:
    """'Today, Fri 27 Nov', 'Tomorrow, Sat 28 Nov', or 'Mon 30 Nov'."""
    days = (pd.Timestamp(value) - pd.Timestamp(today)).days
    return {0: "Today, ", 1: "Tomorrow, "}.get(days, "") + day(value)


def past_day(value: date, today: date) -> str:
    """'Yesterday', or 'Fri 20 Nov'."""
    return "Yesterday" if value == today - A_DAY else day(value, today)


def timestamp(value: datetime, zone: ZoneInfo) -> str:
    """'Fri 21 Nov, 04:31' in a zone."""
    local = value.astimezone(zone)
    return f"{day(local)}, {local:%H:%M}"


def format_dates(sentence: str, zone: ZoneInfo) -> str:
    """Rewrites the ISO 8601 days and timestamps in a text; timestamps in `zone`."""
    return ISO_TIME.sub(lambda match: _format_match(match, zone), sentence)


def _format_match(match: re.Match[str], zone: ZoneInfo) -> str:
    if match[1] is None:
        return match[0]
    try:
        parsed = datetime.fromisoformat(match[1])
    except ValueError:
        return match[0]
    local = parsed.astimezone(zone) if parsed.tzinfo else parsed
    clock = f", {local:%H:%M}" if len(match[1]) > len("2025-11-21") else ""
    return f"{day(local)} {local.year}{clock}"


def with_naive_name(reason: str) -> str:
    """Replaces 'the seasonal naive' in a decision or an alarm by the name that pages use."""
    return NAIVE_IN_REASON.sub(rf"\1 {NAIVE}", reason)


def signed(value: int) -> str:
    """'+1,234', '−12', or '0'."""
    return f"{value:+,}".replace("-", "−") if value else "0"


def orders(value: float) -> str:
    """Whole orders, '12,346'; a dash where not known."""
    return UNKNOWN if math.isnan(value) else f"{round(value):,}"


def planned(number: float, model: float) -> str:
    """'420 (model 341)'; the number alone where the model has the same."""
    both = orders(number), orders(model)
    return both[0] if both[0] == both[1] else f"{both[0]} (model {both[1]})"


def days(values: pd.Series) -> pd.Series:
    """Each day as 'Fri 27 Nov', or 'Fri 27 Nov 2026' if they span years; a dash if missing."""
    with_year = values.dt.year.nunique() > 1
    texts = values.map(
        lambda each: day(each) + (f" {each.year}" if with_year else ""),
        na_action="ignore",
    )
    return texts.astype(object).fillna(UNKNOWN)


def day_range(first: date, last: date, reference: date | None = None) -> str:
    """'Fri 27 Nov', 'Fri 27 – Sun 29 Nov'; the last day has a year where `day` adds one."""
    if first == last:
        return day(last, reference)
    month = f" {MONTHS[first.month - 1]}" if first.month != last.month else ""
    return f"{day(first).rpartition(' ')[0]}{month} – {day(last, reference)}"


def percent(fraction: float) -> str:
    """'8.1 %'; a dash where undefined."""
    return UNKNOWN if math.isnan(fraction) else f"{100 * fraction:.1f} %"


def display_name(name: str) -> str:
    """Display name of an identifier: 'black_friday' becomes 'Black friday'."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def part_name(part: str) -> str:
    """Display name of a part of a forecast: 'holiday: New Year's Day' becomes "New Year's Day"."""
    if part in PART_NOTES:
        return PART_NOTES[part].partition(":")[0]
    names = part.removeprefix("holiday: ").removeprefix("signal: ").split(", holiday: ")
    return ", ".join(
        name if "holiday: " in part else event_name(name) for name in names
    )


def quoted(reason: str) -> str:
    """A planner's text in quotation marks: '“Bridge closed”'."""
    return f"“{reason}”"


def plan_link(city: str = "", day: date | None = None, **more: str) -> str:
    """Address of the page Plan, for a city and a day if given; `more` are other URL parameters."""
    return link("plan", city=city, day=f"{day:%Y-%m-%d}" if day else "", **more)


def why_link(depot: str, day: date) -> str:
    """Address of the section *Why this forecast* of a depot's day."""
    return f"{link('depot', depot=depot, why=f'{day:%Y-%m-%d}')}#why-this-forecast"


def day_notes(days: pd.DataFrame, *, with_closed: bool = True) -> list[list[str]]:
    """The `holidays`, `events` and, if wanted, `is_closed` of each day, as display names."""
    closed_days = days["is_closed"] if with_closed else [False] * len(days)
    rows = zip(days["holidays"], days["events"], closed_days, strict=True)
    return [
        [
            *holidays,
            *(event_name(event) for event in events if event != "closed"),
            *(["Closed"] if closed else []),
        ]
        for holidays, events, closed in rows
    ]


def next_days(horizon: int) -> str:
    """'the next 7 days', 'the next day'."""
    return "the next day" if horizon == 1 else f"the next {horizon} days"


def escape_markdown(text: str) -> str:
    """Escapes Markdown in user-supplied text, and keeps percentages in one line: `unbroken`."""
    return MARKDOWN.sub(r"\\\1", unbroken(text))


def unbroken(text: str) -> str:
    """Keeps '8 %' and '< 1 %' in one line."""
    return IN_PERCENTAGE.sub("\N{NO-BREAK SPACE}", text)


def searchable(text: str) -> str:
    """A text without accents and capitals: 'Jätkäsaari' is found by 'jatka'."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in letters if not unicodedata.combining(each))


def with_plain_spelling(label: str) -> str:
    """Adds words without their accents: 'Jätkäsaari · Helsinki (jatkasaari)'."""
    words = label.partition(" · ")[0].casefold().split()
    plain = " ".join(searchable(word) for word in words if searchable(word) != word)
    return f"{label} ({plain})" if plain else label
