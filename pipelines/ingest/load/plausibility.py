"""Refuses files whose order ids are not ids, or are those of another partner."""

from dataclasses import dataclass

from forecaster.errors import RefusedFileError
from pipelines.ingest.rows.kind_detection import FileMapping
from pipelines.store.ingest import ExistingOrders, StagingTable

MAX_MOVED_ORDERS = 10
MAX_MOVED_SHARE = 0.01
"""Orders that a file may move to another depot or day: this number, or this share of its rows
if that is more."""
MIN_ROWS_CHECKED = 20
"""Files of fewer rows are not checked for repeated ids."""


@dataclass(frozen=True)
class OrderIdCheck:
    """Compares the order ids of the accepted rows of a file with those in the database."""

    name: str
    mapping: FileMapping
    rows: int
    id_namespace: str

    def require_not_moved(self, known: ExistingOrders) -> None:
        """Refuses a file of orders that are there already, but elsewhere.

        Raises:
          RefusedFileError: it moves too many to another depot or day, or too many exist in
            another namespace.
        """
        limit = max(MAX_MOVED_ORDERS, MAX_MOVED_SHARE * self.rows)
        if known.moved > limit:
            raise self._moved_error(known.moved)
        if known.doubled > limit:
            raise self._doubled_error(known.doubled, str(known.other_namespace))

    def require_distinct_ids(self, staging: StagingTable, accepted: int) -> None:
        """Refuses a file most of whose orders replace each other.

        Raises:
          RefusedFileError: it has more than twice as many rows as ids.
        """
        # Every changed row has an id of its own, so only where few changed is it counted.
        if 2 * accepted >= self.rows:
            return
        if self.rows < MIN_ROWS_CHECKED or 2 * (ids := staging.n_orders()) >= self.rows:
            return
        raise RefusedFileError(
            f"{self.name} has {self.rows:,} orders and only {ids:,} different values of "
            f"'{self.mapping.names['order_id']}', so most would replace each other. Pass "
            "--column order_id=NAME with the column of the order's own id, or --force if "
            "the last row of each is meant."
        )

    def _moved_error(self, moved: int) -> RefusedFileError:
        return RefusedFileError(
            f"{self.name} would move {moved:,} orders that are there already to another "
            f"depot or day (of {self.rows:,}), and a file may move {MAX_MOVED_SHARE:.0%} or "
            f"{MAX_MOVED_ORDERS}. If another partner counts from the same numbers, give it a "
            "[sources.NAME] in harbor.toml and pass --source NAME; if "
            f"'{self.mapping.names['order_id']}' is not the order's own id, pass --column "
            "order_id=NAME; if the file corrects them, pass --force."
        )

    def _doubled_error(self, doubled: int, other: str) -> RefusedFileError:
        return RefusedFileError(
            f"{self.name} has {doubled:,} orders that are there already under the "
            f"id_namespace '{other}', and would count them twice under "
            f"'{self.id_namespace}'. Say id_namespace = \"{other}\" in its [sources.NAME] "
            "of harbor.toml or load it as that source, or pass --force if they are others."
        )
