"""Which depots come first on the page of the days ahead, and why. No I/O."""

import math
from collections.abc import Hashable
from typing import Any

import pandas as pd

from dashboard.text import formatting

Row = dict[Hashable, Any]
A_DAY = pd.Timedelta(days=1)

URGENT, REVISED, BAND, WEEK, NAME = (
    "Urgent", "Changed overnight", "Widest band", "Change vs last week", "Name",
)  # fmt: skip
MEANS = {
    URGENT: "depots with missing data, then those whose forecast changed most since the "
    "previous one",
    REVISED: "depots whose forecast changed most since the previous one",
    BAND: "depots with the widest 80 % band on any day",
    WEEK: "depots whose orders change most vs last week",
    NAME: "depots by name",
}
"""The orders a reader may choose from; the first is where nothing was chosen."""


def ranked(week: pd.DataFrame, order: str) -> pd.DataFrame:
    """Depots in an order, with the reason of each one's place.

    Args:
      week: As `queries.fleet_week` returns it.
      order: One of `MEANS`.

    Returns:
      The same rows: by city, in each as asked and then by name, days in order; `reason`
      says in words what put the depot there, '' where there is nothing to say.
    """
    with_width = week.assign(
        width=week["p90"] - week["p10"], origin_on=week["target_on"].min() - A_DAY
    )
    # The day of each depot on which least is certain stands for its week.
    widest = with_width.sort_values("width", ascending=False, kind="stable")
    depots = widest.drop_duplicates("depot_id")
    keys = _keys(depots, order)
    placed = depots.assign(**keys).sort_values(["city", *keys, "name", "depot_id"])
    said = {row["depot_id"]: _reason(row, order) for row in placed.to_dict("records")}
    place = {depot: number for number, depot in enumerate(said)}
    return week.assign(
        place=week["depot_id"].map(place), reason=week["depot_id"].map(said)
    ).sort_values(["place", "target_on"], ignore_index=True)


def _keys(depots: pd.DataFrame, order: str) -> dict[str, pd.Series]:
    """What to sort by, the smallest first; what is not known comes last."""
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
    """Why a depot stands where it does.

    Args:
      depot: Its row of the day whose band is widest.
      order: One of `MEANS`.
    """
    if order == BAND:
        band = f"{formatting.orders(depot['p10'])} – {formatting.orders(depot['p90'])}"
        return f"{band} on {formatting.day(depot['target_on'])}"
    if order == WEEK:
        known = not math.isnan(depot["change"])
        return _changed(depot["change"], "vs last week") if known else ""
    if order == NAME:
        vans = depot["vans"]
        return "" if math.isnan(vans) else formatting.count(int(vans), "van")
    if math.isnan(depot["revised"]):
        return ""
    return _changed(
        depot["revised"], formatting.since(depot["before_on"], depot["origin_on"])
    )


def _changed(fraction: float, since: str) -> str:
    written = formatting.signed_percent(fraction, 0)
    return "no change" if written == "0 %" else f"{written} {since}"
