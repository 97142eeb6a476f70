"""Takes loaded files back: afterwards the rows are as if they had never been loaded."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from forecaster.errors import BadInputError, NoDataError, NothingToDoError
from pipelines.ingest.file_schemas import KINDS
from pipelines.store import files as ledger
from pipelines.store import ingest as store
from pipelines.store import withdrawal
from pipelines.store.files import LoadedFile, Repeat

WITHDRAWABLE = ("orders", "daily")
INSTEAD = {
    "events": "Withdraw its events one by one with 'harbor events withdraw'.",
    "depots": "A later depots file with the right rows replaces what it says.",
}
MOST_TOLD = 5


@dataclass(frozen=True)
class Withdrawal:
    """What came of taking files back.

    Args:
      files: The files, earliest first.
      removed: Rows of orders and daily counts that they had brought.
      restored: Of these, rows in whose place an earlier file's row stands again.
      depots: Depots removed, which only these files had named.
    """

    files: tuple[LoadedFile, ...]
    removed: int
    restored: int
    depots: int


def withdraw(
    engine: sa.Engine, file_ids: Sequence[int], *, dry_run: bool = False
) -> Withdrawal:
    """Takes files back in one transaction; demand must be counted after it.

    Args:
      engine: Database the pipelines own.
      file_ids: From `files`.
      dry_run: Does everything, and takes it back.

    Raises:
      NoDataError: there is no such file.
      NothingToDoError: one was withdrawn before.
      BadInputError: a file is of a kind that is not withdrawn, or another file repeats
        rows of it.
    """
    with engine.connect() as connection, connection.begin() as whole:
        for kind in store.LOCKS:
            store.lock(connection, kind)
        found = ledger.files_of(connection, file_ids)
        _require_withdrawable(found, file_ids)
        _require_unrepeated(ledger.repeats_of(connection, file_ids))
        done = _take_back(connection, found)
        if dry_run:
            whole.rollback()
    return done


def _take_back(connection: sa.Connection, found: Sequence[LoadedFile]) -> Withdrawal:
    removed = restored = 0
    depot_ids: set[str] = set()
    for name in WITHDRAWABLE:
        ids = [each.file_id for each in found if each.kind == name]
        kind = KINDS[name]
        taken = withdrawal.take_out(connection, kind.table, kind.key, ids)
        removed, restored = removed + taken.removed, restored + taken.restored
        depot_ids |= taken.depot_ids
    depots = withdrawal.drop_unnamed_depots(connection, sorted(depot_ids))
    ledger.set_withdrawn(connection, [each.file_id for each in found])
    return Withdrawal(tuple(found), removed, restored, depots)


def _require_withdrawable(found: Sequence[LoadedFile], asked: Sequence[int]) -> None:
    missing = sorted(set(asked) - {each.file_id for each in found})
    if missing:
        raise NoDataError(f"There is no file {missing[0]}. See 'harbor files list'.")
    for each in found:
        if each.withdrawn_at is not None:
            raise NothingToDoError(
                f"File {each.file_id} was withdrawn at "
                f"{each.withdrawn_at:%Y-%m-%d %H:%M %Z} already. Nothing was changed."
            )
        if each.kind not in WITHDRAWABLE:
            raise BadInputError(
                f"File {each.file_id} holds {each.kind}, but only files of "
                f"{' and '.join(WITHDRAWABLE)} are withdrawn. {INSTEAD[each.kind]}"
            )


def _require_unrepeated(repeats: Sequence[Repeat]) -> None:
    if not repeats:
        return
    others = {each.file_id: each.path.rsplit("/", 1)[-1] for each in repeats}
    told = [f"{file_id} ({name})" for file_id, name in list(others.items())[:MOST_TOLD]]
    more = f" and {len(others) - MOST_TOLD} more" if len(others) > MOST_TOLD else ""
    raise BadInputError(
        f"File {repeats[0].repeats_file_id} has rows that later files repeat: "
        f"{', '.join(told)}{more}. They would be lost with it: withdraw those files "
        "together with it, and load them again afterwards, in their order."
    )
