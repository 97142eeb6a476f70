"""Suggests a mapping of unknown columns, for the message that refuses a file.

The suggestion is --column options to copy; no file is loaded by it.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.ingest.file_schemas import Kind

CERTAIN, LIKELY = 2, 1


@dataclass(frozen=True)
class NameHints:
    """Words in a column name that suggest a column of the schema, or rule it out."""

    certain: frozenset[str]
    likely: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NUMBERED = _words("id number no nr code key")
NAME_HINTS = {
    "order_id": NameHints(
        _words("order trip ride delivery shipment invoice transaction booking"),
        never=_words("date day time name count of at"),
    ),
    "depot_id": NameHints(
        _words("depot base station store shop site hub branch warehouse location"),
        likely=NUMBERED,
        never=_words("name address city date time of"),
    ),
    "ordered_at": NameHints(
        _words("ordered time timestamp datetime created started"),
        likely=_words("start at date"),
        never=_words("end ended duration"),
    ),
    "date": NameHints(_words("date day"), never=_words("end ended time")),
    "orders": NameHints(
        _words("orders trips rides deliveries shipments sales entries visits"),
        likely=_words("count quantity volume number total"),
        never=_words("date day time name id"),
    ),
}


def suggest(header: Sequence[str], kinds: Sequence[Kind]) -> tuple[Kind, str] | None:
    """Suggests the most likely kind of a header, and the --column options for it.

    Args:
      header: Column names of the file.
      kinds: Candidates.

    Returns:
      The kind and the options; None if every kind lacks a name for one of its columns.
    """
    guesses = [(kind, _assigned(header, kind)) for kind in kinds]
    complete = [(kind, columns) for kind, columns in guesses if columns is not None]
    if not complete:
        return None
    kind, columns = max(complete, key=lambda guess: _total(guess[1]))
    flags = [f"--column {name}={shlex.quote(at)}" for name, at in columns.items()]
    return kind, " ".join(flags)


def _assigned(header: Sequence[str], kind: Kind) -> dict[str, str] | None:
    """Assigns a name of the header to every required column, none twice."""
    columns: dict[str, str] = {}
    for column in kind.wanted:
        unused = [
            cell.strip() for cell in header if cell.strip() not in columns.values()
        ]
        best = max(unused, key=lambda cell: _score(column, cell), default="")
        if _score(column, best) < CERTAIN:
            return None
        columns[column] = best
    return columns


def _total(columns: dict[str, str]) -> float:
    """Returns the mean score, comparable between kinds of few and of many columns."""
    return sum(_score(*pair) for pair in columns.items()) / len(columns)


def _score(column: str, cell: str) -> int:
    """Returns how strongly a name suggests a column; 0 if one of its words rules it out."""
    if column not in NAME_HINTS:
        return 0
    hints = NAME_HINTS[column]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cell)
    words = set(re.findall(r"[a-z]+", spaced.casefold()))
    if words & hints.never:
        return 0
    certain, likely = len(words & hints.certain), len(words & hints.likely)
    return CERTAIN * certain + LIKELY * likely
