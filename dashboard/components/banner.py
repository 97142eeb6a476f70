"""What every page says first: how new the numbers are, and what is late."""

from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from dashboard.queries.freshness import Freshness
from dashboard.text import formatting

MOST_CITIES = 5


@dataclass(frozen=True)
class Banner:
    """What every page says first.

    Attributes:
      facts: Where the numbers come from.
      warning: What is late or not as it should be; None if nothing is.
      notices: What the reader should bear in mind.
    """

    facts: str
    warning: str | None
    notices: tuple[str, ...]


def banner(fresh: Freshness, today: date, due_on: date, zone: ZoneInfo) -> Banner:
    """The sentences about the data and the forecast.

    Args:
      fresh: With known demand.
      today: In the fleet's zone.
      due_on: The newest day that should be there by now.
      zone: The fleet's own.
    """
    facts = [f"Orders up to **{_day(fresh.last_on, today)}**"]
    if fresh.made_at is not None and fresh.trained_through is not None:
        facts += [
            f"forecast made {formatting.moment(fresh.made_at, zone)}",
            f"model {formatting.short(fresh.model or formatting.UNKNOWN)}",
            f"trained through {_day(fresh.trained_through, today)}",
        ]
    warning = _late(fresh, today, due_on) or _not_champion(fresh)
    return Banner(" · ".join(facts), warning, _notices(fresh, today, zone))


def _notices(fresh: Freshness, today: date, zone: ZoneInfo) -> tuple[str, ...]:
    """A feed that was late when the forecast was made, and alarms of its accuracy."""
    alarms = tuple(formatting.dated(alarm, zone) for alarm in fresh.alarms)
    if not fresh.late_cities:
        return alarms
    cities = [f"{formatting.plain(city)} ({n})" for city, n in fresh.late_cities]
    more = len(cities) - MOST_CITIES
    rest = f" and {more} more cities" if more > 0 else ""
    late = (
        f"Forecast with missing data: no orders for {_day(fresh.origin, today)} yet from "
        f"some depots in {', '.join(cities[:MOST_CITIES])}{rest}. Their bands are wider."
    )
    return (late, *alarms)


def _late(fresh: Freshness, today: date, due_on: date) -> str | None:
    assert fresh.last_on is not None, "asked only where there is demand"
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
    assert value is not None, "asked only where it is known"
    return formatting.day(value, year_of=today)
