"""What every page says first: how new the numbers are, and what is late."""

from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from dashboard import wording
from dashboard.freshness import Freshness


@dataclass(frozen=True)
class Banner:
    """Where the numbers come from, and in `warning` what is late; None if nothing is."""

    facts: str
    warning: str | None


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
            f"forecast made {wording.moment(fresh.made_at, zone)}",
            f"model {fresh.model}",
            f"trained through {_day(fresh.trained_through, today)}",
        ]
    warning = _late(fresh, today, due_on) or _not_champion(fresh)
    return Banner(" · ".join(facts), warning)


def _late(fresh: Freshness, today: date, due_on: date) -> str | None:
    assert fresh.last_on is not None, "asked only where there is demand"
    if fresh.last_on < due_on:
        ago = (today - fresh.last_on).days
        return (
            f"The newest orders are of {_day(fresh.last_on, today)}, "
            f"{wording.count(ago, 'day')} ago. Load newer ones with "
            "`harbor ingest PATH`, then run `harbor nightly`."
        )
    if fresh.origin_on is not None and fresh.origin_on < due_on:
        ago = (today - fresh.origin_on).days
        return (
            f"The newest forecast starts from {_day(fresh.origin_on, today)}, "
            f"{wording.count(ago, 'day')} ago, although newer orders are in. Run "
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
        f"This forecast is not the champion's (model {fresh.champion}). Make the "
        "champion's with `harbor forecast`."
    )


def _day(value: date | None, today: date) -> str:
    assert value is not None, "asked only where it is known"
    return wording.day(value, year_of=today)
