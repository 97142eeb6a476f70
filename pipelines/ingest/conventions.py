"""Detects the date order and the decimal mark of a file, with a proof for each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

import pyarrow as pa

from pipelines.ingest.batches import Cells
from pipelines.ingest.dates import DateOrder, detect_date_order
from pipelines.ingest.file_schemas import Column
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.numbers import DecimalMark, detect_decimal_mark
from pipelines.ingest.parsing import Rules
from pipelines.ingest.report import FileOptions


@dataclass(frozen=True)
class Conventions:
    """Detected conventions of a file; None where options give them or none is needed."""

    dates: DateOrder | None = None
    numbers: DecimalMark | None = None

    def rules(self, options: FileOptions, today: date) -> Rules:
        """Returns the parsing rules: the options first, then what was detected."""
        date_format, decimal = options.date_format, options.decimal
        if date_format is None and self.dates is not None:
            date_format = self.dates.date_format
        if decimal is None and self.numbers is not None:
            decimal = self.numbers.mark
        return Rules(today, date_format, decimal or ".")


def detect_conventions(
    batches: Callable[[], Iterator[Cells]],
    plan: Plan,
    options: FileOptions,
    name: str,
    separator: str | None = None,
) -> Conventions:
    """Scans a file for the conventions that its options do not give.

    Args:
      batches: Returns its cells; called once for dates and once for numbers.
      plan: Kind and columns of the file.
      options: Options of the file.
      name: File name, for messages.
      separator: Separator of its cells, if it is text.

    Raises:
      RefusedFileError: the values of the file prove no convention, or contradict.
    """
    date_order = decimal_mark = None
    if options.date_format is None:
        dated = _texts(batches, plan, lambda column: column.is_dated)
        date_order = detect_date_order(dated, name)
    if options.decimal is None:
        numbers = _texts(batches, plan, lambda column: column.value_type == "number")
        decimal_mark = detect_decimal_mark(numbers, name, separator)
    return Conventions(date_order, decimal_mark)


def _texts(
    batches: Callable[[], Iterator[Cells]],
    plan: Plan,
    is_wanted: Callable[[Column], bool],
) -> Iterator[pa.Array]:
    """Yields the cells of some columns, batch by batch; none of typed columns."""
    wanted = [name for name in plan.positions if is_wanted(plan.kind.column(name))]
    if not wanted:
        return
    for cells in batches():
        texts = [cells[name] for name in wanted if pa.types.is_string(cells[name].type)]
        if not texts:
            return
        yield pa.concat_arrays(texts)
