"""A planner's edit of some depots and days, from what was typed to changes. No I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dashboard.planning import planning
from dashboard.planning.overrides import LOCK, SET, UNLOCK, WITHDRAW, Cell, Change
from dashboard.planning.planning import Settings

NUMBER = re.compile(r"(\d{1,3}(?:[,\s]\d{3})+|\d+)")
# Two decimals at most: in "10,000 %" the comma may mean thousands.
PERCENT = re.compile(r"([+\-−])\s*(\d+(?:[.,]\d{1,2})?)\s*%")
NUMBER_RULE = "Write a number of orders such as 420, or a change such as +10 % or −5 %."


@dataclass(frozen=True)
class Adjustment:
    """A new number of orders, or a factor on the planned one; one of the two is None."""

    orders: float | None = None
    factor: float | None = None

    def apply(self, planned: float) -> float:
        """The new number, in whole orders."""
        if self.factor is None:
            return float(self.orders or 0.0)
        return float(round(planned * self.factor))


def parse(text: str) -> Adjustment | None:
    """Parses an adjustment such as '420', '1,240' or '+10 %'; None if it is neither."""
    typed = text.strip()
    if number := NUMBER.fullmatch(typed):
        return Adjustment(orders=float(re.sub(r"[,\s]", "", number[1])))
    if percent := PERCENT.fullmatch(typed):
        share = float(percent[2].replace(",", ".")) / 100
        factor = 1 + share if percent[1] == "+" else 1 - share
        return Adjustment(factor=factor) if factor >= 0 else None
    return None


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


def changes(
    chosen: Sequence[Cell], action: str, adjustment: Adjustment | None, lock: bool
) -> list[Change]:
    """The changes that an action makes; cells without any are left out.

    Of several cells, closed days are left out: closed wins. One cell alone is changed all
    the same.

    Args:
      chosen: The cells of the depots and days that were chosen.
      action: 'set', 'lock', 'unlock' or 'withdraw'.
      adjustment: Of 'set'.
      lock: Whether 'set' also locks.
    """
    if action == SET:
        assert adjustment is not None, "a number was parsed"
        is_single = len(chosen) == 1
        return [
            Change(cell, LOCK if lock else SET, adjustment.apply(cell.orders))
            for cell in chosen
            if is_single or not cell.is_closed
        ]
    is_of_use = {
        LOCK: lambda cell: not cell.is_locked,
        UNLOCK: lambda cell: cell.is_locked,
        WITHDRAW: lambda cell: cell.is_set,
    }[action]
    return [Change(cell, action) for cell in chosen if is_of_use(cell)]


def new_orders(made: Sequence[Change]) -> dict[tuple[str, pd.Timestamp], float]:
    """The planned number after each change, by depot and day."""
    return {
        (change.cell.depot, pd.Timestamp(change.cell.day_on)): _orders_after(change)
        for change in made
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
    """Orders and vans of the city before and after, a row for each day that is touched.

    `numbers` are of `new_orders`; `settings_after` is None where the settings stay.

    Returns:
      target_on; of the depots that are touched: orders_before, orders_after, vans_before,
      vans_after (needed); of the city: short_before, short_after (vans).
    """
    after = planning.with_changes(week, numbers)
    touched = {depot for depot, _ in numbers}
    days = {day for _, day in numbers}
    parts: dict[str, pd.Series] = {}
    for name, rows, valid in (
        ("before", week, settings),
        ("after", after, settings_after or settings),
    ):
        plan = planning.make_plan(rows, valid)
        by_city = planning.by_city(plan, valid, bands)
        own = plan[plan["depot_id"].isin(touched)].groupby("target_on")
        parts |= {
            f"orders_{name}": own["point"].sum(),
            f"vans_{name}": own["needed"].sum(),
            f"short_{name}": by_city.set_index("target_on")["short"],
        }
    table = pd.DataFrame(parts)
    return table[table.index.isin(days)].rename_axis("target_on").reset_index()
