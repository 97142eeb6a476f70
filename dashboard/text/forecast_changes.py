"""Changes in a depot's forecast since the previous one, and their likely causes."""

import pandas as pd

from dashboard.queries.freshness import Freshness
from dashboard.queries.types import PreviousForecast
from dashboard.text import formatting


def sentences(
    days: pd.DataFrame, previous: PreviousForecast | None, fresh: Freshness
) -> list[str]:
    """Describes the change and its likely causes, one sentence each.

    Args:
      days: As `queries.depot_days` returns it.
      previous: None where there is no previous forecast.
      fresh: With a forecast.

    Returns:
      Empty where the two forecasts have no day in common.
    """
    both = days.dropna(subset=["p50", "p50_before"])
    if previous is None or both.empty:
        return []
    since = formatting.since(previous.origin_on, fresh.origin)
    change = _direction(both["p50_before"].sum(), both["p50"].sum())
    common = formatting.count(len(both), "day")
    return [
        f"{change} {since}, over the {common} that both forecasts cover.",
        *_new_actuals(days),
        *_causes(previous, fresh, since),
    ]


def _direction(before: float, after: float) -> str:
    """'Up 11 from 429', 'Down 11 from 429' or 'Unchanged at 429'."""
    difference = round(after) - round(before)
    if difference == 0:
        return f"Unchanged at {formatting.orders(before)}"
    direction = "Up" if difference > 0 else "Down"
    return (
        f"{direction} {formatting.orders(abs(difference))} from "
        f"{formatting.orders(before)}"
    )


def _new_actuals(days: pd.DataFrame) -> list[str]:
    """Actuals of days that the previous forecast covered."""
    known = days.dropna(subset=["actual", "p50_before"])
    return [
        f"{formatting.day(row['day_on'])}: {formatting.orders(row['actual'])} orders, "
        f"{formatting.orders(row['p50_before'])} forecast "
        f"({formatting.change(row['p50_before'], row['actual'])})."
        for row in known.to_dict("records")
    ]


def _causes(previous: PreviousForecast, fresh: Freshness, since: str) -> list[str]:
    causes = []
    if previous.model != fresh.model:
        new, old = (
            formatting.short_version(str(fresh.model)),
            formatting.short_version(previous.model),
        )
        causes.append(f"New model {since}: {new} instead of {old}.")
    if previous.corrected:
        counts = formatting.count(previous.corrected, "earlier daily count")
        causes.append(f"{counts} corrected.")
    if previous.events:
        named = ", ".join(formatting.event_name(kind) for kind in previous.events)
        causes.append(f"New or changed events: {named}.")
    return causes
