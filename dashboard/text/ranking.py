"""Sort order of the depots on the page "Days ahead", with reasons; no I/O."""

import math
from collections.abc import Hashable
from typing import Any

import pandas as pd

from dashboard.text import formatting

Row = dict[Hashable, Any]

URGENT, REVISED, BAND, WEEK, NAME = (
    "Missing data first", "Changed overnight", "Widest band", "Change vs last week", "Name",
)  # fmt: skip
SORT_ORDERS = {
    URGENT: "depots with missing data, then those whose forecast changed most since the "
    "previous one",
    REVISED: "depots whose forecast changed most since the previous one",
    BAND: "depots with the widest 80 % band on any day",
    WEEK: "depots whose orders change most vs last week",
    NAME: "depots by name",
}
"""Sort orders and their descriptions; the first is the default."""


def rank(week: pd.DataFrame, order: str) -> pd.DataFrame:
    """Sorts the depots, and adds the reason for each one's position.

    Returns:
      The rows of `queries.fleet_week` by city, then by `order`, then by name, days in order; `reason` is a
      short text, '' where there is none.
    """
    widths = week.assign(
        width=week["p90"] - week["p10"],
        origin_on=week["target_on"].min() - formatting.A_DAY,
    )
    # The day with the widest band represents the depot's week.
    widest = widths.sort_values("width", ascending=False, kind="stable")
    depots = widest.drop_duplicates("depot_id")
    keys = _keys(depots, order)
    ranked = depots.assign(**keys).sort_values(["city", *keys, "name", "depot_id"])
    reasons = {
        row["depot_id"]: _reason(row, order) for row in ranked.to_dict("records")
    }
    position = {depot: number for number, depot in enumerate(reasons)}
    return week.assign(
        position=week["depot_id"].map(position), reason=week["depot_id"].map(reasons)
    ).sort_values(["position", "target_on"], ignore_index=True)


def _keys(depots: pd.DataFrame, order: str) -> dict[str, pd.Series]:
    """Sort keys, ascending; unknown values come last."""
    revised = -depots["revised"].abs()
    if order == URGENT:
        return {"first": ~(depots["is_late"] | depots["is_silent"]), "second": revised}
    if order == REVISED:
        return {"first": revised}
    if order == BAND:
        return {"first": -depots["width"]}
    if order == WEEK:
        return {"first": -depots["change"].abs()}
    return {}


def _reason(depot: Row, order: str) -> str:
    """The reason for a depot's position; `depot` is its day with the widest band."""
    if order == BAND:
        band = f"{formatting.orders(depot['p10'])} – {formatting.orders(depot['p90'])}"
        return f"{band} on {formatting.day(depot['target_on'])}"
    if order == WEEK:
        return _changed(depot["change"], "vs last week")
    if order == NAME:
        vans = depot["vans"]
        return "" if math.isnan(vans) else formatting.count(int(vans), "van")
    if math.isnan(depot["revised"]):
        return ""
    since = formatting.since(depot["before_on"], depot["origin_on"])
    return _changed(depot["revised"], since)


def _changed(fraction: float, since: str) -> str:
    if math.isnan(fraction):
        return ""
    percent = formatting.signed_percent(fraction, 0)
    return "no change" if percent == "0 %" else f"{percent} {since}"
