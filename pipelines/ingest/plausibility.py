"""Whether the ids of orders can be what they are taken for."""

from dataclasses import dataclass

from forecaster.errors import RefusedFileError
from pipelines.ingest.kind_detection import Plan
from pipelines.store.ingest import Incoming

FEW_ORDERS = 10
FEW_SHARE = 0.01
"""Orders that a file may move, and the share of its rows: the larger of the two."""
FEW_ROWS = 20
"""Files of fewer rows may repeat their ids as they like."""


@dataclass(frozen=True)
class OrderIds:
    """The ids of a file's orders beside those that are there already; others have none.

    Args:
      name: Of the file, for messages.
      plan: How it was read.
      rows: Good ones.
      id_namespace: In which the ids of its orders are unique.
    """

    name: str
    plan: Plan
    rows: int
    id_namespace: str

    def require_own_orders(self, incoming: Incoming) -> int:
        """Counts the orders that move to another depot or day.

        Raises:
          RefusedFileError: more than a few do, or are there under another namespace.
        """
        if self.plan.kind.name != "orders":
            return 0
        known = incoming.known_orders(self.id_namespace)
        few = max(FEW_ORDERS, FEW_SHARE * self.rows)
        if known.moved > few:
            raise self._moves(known.moved)
        if known.doubled > few:
            raise self._doubles(known.doubled, str(known.other_namespace))
        return known.moved

    def require_own_ids(self, incoming: Incoming, accepted: int) -> None:
        """Refuses a file most of whose orders replace each other.

        Raises:
          RefusedFileError: it has more than twice as many rows as ids.
        """
        # Every changed row has an id of its own, so only where few changed is it counted.
        if self.plan.kind.name != "orders" or 2 * accepted >= self.rows:
            return
        if self.rows < FEW_ROWS or 2 * (ids := incoming.n_orders()) >= self.rows:
            return
        raise RefusedFileError(
            f"{self.name} has {self.rows:,} orders and only {ids:,} different values of "
            f"'{self.plan.names['order_id']}', so most would replace each other. Pass "
            "--column order_id=NAME with the column of the order's own id, or --force if "
            "the last row of each is meant."
        )

    def _moves(self, moved: int) -> RefusedFileError:
        return RefusedFileError(
            f"{self.name} would move {moved:,} orders that are there already to another "
            f"depot or day (of {self.rows:,}), and a file may move {FEW_SHARE:.0%} or "
            f"{FEW_ORDERS}. If another partner counts from the same numbers, give it a "
            "[sources.NAME] in harbor.toml and pass --source NAME; if "
            f"'{self.plan.names['order_id']}' is not the order's own id, pass --column "
            "order_id=NAME; if the file corrects them, pass --force."
        )

    def _doubles(self, doubled: int, other: str) -> RefusedFileError:
        return RefusedFileError(
            f"{self.name} has {doubled:,} orders that are there already under the "
            f"id_namespace '{other}', and would count them twice under "
            f"'{self.id_namespace}'. Say id_namespace = \"{other}\" in its [sources.NAME] "
            "of harbor.toml or load it as that source, or pass --force if they are others."
        )
