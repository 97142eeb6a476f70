"""Turns a planner's entry for some depots and days into changes, and previews them. No I/O."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dashboard.planning import van_plan
from dashboard.planning.overrides import Cell, Change
from pipelines.planning.van_plan import Plan

NUMBER = re.compile(r"(\d{1,3}(?:[,\s]\d{3})+|\d+)")
STEP = re.compile(r"([+\-−])\s*(\d{1,3}(?:[,\s]\d{3})+|\d+)")
# Two decimals at most: in "10,000 %" the comma may mean thousands.
PERCENT = re.compile(r"([+\-−])\s*(\d+(?:[.,]\d{1,2})?)\s*%")
NUMBER_RULE = "Write a number of orders such as 420, or a change: +30 for 30 more, −5 for 5 fewer, +10 % or −5 %."
FIGURES = r"\d[\d.,\s]*"
SET, WITHDRAW = "set", "withdraw"
"""Actions of the form: a new number, and back to the model."""
MAX_RATIO, MIN_DIFFERENCE = 3.0, 20.0
"""Ratio to the model's number, and difference in orders; a number beyond both must be confirmed."""


@dataclass(frozen=True)
class Adjustment:
    """A new number of orders, or else a factor on the planned number and orders to add to it."""

    orders: float | None = None
    factor: float = 1.0
    more: float = 0.0

    def apply(self, planned: float) -> float:
        """The new number in whole orders; negative if more is taken away than is planned."""
        if self.orders is not None:
            return self.orders
        return float(round(round(planned) * self.factor + self.more))


def parse(text: str) -> Adjustment | None:
    """Parses an adjustment such as '420', '1,240', '+30' or '+10 %'; None for any other text."""
    typed = text.strip()
    if number := NUMBER.fullmatch(typed):
        return Adjustment(orders=_whole(number[1]))
    if step := STEP.fullmatch(typed):
        return Adjustment(more=_whole(step[2]) if step[1] == "+" else -_whole(step[2]))
    if percent := PERCENT.fullmatch(typed):
        share = float(percent[2].replace(",", ".")) / 100
        factor = 1 + share if percent[1] == "+" else 1 - share
        return Adjustment(factor=factor) if factor >= 0 else None
    return None


def _whole(figures: str) -> float:
    return float(re.sub(r"[,\s]", "", figures))


def problem(text: str) -> str:
    """A sentence on why a text is not an adjustment; '' if `parse` accepts it."""
    if parse(text) is not None:
        return ""
    typed = text.strip()
    if not typed:
        return f"The new number is missing. {NUMBER_RULE}"
    return f"“{typed}” {_broken_rule(typed)}"


def _broken_rule(typed: str) -> str:
    if PERCENT.fullmatch(typed):
        return "is less than −100 %, which leaves no orders. Write −100 % at most."
    if re.fullmatch(rf"{FIGURES}%", typed):
        number = typed.rstrip("%").strip()
        return f"has no sign. Do you mean +{number} % or −{number} %?"
    if re.fullmatch(rf"[+\-−]\s*{FIGURES}%", typed):
        return "has too many decimals, or is too large. Write a change such as +12.5 %."
    if re.fullmatch(rf"[+\-−]?\s*{FIGURES}", typed):
        return (
            "is not a whole number of orders. Write whole orders, thousands with a comma or "
            "nothing between them: 1,240 or 1240."
        )
    return f"is not a number of orders. {NUMBER_RULE}"


def cells(week: pd.DataFrame) -> list[Cell]:
    """The rows of `queries.fleet_week` as cells."""
    return [
        Cell(
            depot=str(row["depot_id"]),
            day_on=row["target_on"].date(),
            orders=float(row["point"]),
            model_orders=float(row["model_point"]),
            override_id=None if pd.isna(own := row["override_id"]) else int(own),
            is_set=bool(row["is_set"]),
            is_closed=row["basis"] == "closed",
        )
        for row in week.to_dict("records")
    ]


def changes(chosen: Sequence[Cell], adjustment: Adjustment | None) -> list[Change]:
    """The changes of cells to a new number, or back to the model's (None).

    A cell that would not change has none. If several cells are chosen, closed days are not set;
    a single chosen cell is set even on a closed day.
    """
    if adjustment is None:
        return [Change(cell, None) for cell in chosen if cell.is_set]
    cells = [cell for cell in chosen if len(chosen) == 1 or not cell.is_closed]
    # A number that equals the model's is a change: it stays when the model's number changes.
    return [
        Change(cell, number)
        for cell, number in zip(cells, _numbers(cells, adjustment), strict=True)
        if not (cell.is_set and number == cell.orders)
    ]


def _numbers(cells: Sequence[Cell], adjustment: Adjustment) -> list[float]:
    """The new number of each cell; a percentage of several depots holds for each day's sum."""
    if adjustment.factor == 1 or len({cell.depot for cell in cells}) == 1:
        return [adjustment.apply(cell.orders) for cell in cells]
    # Rounded one by one, 24 depots of 4.4 orders would have 96 after +10 %, and 106 before.
    sums, numbers = dict.fromkeys((cell.day_on for cell in cells), 0.0), []
    for cell in cells:
        before = sums[cell.day_on]
        sums[cell.day_on] += adjustment.factor * cell.orders
        numbers.append(float(round(sums[cell.day_on]) - round(before)))
    return numbers


def far_from_model(changes: Sequence[Change]) -> list[Change]:
    """The changes to a number that may be a typing error, such as ten times the model's."""
    return [
        change
        for change in changes
        if change.orders is not None and is_far(change.orders, change.cell.model_orders)
    ]


def is_far(one: float, other: float) -> bool:
    """Whether two numbers differ so much that one may be a typing error."""
    low, high = sorted((one, other))
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
    numbers: Mapping[tuple[str, pd.Timestamp], float],
    plan_of: Callable[[pd.DataFrame], Plan],
) -> pd.DataFrame:
    """Orders of the changed depots, and their city's need and shortage, before and after.

    Args:
      week: The rows of `queries.fleet_week` of one city.
      numbers: From `new_orders`.
      plan_of: Makes a plan from rows like `week`.

    Returns:
      A row for each changed day: target_on; of the changed depots: orders_before,
      orders_after; of the city: need_before, need_after, short_before, short_after (vans),
      late_before, late_after (orders); of its other depots: others_before, others_after (vans).
    """
    changed = {depot for depot, _ in numbers}
    days = {day for _, day in numbers}
    parts: dict[str, pd.Series] = {}
    changed_week = van_plan.with_changes(week, numbers)
    for name, rows in ("before", week), ("after", changed_week):
        plan = plan_of(rows)
        is_own = plan.depots["depot_id"].isin(changed)
        own, others = plan.depots[is_own], plan.depots[~is_own]
        city = plan.cities.set_index("target_on")
        parts |= {
            f"orders_{name}": own.groupby("target_on")["point"].sum(),
            f"need_{name}": city["needed"],
            f"short_{name}": city["short"],
            f"late_{name}": city["undelivered"],
            f"others_{name}": others.groupby("target_on")["allocated"].sum(),
        }
    table = pd.DataFrame(parts)
    return table[table.index.isin(days)].rename_axis("target_on").reset_index()
