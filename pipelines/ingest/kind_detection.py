"""Which kind of file a header belongs to, and where its columns stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forecaster.errors import RefusedFileError
from pipelines.ingest import column_suggestions
from pipelines.ingest.file_schemas import KINDS, Kind
from pipelines.ingest.report import FileOptions

MOST_NAMES_TOLD = 12


@dataclass(frozen=True)
class Plan:
    """How one file is read.

    Args:
      kind: What it holds.
      positions: Of the contract's columns among the file's.
      header: The file's own names, in order.
    """

    kind: Kind
    positions: Mapping[str, int]
    header: tuple[str, ...]

    @property
    def ignored(self) -> list[str]:
        """Names in the file that are not read."""
        used = set(self.positions.values())
        return [name for at, name in enumerate(self.header) if name and at not in used]

    @property
    def stored(self) -> list[str]:
        """Columns of the table that such a file fills."""
        filled = [
            name
            for column in self.kind.columns
            if column.name in self.positions
            for name in column.stores
        ]
        return [*filled, *(self.kind.constants or {})]

    @property
    def names(self) -> dict[str, str]:
        """From the contract's names to the file's own."""
        return {name: self.header[at] for name, at in self.positions.items()}


def tidy_name(name: str) -> str:
    """Names are compared without regard to case and the blanks around them."""
    return name.strip().casefold()


def places(
    header: Sequence[str], kind: Kind, options: FileOptions
) -> dict[str, list[int]]:
    """Where each column of a kind stands: under the name it was mapped to, or its own."""
    found: dict[str, list[int]] = {}
    for column in kind.columns:
        if at := _positions(header, options.columns.get(column.name, column.name)):
            found[column.name] = at
    mapped = {
        at
        for name, positions in found.items()
        if name in options.columns
        for at in positions
    }
    return {
        name: positions
        for name, positions in found.items()
        if name in options.columns or not mapped.intersection(positions)
    }


def _positions(header: Sequence[str], name: str) -> list[int]:
    return [at for at, cell in enumerate(header) if tidy_name(cell) == tidy_name(name)]


def fitting(header: Sequence[str], options: FileOptions) -> list[Kind]:
    """Kinds whose columns are all there."""
    return [
        kind
        for kind in _candidates(options)
        if set(kind.wanted) <= places(header, kind, options).keys()
    ]


def match_score(header: Sequence[str], options: FileOptions) -> int:
    """How many columns of the best kind a line of cells names."""
    return max(len(places(header, kind, options)) for kind in _candidates(options))


def recognise(header: Sequence[str], options: FileOptions, name: str) -> Plan:
    """Decides what a file is.

    Args:
      header: Its column names.
      options: What was said about it.
      name: Of the file, for messages.

    Raises:
      RefusedFileError: it lacks a column, is of no kind or of several, or has a column
        twice.
    """
    kinds = fitting(header, options)
    if not kinds:
        raise RefusedFileError(_nothing_fits(header, options, name))
    if len(kinds) > 1:
        several = " or ".join(kind.name for kind in kinds)
        raise RefusedFileError(
            f"{name} could be {several} (found: {_listed(header)}). {_wants(kinds)} Say "
            f"which with --kind {kinds[0].name}."
        )
    found = places(header, kinds[0], options)
    mapped = [
        column.name for column in kinds[0].columns if column.name in options.columns
    ]
    if gone := [column for column in mapped if column not in found]:
        raise RefusedFileError(_lacks(header, options, name, gone))
    for column, positions in found.items():
        if len(positions) > 1:
            raise RefusedFileError(
                f"{name} has the column '{header[positions[0]]}' {len(positions)} times, "
                f"and {column} can be only one of them. Rename the others."
            )
    only = {column: positions[0] for column, positions in found.items()}
    return Plan(kinds[0], only, tuple(cell.strip() for cell in header))


def _candidates(options: FileOptions) -> list[Kind]:
    return [KINDS[options.kind]] if options.kind else list(KINDS.values())


def _nothing_fits(header: Sequence[str], options: FileOptions, name: str) -> str:
    missing = {
        kind.name: [
            column
            for column in kind.wanted
            if column not in places(header, kind, options)
        ]
        for kind in _candidates(options)
    }
    least = min(len(columns) for columns in missing.values())
    closest = [kind for kind, columns in missing.items() if len(columns) == least]
    lacks = missing[closest[0]]
    if options.kind or (len(closest) == 1 and least == 1):
        return _lacks(header, options, name, lacks)
    kinds = [KINDS[kind] for kind in missing]
    return (
        f"{name} is of no kind that is known (found: {_listed(header)}). {_wants(kinds)} "
        f"Rename its columns or say which they are{_as_in(header, kinds, lacks)}."
    )


def _as_in(header: Sequence[str], kinds: Sequence[Kind], lacks: list[str]) -> str:
    """Options to copy where the names tell what they may mean, a pattern elsewhere."""
    guess = column_suggestions.suggest(header, kinds)
    if guess is None:
        return ", as in " + " ".join(f"--column {column}=NAME" for column in lacks)
    kind, flags = guess
    return f"; if it is {kind.name}: {flags}"


def _lacks(
    header: Sequence[str], options: FileOptions, name: str, lacks: list[str]
) -> str:
    quoted = ", ".join(f"'{options.columns.get(column, column)}'" for column in lacks)
    flags = " ".join(f"--column {column}=NAME" for column in lacks)
    some = "column" if len(lacks) == 1 else "columns"
    it = "it" if len(lacks) == 1 else "them"
    return (
        f"{name} has no {some} {quoted} (found: {_listed(header)}). Rename {it} or pass "
        f"{flags}."
    )


def _wants(kinds: Sequence[Kind]) -> str:
    return (
        "; ".join(f"{kind.name} wants {', '.join(kind.wanted)}" for kind in kinds) + "."
    )


def _listed(header: Sequence[str]) -> str:
    names = [cell.strip() for cell in header if cell.strip()]
    more = len(names) - MOST_NAMES_TOLD
    told = ", ".join(names[:MOST_NAMES_TOLD]) or "no names"
    return f"{told} and {more} more" if more > 0 else told
