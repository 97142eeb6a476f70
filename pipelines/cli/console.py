"""What the commands print: people read stderr, machines read stdout.

The only module of the program that prints.
"""

import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

people = Console(stderr=True, highlight=False, soft_wrap=True)
machine = Console(highlight=False, soft_wrap=True)
# A table that goes into a file or a pipe is not cut to a terminal's width.
FILE_WIDTH = 200
if not machine.is_terminal:
    machine.width = FILE_WIDTH


def say(text: str) -> None:
    """Tells a person something."""
    people.print(text, markup=False)


def show_json(value: object) -> None:
    """Prints one JSON value for a machine; NaN does not exist there and becomes null."""
    sys.stdout.write(json.dumps(_without_nan(value), default=str, indent=1) + "\n")
    sys.stdout.flush()


def show_csv(rows: Sequence[Mapping[str, object]]) -> None:
    """Prints rows with the same keys as CSV, under a header."""
    table = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [])
    table.writeheader()
    table.writerows(rows)
    sys.stdout.flush()


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_nan(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(each) for each in value]
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN alone
        return None
    return value


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Prints a table; numbers stand to the right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for position, name in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[position]) for row in rows)
        table.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    machine.print(table)
    # What is said next goes to stderr, and must not overtake the table's last line.
    sys.stdout.flush()


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, (int, float))


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@contextmanager
def progress(
    label: str, total: float | None, done: ProgressColumn | None = None
) -> Iterator[Progress]:
    """A bar for long work, on a terminal only; the task's id is 0.

    Args:
      label: What is being done.
      total: Units of work in all; None where it is not known.
      done: Says how much of it is done; a count without.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        done or MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=people,
        transient=True,
        disable=not people.is_terminal,
    )
    with bar:
        bar.add_task(label, total=total)
        yield bar
