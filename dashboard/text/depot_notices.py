"""Notices about one depot: missing data, and the change since the previous forecast."""

import pandas as pd

from dashboard.queries.depot import DepotStatus
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


def forecast_change(days: pd.DataFrame) -> str:
    """How the model's forecast of a depot changed, from `queries.depot_days`.

    'The model's forecast rose by 11 to 440 overnight, over the 6 days that both forecasts
    cover.'; '' where it did not, or the two forecasts have no day in common.
    """
    both = days.dropna(subset=["model_point", "point_before"])
    before, after = both["point_before"].sum(), both["model_point"].sum()
    difference = round(after) - round(before)
    if not difference:
        return ""
    verb = "rose" if difference > 0 else "fell"
    origin = days.loc[days["model_point"].notna(), "day_on"].min() - formatting.A_DAY
    return (
        f"The model's forecast {verb} by {abs(difference):,} to {formatting.orders(after)} "
        f"{formatting.since(both['before_on'].iloc[0], origin)}, over the "
        f"{formatting.count(len(both), 'day')} that both forecasts cover."
    )
