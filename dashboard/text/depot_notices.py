"""Notices about one depot: missing data, and changes since the previous forecast."""

import pandas as pd

from dashboard.queries.depot import DepotStatus, PreviousForecast
from dashboard.queries.freshness import Freshness
from dashboard.text import formatting


def feed_warning(status: DepotStatus) -> str | None:
    """The warning for a depot with missing data; None if none is missing."""
    if not status.is_late or status.due_on is None:
        return None
    due = formatting.day(status.due_on)
    if status.last_on is None:
        return (
            f"This depot has no data, although it was open on {due}. Its forecast is "
            "based on similar depots. Load its orders with "
            "`harbor ingest PATH`, then run `harbor nightly`."
        )
    return (
        f"Missing data: this depot's newest orders are from "
        f"{formatting.day(status.last_on)}, but those of {due} are due. The forecast was "
        "made without them. Load them with `harbor ingest PATH`, then run "
        "`harbor nightly`."
    )


def forecast_changes(
    days: pd.DataFrame, previous: PreviousForecast | None, freshness: Freshness
) -> list[str]:
    """Describes the change of the model's forecast and its likely causes, one sentence each.

    Empty where the two forecasts have no day in common.
    """
    both = days.dropna(subset=["model_point", "point_before"])
    if previous is None or both.empty:
        return []
    since = formatting.since(previous.origin_on, freshness.origin)
    change = _change(both["point_before"].sum(), both["model_point"].sum())
    common = formatting.count(len(both), "day")
    new_actuals = days.dropna(subset=["actual", "point_before"]).to_dict("records")
    return [
        f"The model's forecast {change} {since}, over the {common} that both forecasts cover.",
        *(
            f"{formatting.day(row['day_on'])}: {formatting.orders(row['actual'])} orders, "
            f"{formatting.orders(row['point_before'])} forecast "
            f"({_error(row['point_before'], row['actual'])})."
            for row in new_actuals
        ),
        *_causes(previous, freshness, since),
    ]


def _change(before: float, after: float) -> str:
    """'rose by 11 to 440', 'fell by 11 to 418' or 'stayed at 429'."""
    difference = round(after) - round(before)
    if difference == 0:
        return f"stayed at {formatting.orders(after)}"
    verb = "rose" if difference > 0 else "fell"
    return f"{verb} by {abs(difference):,} to {formatting.orders(after)}"


def _error(forecast: float, actual: float) -> str:
    """'34 too low', '11 too high' or 'exact'."""
    difference = round(forecast) - round(actual)
    if difference == 0:
        return "exact"
    return f"{abs(difference):,} too {'high' if difference > 0 else 'low'}"


def _causes(previous: PreviousForecast, freshness: Freshness, since: str) -> list[str]:
    causes = []
    if previous.model != freshness.model:
        new = formatting.short_version(str(freshness.model))
        old = formatting.short_version(previous.model)
        causes.append(f"New model {since}: {new} instead of {old}.")
    if previous.corrected:
        counts = formatting.count(previous.corrected, "earlier daily count")
        causes.append(f"{counts} corrected.")
    if previous.events:
        events = ", ".join(formatting.event_name(kind) for kind in previous.events)
        causes.append(f"New or changed events: {events}.")
    return causes
