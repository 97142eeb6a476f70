"""Planners' overrides, the only data that the dashboard writes."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date

from dashboard import queries
from dashboard.queries import database
from forecaster.errors import BadInputError

SET, LOCK, UNLOCK, WITHDRAW = "set", "lock", "unlock", "withdraw"
ACTIONS = {
    SET: "Set orders",
    WITHDRAW: "Undo",
    LOCK: "Lock the day",
    UNLOCK: "Unlock the day",
}
DONE = {SET: "changed", WITHDRAW: "undone", LOCK: "locked", UNLOCK: "unlocked"}
ADD = "select add_override(:depot, :day_on, :action, :orders, :reason, :planner)"
MAX_REASON_LENGTH, MAX_NAME_LENGTH, MAX_ORDERS = 500, 100, 9_999_999


@dataclass(frozen=True)
class Override:
    """One change of one depot's day, with its reason and who made it.

    Args:
      depot: A depot_id.
      day_on: A day ahead that is forecast.
      action: One of `ACTIONS`.
      orders: New number of orders; only for 'set'.
      reason: Free text.
      planner: Name of the planner.

    Raises:
      BadInputError: the reason or the name is missing or too long, or the orders are
        missing or out of range.
    """

    depot: str
    day_on: date
    action: str
    orders: float | None
    reason: str
    planner: str

    def __post_init__(self) -> None:
        """Validates the fields; the database validates again."""
        _require_text("The reason", self.reason, MAX_REASON_LENGTH)
        _require_text("Your name", self.planner, MAX_NAME_LENGTH)
        if self.action == SET and not (
            self.orders is not None and 0 <= self.orders <= MAX_ORDERS
        ):
            raise BadInputError(
                f"Orders are {self.orders}, but must lie between 0 and {MAX_ORDERS:,}. "
                "Give the number that you expect."
            )


def add(changes: Sequence[Override]) -> None:
    """Stores overrides in one transaction, and clears the cached freshness.

    Raises:
      BadInputError: a day is locked, not forecast, or has nothing to undo or unlock.
      DatabaseError: as `database.snapshot`.
    """
    database.call(ADD, [asdict(change) for change in changes])
    queries.freshness.clear()


def _require_text(label: str, text: str, max_length: int) -> None:
    length = len(text.strip())
    if not 0 < length <= max_length:
        raise BadInputError(
            f"{label} has {length} letters, but must have between 1 and {max_length}; it "
            "is kept with the change. Write it into the form and send it again."
        )
