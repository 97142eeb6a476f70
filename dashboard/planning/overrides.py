"""What planners know better: the one thing the dashboard writes."""

from collections.abc import Sequence
from dataclasses import dataclass
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
ADD = "select add_override(:depot, :day, :what, :number, :why, :planner)"
LONGEST_REASON, LONGEST_NAME, MOST_ORDERS = 500, 100, 9_999_999


@dataclass(frozen=True)
class Override:
    """One change of one depot's day, with its reason and who made it.

    Args:
      depot: A depot_id.
      day_on: A day ahead that is forecast.
      action: One of `ACTIONS`.
      orders: Planned from now on; used by 'set' alone.
      reason: Why, in words.
      planner: Who.

    Raises:
      BadInputError: the reason or the name is missing or too long, or the orders are
        none.
    """

    depot: str
    day_on: date
    action: str
    orders: float | None
    reason: str
    planner: str

    def __post_init__(self) -> None:
        """Checks at the door; the database checks again."""
        _require_words("The reason", self.reason, LONGEST_REASON)
        _require_words("Your name", self.planner, LONGEST_NAME)
        if self.action == SET and not (
            self.orders is not None and 0 <= self.orders <= MOST_ORDERS
        ):
            raise BadInputError(
                f"Orders are {self.orders}, but must lie between 0 and {MOST_ORDERS:,}. "
                "Give the number that you expect."
            )


def add(every: Sequence[Override]) -> None:
    """Writes overrides down, all or none, and lets every page see them.

    Raises:
      BadInputError: a day is locked, not forecast, or not as it was thought to be.
      DatabaseError: the database is not there or does not allow it.
    """
    database.call(
        ADD,
        [
            {
                "depot": each.depot,
                "day": each.day_on,
                "what": each.action,
                "number": each.orders if each.action == SET else None,
                "why": each.reason,
                "planner": each.planner,
            }
            for each in every
        ],
    )
    queries.freshness.clear()


def _require_words(what: str, said: str, longest: int) -> None:
    length = len(said.strip())
    if not 0 < length <= longest:
        raise BadInputError(
            f"{what} has {length} letters, but must have between 1 and {longest}; it is "
            "kept with the change. Write it into the form and send it again."
        )
