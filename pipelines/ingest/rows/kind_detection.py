"""Detects the kind of a file from its header, and the positions of its columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forecaster.errors import RefusedFileError, shortened_list
from pipelines.ingest.rows.file_schemas import SCHEMAS, FileSchema
from pipelines.ingest.rows.options import FileOptions

MAX_NAMES_SHOWN = 12


@dataclass(frozen=True)
class FileMapping:
    """The schema of one file, and the header position of each schema column."""

    schema: FileSchema
    positions: Mapping[str, int]
    header: tuple[str, ...]

    @property
    def ignored(self) -> list[str]:
        """Column names of the file that are not read."""
        used = set(self.positions.values())
        return [
            name for index, name in enumerate(self.header) if name and index not in used
        ]

    @property
    def stored(self) -> list[str]:
        """Columns of the database table that the file fills."""
        filled = [
            name
            for column in self.schema.columns
            if column.name in self.positions
            for name in column.table_columns
        ]
        return [*filled, *(self.schema.constants or {})]

    @property
    def names(self) -> dict[str, str]:
        """The file's column names, by the schema's column names."""
        return {name: self.header[index] for name, index in self.positions.items()}


def column_positions(
    header: Sequence[str], schema: FileSchema, options: FileOptions
) -> dict[str, list[int]]:
    """Returns the header positions of each schema column, by its mapped name or its own."""
    cells = [_folded(cell) for cell in header]
    names = {
        column.name: _folded(options.columns.get(column.name, column.name))
        for column in schema.columns
    }
    mapped = {name for column, name in names.items() if column in options.columns}
    return {
        column: [index for index, cell in enumerate(cells) if cell == name]
        for column, name in names.items()
        if name in cells and (column in options.columns or name not in mapped)
    }


def _folded(name: str) -> str:
    return name.strip().casefold()


def matching_schemas(header: Sequence[str], options: FileOptions) -> list[FileSchema]:
    """Returns the schemas whose required columns are all in the header."""
    return [
        schema
        for schema in _candidates(options)
        if set(schema.required_columns)
        <= column_positions(header, schema, options).keys()
    ]


def known_names(options: FileOptions) -> frozenset[str]:
    """Returns the lower-case names that the columns of all possible kinds have in a file."""
    return frozenset(
        _folded(options.columns.get(column.name, column.name))
        for schema in _candidates(options)
        for column in schema.columns
    )


def match_score(header: Sequence[str], options: FileOptions) -> int:
    """Returns how many columns of the best-matching schema the header has."""
    return max(
        len(column_positions(header, schema, options))
        for schema in _candidates(options)
    )


def detect_mapping(
    header: Sequence[str], options: FileOptions, name: str
) -> FileMapping:
    """Detects the kind of a file and maps its columns, or refuses the file.

    Raises:
      RefusedFileError: the header fits no kind or several, or a column is missing or occurs
        twice.
    """
    schemas = matching_schemas(header, options)
    if not schemas:
        raise RefusedFileError(_no_kind_message(header, options, name))
    if len(schemas) > 1:
        several = " or ".join(schema.name for schema in schemas)
        raise RefusedFileError(
            f"{name} could be {several} (found: {_names_in(header)}). "
            f"{_required_columns(schemas)} Say which with --kind {schemas[0].name}."
        )
    positions = column_positions(header, schemas[0], options)
    one_of = schemas[0].one_of
    if one_of and not set(one_of) & positions.keys():
        raise RefusedFileError(
            f"{name} has neither a column '{one_of[0]}' nor '{one_of[1]}' (found: "
            f"{_names_in(header)}). Rename the column that has the depots or cities, "
            f"or pass --column {one_of[0]}=NAME."
        )
    mapped = [
        column.name for column in schemas[0].columns if column.name in options.columns
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
    return FileMapping(schemas[0], single, tuple(cell.strip() for cell in header))


def _candidates(options: FileOptions) -> list[FileSchema]:
    return [SCHEMAS[options.kind]] if options.kind else list(SCHEMAS.values())


def _no_kind_message(header: Sequence[str], options: FileOptions, name: str) -> str:
    missing = {
        schema.name: [
            column
            for column in schema.required_columns
            if column not in column_positions(header, schema, options)
        ]
        for schema in _candidates(options)
    }
    least = min(len(columns) for columns in missing.values())
    closest = [kind for kind, columns in missing.items() if len(columns) == least]
    lacks = missing[closest[0]]
    if options.kind or (len(closest) == 1 and least == 1):
        return _missing_columns_message(header, options, name, lacks)
    schemas = [SCHEMAS[kind] for kind in missing]
    told = [f"{kind}: {_column_options(missing[kind])}" for kind in closest[:2]]
    return (
        f"{name} is not of a known kind (found: {_names_in(header)}). {_required_columns(schemas)} "
        f"Rename its columns or say which they are. For {'; for '.join(told)}."
    )


def _missing_columns_message(
    header: Sequence[str], options: FileOptions, name: str, lacks: list[str]
) -> str:
    quoted = ", ".join(f"'{options.columns.get(column, column)}'" for column in lacks)
    some, it = ("column", "it") if len(lacks) == 1 else ("columns", "them")
    return (
        f"{name} has no {some} {quoted} (found: {_names_in(header)}). Rename {it} or pass "
        f"{_column_options(lacks)}."
    )


def _column_options(columns: Sequence[str]) -> str:
    return " ".join(f"--column {column}=NAME" for column in columns)


def _required_columns(schemas: Sequence[FileSchema]) -> str:
    needs = [
        f"{schema.name} needs {', '.join(schema.required_columns)}"
        + (f" and {' or '.join(schema.one_of)}" if schema.one_of else "")
        for schema in schemas
    ]
    return f"{'; '.join(needs)}."


def _names_in(header: Sequence[str]) -> str:
    names = [name.strip() for name in header if name.strip()]
    return shortened_list(names, MAX_NAMES_SHOWN) or "no names"
