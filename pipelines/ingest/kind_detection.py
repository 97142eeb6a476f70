"""Detects the kind of a file from its header, and the positions of its columns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from forecaster.errors import RefusedFileError
from pipelines.ingest import column_suggestions
from pipelines.ingest.file_schemas import KINDS, Kind
from pipelines.ingest.options import FileOptions

MAX_NAMES_SHOWN = 12


@dataclass(frozen=True)
class Plan:
    """The kind of one file and the mapping of its columns.

    Args:
      kind: Its schema.
      positions: From the schema's column names to positions in the file's header.
      header: Column names of the file, in order.
    """

    kind: Kind
    positions: Mapping[str, int]
    header: tuple[str, ...]

    @property
    def ignored(self) -> list[str]:
        """Column names of the file that are not read."""
        used = set(self.positions.values())
        return [name for at, name in enumerate(self.header) if name and at not in used]

    @property
    def stored(self) -> list[str]:
        """Columns of the database table that the file fills."""
        filled = [
            name
            for column in self.kind.columns
            if column.name in self.positions
            for name in column.table_columns
        ]
        return [*filled, *(self.kind.constants or {})]

    @property
    def names(self) -> dict[str, str]:
        """From the schema's column names to the file's."""
        return {name: self.header[at] for name, at in self.positions.items()}

    def require_used(self, unused_columns: Collection[str], name: str) -> None:
        """Refuses a file where --column names columns that its kind does not have.

        Args:
          unused_columns: Columns given by --column that no file of the load has.
          name: File name, for messages.

        Raises:
          RefusedFileError: there are such columns.
        """
        if unused_columns:
            kind = self.kind.name
            raise RefusedFileError(
                f"{name} is read as {kind}, and --column names "
                f"{', '.join(sorted(unused_columns))}, which no file of {kind} has (found: "
                f"{shortened_list(self.header)}). {_required_columns([self.kind])} Leave that "
                "--column out, or say with --kind what the file is."
            )


def tidy_name(name: str) -> str:
    """Returns a column name without surrounding blanks, in one letter case."""
    return name.strip().casefold()


def column_positions(
    header: Sequence[str], kind: Kind, options: FileOptions
) -> dict[str, list[int]]:
    """Returns the positions of each column of a kind: by its mapped name, or its own."""
    positions: dict[str, list[int]] = {}
    for column in kind.columns:
        if at := _positions(header, options.columns.get(column.name, column.name)):
            positions[column.name] = at
    mapped = {
        at
        for name, positions in positions.items()
        if name in options.columns
        for at in positions
    }
    return {
        name: positions
        for name, positions in positions.items()
        if name in options.columns or not mapped.intersection(positions)
    }


def _positions(header: Sequence[str], name: str) -> list[int]:
    return [at for at, cell in enumerate(header) if tidy_name(cell) == tidy_name(name)]


def matching_kinds(header: Sequence[str], options: FileOptions) -> list[Kind]:
    """Returns the kinds whose required columns are all in the header."""
    return [
        kind
        for kind in _candidates(options)
        if set(kind.wanted) <= column_positions(header, kind, options).keys()
    ]


def match_score(header: Sequence[str], options: FileOptions) -> int:
    """Returns how many columns of the best-matching kind the header has."""
    return max(
        len(column_positions(header, kind, options)) for kind in _candidates(options)
    )


def recognise(header: Sequence[str], options: FileOptions, name: str) -> Plan:
    """Detects the kind of a file, or refuses the file.

    Args:
      header: Its column names.
      options: Column mapping, and the kind if it is given.
      name: Of the file, for messages.

    Raises:
      RefusedFileError: it lacks a column, is of no kind or of several, or has a column
        twice.
    """
    kinds = matching_kinds(header, options)
    if not kinds:
        raise RefusedFileError(_no_kind_message(header, options, name))
    if len(kinds) > 1:
        several = " or ".join(kind.name for kind in kinds)
        raise RefusedFileError(
            f"{name} could be {several} (found: {shortened_list(header)}). "
            f"{_required_columns(kinds)} Say which with --kind {kinds[0].name}."
        )
    positions = column_positions(header, kinds[0], options)
    mapped = [
        column.name for column in kinds[0].columns if column.name in options.columns
    ]
    if missing := [column for column in mapped if column not in positions]:
        raise RefusedFileError(_missing_columns_message(header, options, name, missing))
    for column, matches in positions.items():
        if len(matches) > 1:
            raise RefusedFileError(
                f"{name} has the column '{header[matches[0]]}' {len(matches)} times, "
                f"and {column} can be only one of them. Rename the others."
            )
    single = {column: matches[0] for column, matches in positions.items()}
    return Plan(kinds[0], single, tuple(cell.strip() for cell in header))


def _candidates(options: FileOptions) -> list[Kind]:
    return [KINDS[options.kind]] if options.kind else list(KINDS.values())


def _no_kind_message(header: Sequence[str], options: FileOptions, name: str) -> str:
    missing = {
        kind.name: [
            column
            for column in kind.wanted
            if column not in column_positions(header, kind, options)
        ]
        for kind in _candidates(options)
    }
    least = min(len(columns) for columns in missing.values())
    closest = [kind for kind, columns in missing.items() if len(columns) == least]
    lacks = missing[closest[0]]
    if options.kind or (len(closest) == 1 and least == 1):
        return _missing_columns_message(header, options, name, lacks)
    kinds = [KINDS[kind] for kind in missing]
    return (
        f"{name} is of no kind that is known (found: {shortened_list(header)}). {_required_columns(kinds)} "
        f"Rename its columns or say which they are{_suggestion(header, kinds, lacks)}."
    )


def _suggestion(header: Sequence[str], kinds: Sequence[Kind], lacks: list[str]) -> str:
    """Suggests --column options from the names in the header, or a pattern to fill in."""
    guess = column_suggestions.suggest(header, kinds)
    if guess is None:
        return ", as in " + " ".join(f"--column {column}=NAME" for column in lacks)
    kind, flags = guess
    return f"; if it is {kind.name}: {flags}"


def _missing_columns_message(
    header: Sequence[str], options: FileOptions, name: str, lacks: list[str]
) -> str:
    quoted = ", ".join(f"'{options.columns.get(column, column)}'" for column in lacks)
    flags = " ".join(f"--column {column}=NAME" for column in lacks)
    some = "column" if len(lacks) == 1 else "columns"
    it = "it" if len(lacks) == 1 else "them"
    return (
        f"{name} has no {some} {quoted} (found: {shortened_list(header)}). Rename {it} or pass "
        f"{flags}."
    )


def _required_columns(kinds: Sequence[Kind]) -> str:
    return (
        "; ".join(f"{kind.name} wants {', '.join(kind.wanted)}" for kind in kinds) + "."
    )


def shortened_list(names: Sequence[str], most: int = MAX_NAMES_SHOWN) -> str:
    """Returns names for a message, the rest of a long list counted."""
    filled = [name.strip() for name in names if name.strip()]
    more = len(filled) - most
    listed = ", ".join(filled[:most]) or "no names"
    return f"{listed} and {more} more" if more > 0 else listed
