"""Days, numbers and names as people read them in English, whatever the locale."""

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any, cast
from urllib.parse import urlencode

import pandas as pd

from pipelines.planning.city_settings import ACCEPT, ASK, HIRE

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
UNKNOWN = "–"
DECIDED = {ACCEPT: "risk accepted", ASK: "help asked for"}


def day(value: date | pd.Timestamp, reference: date | None = None) -> str:
    """'Fri 21 Nov', with the year if it is not the year of `reference`."""
    year = f" {value.year}" if reference and value.year != reference.year else ""
    return f"{WEEKDAYS[value.weekday()]} {value.day} {MONTHS[value.month - 1]}{year}"


def clock(hour: float) -> str:
    """11.5 as '11:30'."""
    # Ten minutes as a binary fraction of an hour are a little too short.
    hours, minutes = divmod(int(round(60 * hour, 6)), 60)
    return f"{hours:02d}:{minutes:02d}"


def chance(probability: float) -> str:
    """'87 %', '< 1 %' or '> 99 %'; rounded down, so '90 %' is at least 90 %; a dash if NaN."""
    if math.isnan(probability):
        return UNKNOWN
    if probability < 0.01:
        return "< 1 %"
    return (
        "> 99 %" if probability > 0.99 else f"{math.floor(100 * probability + 1e-9)} %"
    )


def signed_percent(fraction: float, digits: int = 1) -> str:
    """'+12 %' or '−3 %'; a dash where undefined."""
    if math.isnan(fraction):
        return UNKNOWN
    text = f"{abs(100 * fraction):.{digits}f} %"
    if float(text.removesuffix(" %")) == 0:
        return text
    return ("+" if fraction > 0 else "−") + text


def miss(forecast: float, actual: float) -> str:
    """'3 % too low' or '0 % off', from rounded orders; a dash if the actual is below 1 or NaN."""
    if not actual >= 1:
        return UNKNOWN
    share = signed_percent(round(forecast) / round(actual) - 1, 0)
    direction = (
        "too high" if share[0] == "+" else "too low" if share[0] == "−" else "off"
    )
    return f"{share.lstrip('+−')} {direction}"


def count(number: int, noun: str, plural: str = "") -> str:
    """'1 day', '2 days'; `plural` for nouns that take no plain s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 3, noun: str = "") -> str:
    """'Delft, Poplar and Loop', 'Delft, Poplar, Loop and 2 more'; `noun` follows the number.

    If only one name would be left over, it is named too.
    """
    most += len(names) == most + 1
    more = len(names) - most
    rest = [f"{more:,} more {noun}".rstrip()] if more > 0 else []
    shown = [*names[:most], *rest]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def event_name(kind: str) -> str:
    """Name of a kind of event: 'black_friday' becomes 'Black Friday'."""
    return " ".join(word[:1].upper() + word[1:] for word in kind.split("_"))


def occasion_name(name: str, is_holiday: bool) -> str:
    """Display name of a holiday, or of a kind of event."""
    return name if is_holiday else event_name(name)


def names_of_day(events: pd.DataFrame, cities: Collection[str], n_cities: int) -> str:
    """The holidays and events of a day in some cities: 'Black Friday + Promotion (Delft)'.

    A name is followed by all cities that have it, unless all `n_cities` do.
    """
    described = []
    for key, own in events.groupby(["what", "is_holiday"]):
        if own["city"].isin(list(cities)).any():
            name = occasion_name(*cast(tuple[str, bool], key))
            where = f" ({listed(sorted(own['city']))})" if len(own) < n_cities else ""
            described.append(name + where)
    return " + ".join(described)


def hour(value: int) -> str:
    """'09–10', the hour that begins at 9."""
    return f"{value:02d}–{value + 1:02d}"


def decision_words(decision: Mapping[Any, Any]) -> str:
    """'23 vans hired, risk accepted, 2 vans off the road': a decision, without who and when."""
    extra, off = int(decision["extra"]), int(decision["off_road"])
    words = [
        f"{count(extra, 'van')} hired" if extra or decision["kind"] == HIRE else "",
        DECIDED.get(decision["kind"], ""),
        f"{count(off, 'van')} off the road" if off else "",
    ]
    return ", ".join(filter(None, words)) or "nothing decided"


def link(page: str, **query: str) -> str:
    """Address of a page: 'depot?depot=LON-01'; parameters without a value are left out."""
    return f"{page}?{urlencode({name: query[name] for name in query if query[name]})}"
