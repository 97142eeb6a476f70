"""Prints messages on stderr, and results on stdout; no other module prints.

Everything is plain text: Rich's markup is not interpreted, and control characters are
escaped.
"""

import csv
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from forecaster.errors import shortened_list

stderr_console = Console(stderr=True, highlight=False, soft_wrap=True)
stdout_console = Console(highlight=False, soft_wrap=True)
# A table that goes into a file or a pipe is not cut to a terminal's width.
FILE_WIDTH = 200
if not stdout_console.is_terminal:
    stdout_console.width = FILE_WIDTH


# Control characters, line separators, bidirectional marks, and the surrogates that stand for
# bytes of file names that are not UTF-8.
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Returns the text with each control character as its Python escape sequence."""
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def plain(text: str) -> Text:
    """Returns Rich text without markup; control characters except line ends are escaped."""
    return Text("\n".join(map(visible, text.split("\n"))))


def echo(text: str) -> None:
    """Prints a message on stderr; control characters except line ends are escaped."""
    stderr_console.print(plain(text))


def show_line(text: str) -> None:
    """Prints one line on stdout."""
    stdout_console.print(Text(visible(text)))


def show_json(value: object) -> None:
    """Prints a value as JSON on stdout; NaN, which JSON lacks, becomes null.

    Dates and times are in ISO 8601; other types that JSON lacks are converted by `str`.
    """
    text = json.dumps(_without_nan(value), default=_as_text, indent=1)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def show_result(result: object, sentence: str, as_json: bool) -> None:
    """Prints a result as JSON on stdout, or as a sentence on stderr."""
    if as_json:
        show_json(result)
    else:
        echo(sentence)


def show_csv(rows: Sequence[Mapping[Any, object]]) -> None:
    """Prints rows with equal keys as CSV with a header; text that resembles a formula is quoted."""
    from pipelines.schema.spreadsheet_cells import safe_cell

    table = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [])
    table.writeheader()
    table.writerows(
        {name: safe_cell(value) for name, value in row.items()} for row in rows
    )
    sys.stdout.flush()


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_nan(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(each) for each in value]
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - true of NaN only
        return None
    return value


def not_started_depots(depot_ids: Sequence[str]) -> str:
    """Lists depots that forecasts leave out, with the reason and advice."""
    return (
        f"{shortened_list(depot_ids)}; they have no orders yet and no opened_on. If a "
        "depot will open, set its opened_on in a depots file, and load that with 'harbor ingest'"
    )


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Prints a table on stdout; numbers are right-aligned."""
    heading = Text(visible(title), style="table.title")
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False)
    for position, name in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[position]) for row in rows)
        heading = Text(visible(name))
        table.add_column(heading, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text(visible(_cell(value))) for value in row))
    stdout_console.print(table)
    # What is printed next goes to stderr, and must not overtake the table's last line.
    sys.stdout.flush()


def show_list(
    title: str,
    records: Sequence[Any],
    row: Callable[[Any], Mapping[str, object]],
    *,
    as_json: bool,
    empty: str,
    n_all: int,
    noun: str = "rows",
) -> None:
    """Prints dataclass records as JSON with all their fields, or as a table.

    `row` returns the cells of a record by column; `empty` is the message if there are no records.
    `n_all` is the number of records without the limit.
    """
    if as_json:
        show_json([asdict(record) for record in records])
    elif not records:
        echo(empty)
    else:
        rows = [row(record) for record in records]
        show_table(title, list(rows[0]), [list(each.values()) for each in rows])
        if n_all > len(records):
            echo(f"{len(records)} of {n_all:,} {noun}; show more with --limit.")


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, (int, float))


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


class _Label(ProgressColumn):
    """The label of a progress bar, as plain text."""

    def render(self, task: Task) -> Text:
        return Text(visible(task.description))


@contextmanager
def progress(
    label: str, total: float | None, in_bytes: bool = False
) -> Iterator[Progress]:
    """Shows a progress bar, on a terminal only; the id of its task is 0.

    The total is in bytes or in other units of work; None if unknown.
    """
    bar = Progress(
        _Label(),
        BarColumn(),
        DownloadColumn(binary_units=True) if in_bytes else MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=stderr_console,
        transient=True,
        disable=not stderr_console.is_terminal,
    )
    with bar:
        bar.add_task(label, total=total)
        yield bar
