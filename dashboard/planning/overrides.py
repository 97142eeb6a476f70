"""Planners' overrides: a batch of changes, saved whole or not at all."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from dashboard import queries
from dashboard.queries import database
from forecaster.errors import BadInputError

SET, LOCK, UNLOCK, WITHDRAW = "set", "lock", "unlock", "withdraw"
DONE = {SET: "set", WITHDRAW: "back to the model", LOCK: "locked", UNLOCK: "unlocked"}
UNDONE, UNDO = "undone", "Undo: "
"""An undone change in the history, and the beginning of its reason."""
NOTHING = "Nothing would change. Choose other days or depots."
ADD = "select add_overrides(cast(:changes as jsonb), :reason, :planner)"
MAX_REASON_LENGTH, MAX_NAME_LENGTH, MAX_ORDERS = 500, 100, 9_999_999


@dataclass(frozen=True)
class Cell:
    """A depot's day as the planner sees it.

    Attributes:
      depot: A depot_id.
      day_on: A day ahead that is forecast.
      orders: The planned number.
      model_orders: The model's number.
      override_id: Number of the day's newest override; None without one.
      is_set: Whether the planned number is a planner's.
      is_locked: Whether the day is locked.
      is_closed: Whether the depot is closed that day.
    """

    depot: str
    day_on: date
    orders: float
    model_orders: float
    override_id: int | None = None
    is_set: bool = False
    is_locked: bool = False
    is_closed: bool = False

    @property
    def key(self) -> tuple[str, date]:
        """The depot and the day."""
        return self.depot, self.day_on


@dataclass(frozen=True)
class Change:
    """One change of one depot's day.

    Attributes:
      cell: The day before the change.
      action: 'set', 'lock', 'unlock' or 'withdraw' (back to the model).
      orders: New number of orders; of 'set', and of 'lock' where it changes the number, too.
      restores: Number of the earlier override that this brings back; None for none.
    """

    cell: Cell
    action: str
    orders: float | None = None
    restores: int | None = None


@dataclass(frozen=True)
class Batch:
    """Changes that are saved together, with one reason.

    Raises:
      BadInputError: with all that is wrong: the reason or the name is missing or too long,
        a number is out of range, or there is nothing to change.
    """

    changes: tuple[Change, ...]
    reason: str
    planner: str

    def __post_init__(self) -> None:
        """Validates the fields; the database validates again."""
        wrong = problems(self.changes, self.reason, self.planner)
        if wrong:
            raise BadInputError(" ".join(wrong))


def problems(changes: Sequence[Change], reason: str, planner: str) -> list[str]:
    """A sentence for everything that keeps changes from being saved."""
    wrong = [] if changes else [NOTHING]
    return wrong + range_problems(changes) + text_problems(reason, planner)


def range_problems(changes: Sequence[Change]) -> list[str]:
    """A sentence where a new number is out of range."""
    numbers = [each.orders for each in changes if each.orders is not None]
    outside = [number for number in numbers if not 0 <= number <= MAX_ORDERS]
    sentence = (
        "{:,.0f} orders a day lie outside 0 to {:,}. Give the number that you expect."
    )
    return [sentence.format(number, MAX_ORDERS) for number in outside[:1]]


def text_problems(reason: str, planner: str) -> list[str]:
    """A sentence for a reason, and for a name, that is missing or too long."""
    return [
        *_text_problem("A reason", reason, MAX_REASON_LENGTH),
        *_text_problem("Your name", planner, MAX_NAME_LENGTH),
    ]


def _text_problem(label: str, text: str, max_length: int) -> list[str]:
    length = len(text.strip())
    if length == 0:
        return [f"{label} is missing; it is kept with the change."]
    if length > max_length:
        return [f"{label} has {length} letters, but at most {max_length} are kept."]
    return []


def add(batch: Batch) -> list[int]:
    """Stores a batch in one transaction, and clears the cached freshness.

    Returns:
      The number of each new override, in the order of the changes.

    Raises:
      BadInputError: a day is locked, not forecast, was changed by somebody else meanwhile,
        or has nothing to undo or unlock; with a sentence for each day.
      DatabaseError: as `database.snapshot`.
    """
    ids = database.call(
        ADD,
        changes=json.dumps([_as_json(change) for change in batch.changes]),
        reason=batch.reason,
        planner=batch.planner,
    )
    queries.freshness.clear()
    return list(ids)


def description(action: str, reason: str) -> str:
    """What a stored override did, in the words of the form."""
    return UNDONE if reason.startswith(UNDO) else DONE[action]


def _as_json(change: Change) -> dict[str, object]:
    return {
        "depot_id": change.cell.depot,
        "target_on": change.cell.day_on.isoformat(),
        "action": change.action,
        "orders": change.orders,
        "seen": change.cell.override_id,
        "restores": change.restores,
    }
