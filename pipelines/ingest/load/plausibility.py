"""Refuses files whose order ids repeat within the file, or belong to another partner."""

from forecaster.errors import RefusedFileError
from pipelines.store.ingest import ExistingOrders, StagingTable

MAX_MOVED_ORDERS = 10
MAX_MOVED_SHARE = 0.01
"""Maximum orders that a file may move to another depot or day, and the maximum as a share of its
rows; the larger limit applies."""
MIN_ROWS_CHECKED = 20
"""Files of fewer rows are not checked for repeated ids."""


def require_not_moved(
    name: str, id_column: str, n_rows: int, known: ExistingOrders, id_namespace: str
) -> None:
    """Refuses a file that moves stored orders, or repeats orders of another namespace.

    Raises:
      RefusedFileError: it moves too many orders to another depot or day, or too many of
        its orders exist in another namespace.
    """
    limit = max(MAX_MOVED_ORDERS, MAX_MOVED_SHARE * n_rows)
    if known.moved > limit:
        raise RefusedFileError(
            f"{name} would move {known.moved:,} orders that are there already to another "
            f"depot or day (of {n_rows:,}), but a file may move at most {MAX_MOVED_SHARE:.0%} or "
            f"{MAX_MOVED_ORDERS}. If another partner uses the same numbers as ids, give it a "
            "[sources.NAME] in harbor.toml and pass --source NAME; if "
            f"'{id_column}' is not the order's own id, pass --column "
            "order_id=NAME; if the file corrects them, pass --force."
        )
    if known.doubled > limit:
        other = known.other_namespace
        raise RefusedFileError(
            f"{name} has {known.doubled:,} orders that are there already under the "
            f"id_namespace '{other}', and would count them twice under "
            f"'{id_namespace}'. Say id_namespace = \"{other}\" in its [sources.NAME] "
            "of harbor.toml or load it as that source, or pass --force if they are different orders."
        )


def require_distinct_ids(
    name: str, id_column: str, n_rows: int, staging: StagingTable, accepted: int
) -> None:
    """Refuses a file in which most orders would replace each other.

    Raises:
      RefusedFileError: it has more than twice as many rows as ids.
    """
    # Each accepted row has its own id, so ids are counted only if few rows were accepted.
    if 2 * accepted >= n_rows or n_rows < MIN_ROWS_CHECKED:
        return
    n_ids = staging.n_orders()
    if 2 * n_ids < n_rows:
        raise RefusedFileError(
            f"{name} has {n_rows:,} orders and only {n_ids:,} different values of "
            f"'{id_column}', so most would replace each other. Pass "
            "--column order_id=NAME with the column of the order's own id, or --force if "
            "the last row of each is to be kept."
        )
