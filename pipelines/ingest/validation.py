"""Validates a batch of cells against its schema: accepted rows, and rejected rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest.batches import Cells, Detail, RejectedRow, cell_text
from pipelines.ingest.file_schemas import Kind
from pipelines.ingest.parsing import Rules


@dataclass(frozen=True)
class ColumnVerdicts:
    """The rows that one column rejects.

    Args:
      column: Name of the column in the schema.
      reasons: Reason per row; null if the column accepts it.
    """

    column: str
    reasons: pa.Array


@dataclass(frozen=True)
class CheckedBatch:
    """A batch after validation.

    Args:
      rows: Typed rows in the table's columns, rejected ones included.
      verdicts: Of the columns that reject a row, in the order of the schema.
    """

    rows: pa.Table
    verdicts: list[ColumnVerdicts]

    @property
    def is_clean(self) -> bool:
        """Whether no row is rejected."""
        return not self.verdicts

    def good_rows(self) -> pa.Table:
        """Returns the rows that no column rejects."""
        if self.is_clean:
            return self.rows
        good = pc.is_null(self.verdicts[0].reasons)
        for other in self.verdicts[1:]:
            good = pc.and_(good, pc.is_null(other.reasons))
        return self.rows.filter(good)


def check(kind: Kind, cells: Cells, rules: Rules) -> CheckedBatch:
    """Parses every column, then applies the rules between columns."""
    stored: dict[str, pa.Array] = {}
    verdicts: list[ColumnVerdicts] = []
    for column in kind.columns:
        if column.name not in cells:
            continue
        texts = cells[column.name]
        parsed = column.read(texts, rules)
        values, reasons = parsed.values, parsed.reasons
        if texts.null_count and not column.is_nullable:
            reasons = pc.if_else(pc.is_null(texts), "is empty", reasons)
        if column.default is not None:
            values = tuple(pc.fill_null(value, column.default) for value in values)
        if reasons.null_count < len(reasons):
            verdicts.append(ColumnVerdicts(column.name, reasons))
        stored |= zip(column.table_columns, values, strict=True)
    verdicts += _row_rule_verdicts(kind, stored)
    for name, constant in (kind.constants or {}).items():
        stored[name] = pa.repeat(constant, len(next(iter(stored.values()))))
    return CheckedBatch(pa.table(stored), verdicts)


def _row_rule_verdicts(
    kind: Kind, stored: dict[str, pa.Array]
) -> Iterator[ColumnVerdicts]:
    for rule in kind.rules:
        if all(name in stored for name in rule.requires):
            violations = rule.is_broken(*(stored[name] for name in rule.requires))
            if pc.any(violations).as_py():
                nothing = pa.nulls(len(violations), pa.string())
                mask = pc.fill_null(violations, False)
                yield ColumnVerdicts(
                    rule.column, pc.if_else(mask, rule.reason, nothing)
                )


def rejected_rows(checked: CheckedBatch, detail: Detail) -> list[RejectedRow]:
    """Returns every rejected row once, with the first column that rejects it."""
    rejected: dict[int, RejectedRow] = {}
    for verdict in checked.verdicts:
        cells = detail.cells[verdict.column]
        for at in pc.indices_nonzero(pc.is_valid(verdict.reasons)).to_pylist():
            if at not in rejected:
                rejected[at] = RejectedRow(
                    line=detail.lines[at],
                    column_name=verdict.column,
                    value=_value_text(cells[at]),
                    reason=verdict.reasons[at].as_py(),
                    raw=detail.raw(at),
                )
    return [*detail.rejected, *rejected.values()]


def _value_text(cell: Any) -> str:
    return cell_text(cell) if cell.is_valid else ""
