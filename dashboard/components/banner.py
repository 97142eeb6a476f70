"""The banner of every page: data freshness, delays and notices."""

from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from dashboard.queries.freshness import Freshness
from dashboard.text import formatting

MAX_CITIES = 5
IS_WARNING = "the banner warns"


@dataclass(frozen=True)
class Banner:
    """The texts of the banner.

    Attributes:
      facts: Day of the newest orders, time and zone of the forecast, and whether it is a demo.
      warning: A delay, or a forecast that is not the champion's; None if all is well.
      notices: Missing data at forecast time, and accuracy alarms.
    """

    facts: str
    warning: str | None
    notices: tuple[str, ...]


def banner(
    freshness: Freshness, today: date, due_on: date, zone: ZoneInfo, at_work: str = ""
) -> Banner:
    """Writes the banner; requires known demand. Orders up to `due_on` should have arrived.

    `at_work` is a sentence on the run in progress, '' for no run; it replaces advice on a delay.
    """
    assert freshness.last_on is not None, "requires known demand"
    facts = f"Orders up to **{formatting.day(freshness.last_on, today)}**"
    if freshness.made_at is not None:
        made_at = formatting.timestamp(freshness.made_at, zone)
        # Underscores would be Markdown.
        facts += f" · forecast made {made_at} (times in {zone.key.replace('_', ' ')})"
    facts += " · demo: an invented fleet" if freshness.is_demo else ""
    notices = [formatting.format_dates(alarm, zone) for alarm in freshness.alarms]
    if freshness.late_cities:
        notices.insert(0, _late_cities(freshness, today))
    warning = _delay(freshness, freshness.last_on, today, due_on, at_work)
    return Banner(facts, warning or _not_champion(freshness), tuple(notices))


def _late_cities(freshness: Freshness, today: date) -> str:
    cities = [
        f"{formatting.escape_markdown(city)} ({n})" for city, n in freshness.late_cities
    ]
    return (
        f"Forecast with missing data: orders due by {formatting.day(freshness.origin, today)} had "
        f"not come yet from some depots in {formatting.listed(cities, MAX_CITIES, 'cities')}. Their bands are "
        "wider."
    )


def _delay(
    freshness: Freshness, last_on: date, today: date, due_on: date, at_work: str
) -> str | None:
    if last_on < due_on:
        advice = "Load newer ones with `harbor ingest PATH`, then run `harbor nightly`."
        age = _day_and_age(last_on, today)
        return f"The newest orders are from {age}. {at_work or advice}"
    if freshness.origin_on is not None and freshness.origin_on < due_on:
        age = _day_and_age(freshness.origin_on, today)
        return (
            f"The newest forecast starts from {age}, although newer orders are loaded. "
            f"{at_work or 'Run `harbor nightly`.'}"
        )
    return None


def _day_and_age(day: date, today: date) -> str:
    days = formatting.count((today - day).days, "day")
    return f"{formatting.day(day, today)}, {days} ago"


def _not_champion(freshness: Freshness) -> str | None:
    if freshness.model is None or freshness.model == freshness.champion:
        return None
    if freshness.champion is None:
        return (
            "No model is in use, so this forecast will not be renewed. Choose one with `harbor "
            "models list` and `harbor models promote VERSION`, then run `harbor forecast`."
        )
    return (
        f"This forecast is not from the model in use ({freshness.champion}). Update it with "
        "`harbor forecast`; if that changes nothing, `harbor doctor` says why."
    )
