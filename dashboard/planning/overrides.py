"""Planners' overrides, saved in one transaction, and Undo of every kind of planners' change."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import pandas as pd

from dashboard import queries
from dashboard.queries import database
from forecaster.errors import BadInputError

NOTHING = "Nothing would change. Choose other days or depots."
ADD = "select add_overrides(cast(:changes as jsonb), :reason, :planner)"
UNDO = "select undo_changes(:what, cast(:ids as bigint[]), :planner)"
MAX_REASON_LENGTH, MAX_NAME_LENGTH, MAX_ORDERS = 500, 100, 100_000


@dataclass(frozen=True)
class Cell:
    """A depot's day as the planner sees it.

    Attributes:
      depot: A depot_id.
      day_on: A day ahead that is forecast.
      orders: The planned number.
      model_orders: The model's number.
      override_id: Id of the day's newest override; None without one.
      is_set: Whether the planned number is a planner's.
      is_closed: Whether the depot is closed that day.
    """

    depot: str
    day_on: date
    orders: float
    model_orders: float
    override_id: int | None = None
    is_set: bool = False
    is_closed: bool = False

    @property
    def key(self) -> tuple[str, date]:
        """The depot and the day."""
        return self.depot, self.day_on


@dataclass(frozen=True)
class Change:
    """One change of one depot's day.

    Attributes:
      cell: The depot-day as it was before the change.
      orders: New number of orders; None: back to the model.
    """

    cell: Cell
    orders: float | None


def range_problems(changes: Sequence[Change]) -> list[str]:
    """A sentence on the first new number that is out of range; [] if none is."""
    numbers = [each.orders for each in changes if each.orders is not None]
    outside = [number for number in numbers if not 0 <= number <= MAX_ORDERS]
    sentence = "That makes {:,.0f} orders a day, outside 0 to {:,}. Give the number that you expect."
    return [sentence.format(each, MAX_ORDERS).replace("-", "−") for each in outside[:1]]


def text_problems(reason: str, planner: str) -> list[str]:
    """A sentence for a reason, and for a name, that is missing or too long."""
    return text_problem("A reason", reason, MAX_REASON_LENGTH) + name_problem(planner)


def name_problem(planner: str) -> list[str]:
    """A sentence for a name that is missing or too long."""
    return text_problem("Your name", planner, MAX_NAME_LENGTH)


def text_problem(
    label: str, text: str, max_length: int, *, is_optional: bool = False
) -> list[str]:
    """A sentence for a text that is too long, or missing unless it is optional."""
    length = len(text.strip())
    if length == 0 and not is_optional:
        return [f"{label} is missing. Enter it; it is saved with the change."]
    if length > max_length:
        return [f"{label} has {length} letters, but at most {max_length} are kept."]
    return []


def save(statement: str, wrong: Sequence[str], **parameters: Any) -> None:
    """Calls a function that saves a planner's change, unless something is wrong with it.

    Raises:
      BadInputError: `wrong` is not empty, and is its message; or the function refuses the change.
      DatabaseError: as `database.snapshot`.
    """
    if wrong:
        raise BadInputError(" ".join(wrong))
    database.call(statement, **parameters)
    queries.freshness.clear()


def add(changes: Sequence[Change], reason: str, planner: str) -> None:
    """Stores changes in one transaction, with one reason, and clears the cached freshness.

    Raises:
      BadInputError: with all that is wrong: the reason or the name is missing or too long, a
        number is out of range, or there is nothing to change; or, with a sentence for each
        day, a day is not forecast, was changed by somebody else meanwhile, or has no override
        to take back.
      DatabaseError: as `database.snapshot`.
    """
    wrong = [] if changes else [NOTHING]
    wrong += range_problems(changes) + text_problems(reason, planner)
    rows = [
        {
            "depot_id": change.cell.depot,
            "target_on": change.cell.day_on.isoformat(),
            "seen": change.cell.override_id,
            "orders": change.orders,
        }
        for change in changes
    ]
    save(ADD, wrong, changes=json.dumps(rows), reason=reason, planner=planner)


def undo(newest: pd.DataFrame, planner: str) -> None:
    """Takes back `queries.newest_change`; if that was an undo, restores the undone change.

    Raises:
      BadInputError: the name is missing or too long; or somebody changed the same meanwhile.
      DatabaseError: as `database.snapshot`.
    """
    what, ids = newest["what"].iloc[0], newest["change_id"].tolist()
    save(UNDO, name_problem(planner), what=what, ids=ids, planner=planner)


def is_undo(newest: pd.DataFrame) -> bool:
    """Whether the rows of `queries.newest_change` are an undo."""
    return bool(newest["undoes"].notna().any())
