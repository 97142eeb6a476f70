"""What changed in a depot's forecast since the one before, and what came in between."""

import pandas as pd

from dashboard.queries.freshness import Freshness
from dashboard.queries.types import Before
from dashboard.text import formatting


def sentences(days: pd.DataFrame, before: Before | None, fresh: Freshness) -> list[str]:
    """The change and its causes, each in a sentence.

    Args:
      days: As `queries.depot_days` returns it.
      before: None where nothing was forecast before.
      fresh: With a forecast.

    Returns:
      Empty where the two forecasts have no day in common.
    """
    both = days.dropna(subset=["p50", "p50_before"])
    if before is None or both.empty:
        return []
    now, then = both["p50"].sum(), both["p50_before"].sum()
    change = (
        f"The forecast of {formatting.day(before.origin_on)} said {formatting.orders(then)} "
        f"orders for the {formatting.count(len(both), 'day')} that both cover; this one says "
        f"{formatting.orders(now)} ({formatting.change(then, now)})."
    )
    return [change, *_arrived(days), *_causes(before, fresh)]


def _arrived(days: pd.DataFrame) -> list[str]:
    """What the days brought that were ahead then."""
    known = days.dropna(subset=["actual", "p50_before"])
    return [
        f"{formatting.day(row['day_on'])} brought {formatting.orders(row['actual'])} orders; "
        f"{formatting.orders(row['p50_before'])} were forecast "
        f"({formatting.change(row['p50_before'], row['actual'])})."
        for row in known.to_dict("records")
    ]


def _causes(before: Before, fresh: Freshness) -> list[str]:
    told = []
    if before.model != fresh.model:
        now, then = formatting.short(str(fresh.model)), formatting.short(before.model)
        told.append(f"Another model made it: {now} instead of {then}.")
    if before.corrected:
        were = "was" if before.corrected == 1 else "were"
        told.append(
            f"{formatting.count(before.corrected, 'earlier count')} {were} corrected."
        )
    if before.events:
        named = ", ".join(formatting.kind(kind) for kind in before.events)
        told.append(f"New or changed on the days ahead: {named}.")
    return told
