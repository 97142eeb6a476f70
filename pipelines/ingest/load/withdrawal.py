"""Withdraws loaded files, as if they had never been loaded, and single events."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

import sqlalchemy as sa

from forecaster.errors import (
    BadInputError,
    NoDataError,
    NothingToDoError,
    shortened_list,
)
from pipelines.demand import counting
from pipelines.ingest.rows.file_schemas import DAILY, ORDERS
from pipelines.runs.ledger import Run, recorded
from pipelines.store import (
    events,
    ingest,
    load_timestamps,
    order_retention,
    signals,
    withdrawal,
)
from pipelines.store.events import Event
from pipelines.store.files import (
    LoadedFile,
    Repeat,
    files_of,
    repeats_of,
    set_withdrawn,
)

INSTEAD = {
    "events": "Withdraw its events one by one with 'harbor events withdraw'.",
    "depots": "To correct its rows, load another depots file with the right ones.",
}


@dataclass(frozen=True)
class Withdrawal:
    """Outcome of a withdrawal.

    Args:
      files: The withdrawn files, earliest first.
      removed: Number of orders, daily counts and signal values withdrawn.
      restored: Number of earlier files' rows restored in their place.
      depots: Number of depots removed because only these files named them.
      frozen_before: First day that is not frozen, if the files had rows of days before it,
        whose counts stay. None otherwise.
    """

    files: tuple[LoadedFile, ...]
    removed: int
    restored: int
    depots: int
    frozen_before: date | None = None

    def counts(self) -> dict[str, int]:
        """Returns the numbers of rows and depots by name."""
        return {name: vars(self)[name] for name in ("removed", "restored", "depots")}


def withdraw_and_count(run: Run, now: datetime, file_ids: Sequence[int]) -> Withdrawal:
    """Withdraws files and recounts demand; records the numbers in the run's metrics.

    Raises:
      The errors of `withdraw`.
    """
    outcome = withdraw(run.engine, file_ids)
    run.metrics |= outcome.counts()
    counting.rebuild_in(run, now)
    return outcome


def withdraw(
    engine: sa.Engine, file_ids: Sequence[int], *, dry_run: bool = False
) -> Withdrawal:
    """Withdraws files in one transaction, without counting demand.

    Raises:
      NoDataError: there is no such file.
      NothingToDoError: one was withdrawn before.
      BadInputError: a file is of a kind that cannot be withdrawn, or a file that would stay
        repeats its rows.
    """
    with engine.connect() as connection, connection.begin() as transaction:
        for kind in ingest.LOCKS:
            ingest.lock(connection, kind)
        files = files_of(connection, file_ids)
        _require_withdrawable(files, file_ids)
        _require_not_repeated(repeats_of(connection, file_ids))
        outcome = _withdraw_rows(connection, files)
        if dry_run:
            transaction.rollback()
    return outcome


def _withdraw_rows(
    connection: sa.Connection, files: Sequence[LoadedFile]
) -> Withdrawal:
    removed = restored = 0
    depot_ids: set[str] = set()
    frozen_before = order_retention.frozen_before(connection)
    is_frozen = frozen_before is not None and withdrawal.have_rows_before(
        connection, [file.file_id for file in files], frozen_before
    )
    for schema in (ORDERS, DAILY):
        rows = withdrawal.remove_rows(
            connection, schema.table, schema.key, _ids_of(files, schema.name)
        )
        removed += rows.removed
        restored += rows.restored
        depot_ids |= rows.depot_ids
    load_timestamps.block_new_runs(connection)
    n_values, n_restored = signals.withdraw_files(
        connection, _ids_of(files, "signals"), ingest.now(connection)
    )
    removed += n_values
    restored += n_restored
    depots = withdrawal.drop_unnamed_depots(connection, sorted(depot_ids))
    set_withdrawn(connection, [file.file_id for file in files])
    is_frozen |= any(file.kind == ORDERS.name for file in files) and removed < sum(
        file.accepted for file in files
    )
    if not is_frozen:
        frozen_before = None
    return Withdrawal(tuple(files), removed, restored, depots, frozen_before)


def _ids_of(files: Sequence[LoadedFile], kind: str) -> list[int]:
    return [file.file_id for file in files if file.kind == kind]


def _require_withdrawable(
    files: Sequence[LoadedFile], requested: Sequence[int]
) -> None:
    missing = sorted(set(requested) - {file.file_id for file in files})
    if missing:
        raise NoDataError(f"There is no file {missing[0]}. See 'harbor files list'.")
    for file in files:
        if file.withdrawn_at is not None:
            raise NothingToDoError(
                f"File {file.file_id} was withdrawn at "
                f"{file.withdrawn_at:%Y-%m-%d %H:%M %Z} already. Nothing was changed."
            )
        if file.kind in INSTEAD:
            raise BadInputError(
                f"File {file.file_id} holds {file.kind}, but only files of "
                f"orders, daily and signals are withdrawn. {INSTEAD[file.kind]}"
            )


def _require_not_repeated(repeats: Sequence[Repeat]) -> None:
    if not repeats:
        return
    others = {repeat.file_id: repeat.path.rsplit("/", 1)[-1] for repeat in repeats}
    names = [f"{file_id} ({name})" for file_id, name in others.items()]
    raise BadInputError(
        f"File {repeats[0].repeats_file_id} has rows that later files repeat: "
        f"{shortened_list(names)}. These rows would be lost: withdraw those files together "
        "with this one, and load them again afterwards, in their order."
    )


def withdraw_event(engine: sa.Engine, event_id: str, reason: str) -> Event:
    """Withdraws an event as a recorded run: later forecasts do not see it.

    Returns:
      Its withdrawn version.

    Raises:
      NoDataError: there is no such event.
      NothingToDoError: it was withdrawn before.
    """
    with recorded(engine, "withdraw") as run:
        with run.engine.begin() as connection:
            event = events.newest_locked(connection, event_id)
            if event is None:
                raise NoDataError(
                    f"There is no event '{event_id}'. See 'harbor events list' for their ids."
                )
            if event.withdrawn:
                raise NothingToDoError(
                    f"The event '{event_id}' was withdrawn before. Nothing was changed."
                )
            load_timestamps.block_new_runs(connection)
            now = ingest.now(connection)
            withdrawn = events.withdraw(connection, event, reason, now)
        run.metrics |= {"event_id": withdrawn.event_id}
    return withdrawn
