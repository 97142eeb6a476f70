"""Converts a planner's edit of some depots and days to changes, and previews them. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dashboard.planning import adjustments, planning
from dashboard.planning.adjustments import Adjustment
from dashboard.planning.overrides import Cell, Change
from dashboard.planning.planning import Settings

SET, WITHDRAW = "set", "withdraw"
"""Actions of the form: a new number, and back to the model."""
MAX_RATIO, MIN_DIFFERENCE = 3.0, 20.0
"""Ratio to the model's number, and difference in orders: beyond both, a number is confirmed."""


@dataclass(frozen=True)
class Entry:
    """The values entered in the form of changes; `chosen` are rows of `queries.fleet_week`."""

    action: str
    chosen: pd.DataFrame
    number: str
    reason: str
    planner: str


def cells(week: pd.DataFrame) -> list[Cell]:
    """The rows of `queries.fleet_week` as cells."""
    return [
        Cell(
            depot=str(row["depot_id"]),
            day_on=row["target_on"].date(),
            orders=float(row["point"]),
            model_orders=float(row["model_point"]),
            override_id=None
            if pd.isna(row["override_id"])
            else int(row["override_id"]),
            is_set=bool(row["is_set"]),
            is_closed=row["basis"] == "closed",
        )
        for row in week.to_dict("records")
    ]


def changes_of_entry(entry: Entry, chosen: Sequence[Cell]) -> list[Change]:
    """The changes that an entry makes of its cells; none while its number is not understood."""
    adjustment = adjustments.parse(entry.number)
    if entry.action == SET and adjustment is None:
        return []
    return changes(chosen, adjustment if entry.action == SET else None)


def changes(chosen: Sequence[Cell], adjustment: Adjustment | None) -> list[Change]:
    """The changes to a new number, or back to the model's (None).

    A cell that would stay as it is has none. Of several cells, those of closed days are not
    set; a cell that is chosen alone is, also on a closed day.
    """
    if adjustment is None:
        return [Change(cell, None) for cell in chosen if cell.is_set]
    proposed = [Change(cell, adjustment.apply(cell.orders)) for cell in chosen]
    return [
        change
        for change in proposed
        if _has_effect(change) and not (len(chosen) > 1 and change.cell.is_closed)
    ]


def _has_effect(change: Change) -> bool:
    """Whether a new number alters the number, or who it is from.

    A planner's number that equals the model's of today has an effect: it stays when the
    model's changes.
    """
    return not change.cell.is_set or change.orders != change.cell.orders


def far_from_model(changes: Sequence[Change]) -> list[Change]:
    """The changes to a number that may be a typing error, such as ten times the model's."""
    return [change for change in changes if _is_far(change)]


def _is_far(change: Change) -> bool:
    if change.orders is None:
        return False
    low, high = sorted((change.orders, change.cell.model_orders))
    return high > MAX_RATIO * low and high - low > MIN_DIFFERENCE


def new_orders(changes: Sequence[Change]) -> dict[tuple[str, pd.Timestamp], float]:
    """The planned number after each change, by depot and day."""
    return {
        (change.cell.depot, pd.Timestamp(change.cell.day_on)): change.cell.model_orders
        if change.orders is None
        else change.orders
        for change in changes
    }


def preview(
    week: pd.DataFrame,
    settings: Settings,
    bands: pd.DataFrame,
    numbers: Mapping[tuple[str, pd.Timestamp], float],
    settings_after: Settings | None = None,
) -> pd.DataFrame:
    """Orders and vans of the edited depots, and the city's shortage, before and after.

    Args:
      week: The rows of `queries.fleet_week` of one city.
      settings: Settings of cities.
      bands: As `planning.by_city` takes them.
      numbers: From `new_orders`.
      settings_after: Settings of cities after the edit; None where they stay.

    Returns:
      A row for each edited day: target_on; of the edited depots: orders_before,
      orders_after, vans_before, vans_after (needed); of the city: short_before,
      short_after (vans).
    """
    after = planning.with_changes(week, numbers)
    edited = {depot for depot, _ in numbers}
    days = {day for _, day in numbers}
    parts: dict[str, pd.Series] = {}
    for name, rows, city_settings in (
        ("before", week, settings),
        ("after", after, settings_after or settings),
    ):
        plan = planning.make_plan(rows, city_settings)
        by_city = planning.by_city(plan, city_settings, bands)
        own = plan[plan["depot_id"].isin(edited)].groupby("target_on")
        parts |= {
            f"orders_{name}": own["point"].sum(),
            f"vans_{name}": own["needed"].sum(),
            f"short_{name}": by_city.set_index("target_on")["short"],
        }
    table = pd.DataFrame(parts)
    return table[table.index.isin(days)].rename_axis("target_on").reset_index()
