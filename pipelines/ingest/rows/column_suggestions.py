"""Suggests --column options for a file of unknown column names, to be copied."""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from pipelines.ingest.rows.file_schemas import FileSchema

CERTAIN, LIKELY = 2, 1


class NameHints(NamedTuple):
    """Words in a column name that suggest a column of the schema, or rule it out."""

    certain: str
    likely: str = ""
    never: str = ""


NAME_HINTS = {
    "order_id": NameHints(
        "order trip ride delivery shipment invoice transaction booking",
        never="date day time name count of at",
    ),
    "depot_id": NameHints(
        "depot base station store shop site hub branch warehouse location",
        likely="id number no nr code key",
        never="name address city date time of",
    ),
    "ordered_at": NameHints(
        "ordered time timestamp datetime created started",
        likely="start at date",
        never="end ended duration",
    ),
    "date": NameHints("date day", never="end ended time"),
    "orders": NameHints(
        "orders trips rides deliveries shipments sales entries visits",
        likely="count quantity volume number total",
        never="date day time name id",
    ),
}


def suggest(
    header: Sequence[str], schemas: Sequence[FileSchema]
) -> tuple[FileSchema, str] | None:
    """Suggests the most likely kind of a header, and the --column options for it.

    Returns:
      The schema of the kind and the options; None if every kind lacks a name for one of its columns.
    """
    candidates = []
    for schema in schemas:
        columns = _assigned(header, schema)
        if columns is not None:
            # The mean, comparable between kinds of few and of many columns.
            score = sum(_score(*pair) for pair in columns.items()) / len(columns)
            candidates.append((score, schema, columns))
    if not candidates:
        return None
    _, schema, columns = max(candidates, key=lambda candidate: candidate[0])
    flags = [f"--column {name}={shlex.quote(at)}" for name, at in columns.items()]
    return schema, " ".join(flags)


def _assigned(header: Sequence[str], schema: FileSchema) -> dict[str, str] | None:
    """Assigns a name of the header to every required column, none twice."""
    columns: dict[str, str] = {}
    for column in schema.required_columns:
        names = [cell.strip() for cell in header]
        unused = [name for name in names if name not in columns.values()]
        best = max(unused, key=lambda cell: _score(column, cell), default="")
        if _score(column, best) < CERTAIN:
            return None
        columns[column] = best
    return columns


def _score(column: str, cell: str) -> int:
    """Returns how strongly a name suggests a column; 0 if one of its words rules it out."""
    hints = NAME_HINTS.get(column)
    if hints is None:
        return 0
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cell)
    words = set(re.findall(r"[a-z]+", spaced.casefold()))
    if words.intersection(hints.never.split()):
        return 0
    certain = len(words.intersection(hints.certain.split()))
    likely = len(words.intersection(hints.likely.split()))
    return CERTAIN * certain + LIKELY * likely
