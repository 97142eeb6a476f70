"""What a file writes in a way that can be read in two, and what in it proves which."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

import pyarrow as pa

from pipelines.ingest.batches import Cells
from pipelines.ingest.dates import Order, find_order
from pipelines.ingest.file_schemas import Column
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.numbers import DecimalMark, find_decimal
from pipelines.ingest.parsing import Rules
from pipelines.ingest.report import FileOptions


@dataclass(frozen=True)
class Conventions:
    """What was found in a file that nobody had said; None where there is nothing to say."""

    dates: Order | None = None
    numbers: DecimalMark | None = None

    def rules(self, options: FileOptions, today: date) -> Rules:
        """By which the cells of the file are judged: what was said goes first."""
        date_format, decimal = options.date_format, options.decimal
        if date_format is None and self.dates is not None:
            date_format = self.dates.date_format
        if decimal is None and self.numbers is not None:
            decimal = self.numbers.mark
        return Rules(today, date_format, decimal or ".")


def find_conventions(
    batches: Callable[[], Iterator[Cells]],
    plan: Plan,
    options: FileOptions,
    name: str,
    separator: str | None = None,
) -> Conventions:
    """Looks through a file for what was not said about it.

    Args:
      batches: Its cells; called once for dates and once for numbers.
      plan: How it is read.
      options: What was said.
      name: Of the file, for messages.
      separator: Of its cells, where it is text.

    Raises:
      RefusedFileError: nothing in it proves how it is to be read, or both ways are proved.
    """
    order = mark = None
    if options.date_format is None:
        dated = _texts(batches, plan, lambda column: column.is_dated)
        order = find_order(dated, name)
    if options.decimal is None:
        numbers = _texts(batches, plan, lambda column: column.holds == "number")
        mark = find_decimal(numbers, name, separator)
    return Conventions(order, mark)


def _texts(
    batches: Callable[[], Iterator[Cells]],
    plan: Plan,
    is_wanted: Callable[[Column], bool],
) -> Iterator[pa.Array]:
    """Cells of some columns, batch by batch; typed ones say themselves what they are."""
    wanted = [name for name in plan.positions if is_wanted(plan.kind.column(name))]
    if not wanted:
        return
    for cells in batches():
        texts = [cells[name] for name in wanted if pa.types.is_string(cells[name].type)]
        if not texts:
            return
        yield pa.concat_arrays(texts)
