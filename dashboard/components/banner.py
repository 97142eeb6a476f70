"""The banner of every page: data freshness, delays and notices."""

from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from dashboard.queries.freshness import Freshness
from dashboard.text import formatting

MAX_CITIES = 5


@dataclass(frozen=True)
class Banner:
    """The texts of the banner.

    Attributes:
      facts: Newest orders, forecast time, model and its training cutoff.
      warning: A delay or a missing champion; None if all is well.
      notices: Missing data at forecast time, and accuracy alarms.
    """

    facts: str
    warning: str | None
    notices: tuple[str, ...]


def banner(fresh: Freshness, today: date, due_on: date, zone: ZoneInfo) -> Banner:
    """Writes the banner from the freshness of the data and the forecast.

    Args:
      fresh: With known demand.
      today: Today in the fleet's zone.
      due_on: Newest day whose orders are due.
      zone: The fleet's time zone.
    """
    facts = [f"Orders up to **{_day(fresh.last_on, today)}**"]
    if fresh.made_at is not None and fresh.trained_through is not None:
        facts += [
            f"forecast made {formatting.timestamp(fresh.made_at, zone)}",
            f"model {formatting.short_version(fresh.model or formatting.UNKNOWN)}",
            f"trained through {_day(fresh.trained_through, today)}",
        ]
    warning = _late(fresh, today, due_on) or _not_champion(fresh)
    return Banner(" · ".join(facts), warning, _notices(fresh, today, zone))


def _notices(fresh: Freshness, today: date, zone: ZoneInfo) -> tuple[str, ...]:
    """Data missing at forecast time, and accuracy alarms."""
    alarms = tuple(formatting.format_dates(alarm, zone) for alarm in fresh.alarms)
    if not fresh.late_cities:
        return alarms
    cities = [
        f"{formatting.escape_markdown(city)} ({n})" for city, n in fresh.late_cities
    ]
    more = len(cities) - MAX_CITIES
    rest = f" and {more} more cities" if more > 0 else ""
    late = (
        f"Forecast with missing data: no orders for {_day(fresh.origin, today)} yet from "
        f"some depots in {', '.join(cities[:MAX_CITIES])}{rest}. Their bands are wider."
    )
    return (late, *alarms)


def _late(fresh: Freshness, today: date, due_on: date) -> str | None:
    assert fresh.last_on is not None, "requires known demand"
    if fresh.last_on < due_on:
        ago = (today - fresh.last_on).days
        return (
            f"The newest orders are from {_day(fresh.last_on, today)}, "
            f"{formatting.count(ago, 'day')} ago. Load newer ones with "
            "`harbor ingest PATH`, then run `harbor nightly`."
        )
    if fresh.origin_on is not None and fresh.origin_on < due_on:
        ago = (today - fresh.origin_on).days
        return (
            f"The newest forecast starts from {_day(fresh.origin_on, today)}, "
            f"{formatting.count(ago, 'day')} ago, although newer orders are loaded. Run "
            "`harbor nightly`."
        )
    return None


def _not_champion(fresh: Freshness) -> str | None:
    if fresh.model is None or fresh.model == fresh.champion:
        return None
    if fresh.champion is None:
        return (
            "No model is champion, so this forecast will not be renewed. Choose one "
            "with `harbor models list` and `harbor models promote VERSION`, then run "
            "`harbor forecast`."
        )
    return (
        f"This forecast is not from the champion (model {fresh.champion}). Update it "
        "with `harbor forecast`."
    )


def _day(value: date | None, today: date) -> str:
    assert value is not None, "requires a known day"
    return formatting.day(value, year_of=today)
