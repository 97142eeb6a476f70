"""A batch of cells against the contract: what goes in, and what goes to quarantine."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest.batches import Cells, Detail, RejectedRow, shown
from pipelines.ingest.file_schemas import Kind
from pipelines.ingest.parsing import Rules


@dataclass(frozen=True)
class Verdicts:
    """One column's say: which rows are bad, and why.

    Args:
      column: In the contract's words.
      reasons: Null where the row is good.
    """

    column: str
    reasons: pa.Array


@dataclass(frozen=True)
class Checked:
    """A batch after the check.

    Args:
      rows: Typed, in the table's columns; bad rows are still among them.
      verdicts: Only of columns with a bad row, in the order of the contract.
    """

    rows: pa.Table
    verdicts: list[Verdicts]

    @property
    def is_clean(self) -> bool:
        """Whether every row may go in."""
        return not self.verdicts

    def good_rows(self) -> pa.Table:
        """The rows nothing speaks against."""
        if self.is_clean:
            return self.rows
        good = pc.is_null(self.verdicts[0].reasons)
        for other in self.verdicts[1:]:
            good = pc.and_(good, pc.is_null(other.reasons))
        return self.rows.filter(good)


def check(kind: Kind, cells: Cells, rules: Rules) -> Checked:
    """Reads every column, and then looks at what must hold between them."""
    stored: dict[str, pa.Array] = {}
    verdicts: list[Verdicts] = []
    for column in kind.columns:
        if column.name not in cells:
            continue
        texts = cells[column.name]
        parsed = column.read(texts, rules)
        values, reasons = parsed.values, parsed.reasons
        if texts.null_count and not column.may_be_empty:
            reasons = pc.if_else(pc.is_null(texts), "is empty", reasons)
        if column.when_empty is not None:
            values = tuple(pc.fill_null(value, column.when_empty) for value in values)
        if reasons.null_count < len(reasons):
            verdicts.append(Verdicts(column.name, reasons))
        stored |= zip(column.stores, values, strict=True)
    verdicts += _between(kind, stored)
    for name, constant in (kind.constants or {}).items():
        stored[name] = pa.repeat(constant, len(next(iter(stored.values()))))
    return Checked(pa.table(stored), verdicts)


def _between(kind: Kind, stored: dict[str, pa.Array]) -> Iterator[Verdicts]:
    for rule in kind.rules:
        if all(name in stored for name in rule.wants):
            broken = rule.broken(*(stored[name] for name in rule.wants))
            if pc.any(broken).as_py():
                nothing = pa.nulls(len(broken), pa.string())
                mask = pc.fill_null(broken, False)
                yield Verdicts(rule.column, pc.if_else(mask, rule.reason, nothing))


def rejected_rows(checked: Checked, detail: Detail) -> list[RejectedRow]:
    """Every bad row once, with the first column that speaks against it."""
    found: dict[int, RejectedRow] = {}
    for verdict in checked.verdicts:
        cells = detail.cells[verdict.column]
        for at in pc.indices_nonzero(pc.is_valid(verdict.reasons)).to_pylist():
            if at not in found:
                found[at] = RejectedRow(
                    line=detail.lines[at],
                    column_name=verdict.column,
                    value=_told(cells[at]),
                    reason=verdict.reasons[at].as_py(),
                    raw=detail.raw(at),
                )
    return [*detail.rejected, *found.values()]


def _told(cell: Any) -> str:
    return shown(cell) if cell.is_valid else ""
