"""Undo: the batch of changes that takes a saved one back. No I/O."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from dashboard.planning import edits
from dashboard.planning.overrides import (
    LOCK,
    MAX_REASON_LENGTH,
    SET,
    UNDO,
    UNLOCK,
    WITHDRAW,
    Batch,
    Cell,
    Change,
)


def last_changes(saved: pd.DataFrame) -> list[Change]:
    """The changes of `queries.last_change`; none where they are an undo themselves."""
    if saved.empty or saved["reason"].iloc[0].startswith(UNDO):
        return []
    rows = zip(edits.cells(saved), saved.to_dict("records"), strict=True)
    return [Change(cell, row["action"], _new_orders(cell, row)) for cell, row in rows]


def _new_orders(before: Cell, row: Mapping[Hashable, Any]) -> float | None:
    """The number that a stored change gave its day; None where it left the number as it was."""
    if row["action"] not in (SET, LOCK):
        return None
    held = before.orders if before.is_set else row["saved_point"]
    if row["action"] == LOCK and row["saved_orders"] == held:
        return None
    return float(row["saved_orders"])


def inverse(batch: Batch, ids: Sequence[int]) -> Batch:
    """The batch that takes a saved one back, unless somebody changed a day meanwhile."""
    done = list(zip(batch.changes, ids, strict=True))
    # Of a day that was unlocked and then withdrawn, the number comes back before the lock.
    changes = [
        undoing
        for change, override_id in reversed(done)
        for undoing in _undo(change, override_id)
    ]
    reason = f"{UNDO}{batch.reason}"[:MAX_REASON_LENGTH]
    return replace(batch, changes=tuple(changes), reason=reason)


def _undo(change: Change, override_id: int) -> list[Change]:
    """The changes that restore the day; a lock of the model's number holds tonight's."""
    before = change.cell
    cell = replace(before, override_id=override_id)
    restored = before.override_id
    set_again = Change(cell, SET, before.orders, restored)
    if change.action == WITHDRAW:
        return [set_again]
    number_back = set_again if before.is_set else Change(cell, WITHDRAW)
    if change.action == SET:
        return [number_back]
    if change.action == UNLOCK:
        # Without a number of a planner's, the lock holds the model's.
        return [Change(cell, LOCK, before.orders if before.is_set else None, restored)]
    is_moved = change.orders is not None and change.orders != before.orders
    return [
        Change(cell, UNLOCK, restores=restored),
        *([number_back] if is_moved else []),
    ]
