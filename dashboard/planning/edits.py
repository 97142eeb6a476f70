"""Converts a planner's edit of some depots and days to changes, and previews them. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dashboard.planning import adjustments, planning
from dashboard.planning.adjustments import Adjustment
from dashboard.planning.overrides import LOCK, SET, UNLOCK, WITHDRAW, Cell, Change
from dashboard.planning.planning import Settings

MAX_RATIO, MIN_DIFFERENCE = 3.0, 20.0
"""Ratio to the model's number, and difference in orders: beyond both, a number is confirmed."""


@dataclass(frozen=True)
class Entry:
    """The values entered in the form of changes; `chosen` are rows of `queries.fleet_week`."""

    action: str
    chosen: pd.DataFrame
    number: str
    lock: bool
    unlock: bool
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
            is_locked=bool(row["is_locked"]),
            is_closed=row["basis"] == "closed",
        )
        for row in week.to_dict("records")
    ]


def changes_of_entry(entry: Entry, chosen: Sequence[Cell]) -> list[Change]:
    """The changes that an entry makes of its cells; none while its number is not understood."""
    adjustment = adjustments.parse(entry.number)
    if entry.action == SET and adjustment is None:
        return []
    return changes(chosen, entry.action, adjustment, entry.lock, entry.unlock)


def changes(
    chosen: Sequence[Cell],
    action: str,
    adjustment: Adjustment | None,
    lock: bool,
    unlock: bool = False,
) -> list[Change]:
    """The changes that an action makes; a cell that would stay as it is has none.

    'set' and 'lock' of several cells leave out those of closed days. A cell that is chosen
    alone is set or locked on a closed day, too.

    Args:
      chosen: The cells of the depots and days that were chosen.
      action: 'set', 'lock', 'unlock' or 'withdraw'.
      adjustment: The new number of 'set'; None for the other actions.
      lock: Whether 'set' also locks.
      unlock: Whether 'withdraw' unlocks locked days first.
    """
    proposed = [_propose(cell, action, adjustment, lock) for cell in chosen]
    if action == WITHDRAW and unlock:
        unlocked = [Change(cell, UNLOCK) for cell in chosen if cell.is_locked]
        proposed = [*unlocked, *proposed]
    leaves_out_closed = action in (SET, LOCK) and len(chosen) > 1
    return [
        change
        for change in proposed
        if _has_effect(change) and not (leaves_out_closed and change.cell.is_closed)
    ]


def _propose(
    cell: Cell, action: str, adjustment: Adjustment | None, lock: bool
) -> Change:
    if action != SET:
        return Change(cell, action)
    assert adjustment is not None, "a number was parsed"
    return Change(cell, LOCK if lock else SET, adjustment.apply(cell.orders))


def _has_effect(change: Change) -> bool:
    """Whether a change alters the number, who it is from, or the lock.

    A planner's number that equals the model's of today has an effect: it stays when the
    model's changes.
    """
    cell = change.cell
    if change.action == WITHDRAW:
        return cell.is_set
    if change.action == UNLOCK:
        return cell.is_locked
    is_same_number = change.orders is None or (
        cell.is_set and change.orders == cell.orders
    )
    return not is_same_number or (change.action == LOCK and not cell.is_locked)


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
        (change.cell.depot, pd.Timestamp(change.cell.day_on)): _orders_after(change)
        for change in changes
    }


def _orders_after(change: Change) -> float:
    if change.orders is not None:
        return change.orders
    cell = change.cell
    # A lock on a day that nobody had set held the model's number of then.
    is_models_again = change.action == UNLOCK and not cell.is_set
    if change.action == WITHDRAW or is_models_again:
        return cell.model_orders
    return cell.orders


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
