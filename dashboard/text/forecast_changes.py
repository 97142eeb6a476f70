"""Changes in a depot's forecast since the previous one, and their likely causes."""

import pandas as pd

from dashboard.queries.freshness import Freshness
from dashboard.queries.types import Before
from dashboard.text import formatting


def sentences(days: pd.DataFrame, before: Before | None, fresh: Freshness) -> list[str]:
    """Describes the change and its likely causes, one sentence each.

    Args:
      days: As `queries.depot_days` returns it.
      before: None where there is no previous forecast.
      fresh: With a forecast.

    Returns:
      Empty where the two forecasts have no day in common.
    """
    both = days.dropna(subset=["p50", "p50_before"])
    if before is None or both.empty:
        return []
    since = formatting.since(before.origin_on, fresh.origin)
    change = _direction(both["p50_before"].sum(), both["p50"].sum())
    common = formatting.count(len(both), "day")
    return [
        f"{change} {since}, over the {common} that both forecasts cover.",
        *_new_actuals(days),
        *_causes(before, fresh, since),
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


def _causes(before: Before, fresh: Freshness, since: str) -> list[str]:
    causes = []
    if before.model != fresh.model:
        new, old = formatting.short(str(fresh.model)), formatting.short(before.model)
        causes.append(f"New model {since}: {new} instead of {old}.")
    if before.corrected:
        counts = formatting.count(before.corrected, "earlier daily count")
        causes.append(f"{counts} corrected.")
    if before.events:
        named = ", ".join(formatting.kind(kind) for kind in before.events)
        causes.append(f"New or changed events: {named}.")
    return causes
