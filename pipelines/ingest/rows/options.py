"""Options for reading files, from the call and from the file's source in harbor.toml."""

import codecs
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from forecaster.errors import BadInputError, RefusedFileError
from pipelines.ingest.rows.file_schemas import SCHEMAS, column_names
from pipelines.ingest.rows.parsing import THOUSANDS_SEPARATOR
from pipelines.ingest.sources.files import Source
from pipelines.settings.ingest import InvalidSource, SourceSettings

UTF_8 = "utf-8"
DEFAULT_SOURCE = "default"
"""Source of files for which no `[sources.NAME]` is given or matches."""
OF_CALL_OR_SOURCE = (
    "kind", "date_format", "encoding", "decimal", "separator", "force",
)  # fmt: skip

Sources = Mapping[str, SourceSettings]


@dataclass(frozen=True)
class FileOptions:
    """Options for reading a file; those that are None are detected, except the encoding.

    Args:
      kind: One of depots, orders, daily, events, signals.
      columns: The file's column names, by the schema's column names.
      date_format: Format of dates that are not ISO 8601, for strptime: `%m/%d/%Y`.
      encoding: Encoding of text files; None is UTF-8.
      decimal: Decimal mark of numbers that are text; the other mark separates thousands.
      separator: Separator of the cells of text files.
      source: Name in `[sources.NAME]`; by default the source whose pattern matches the file.
      id_namespace: Namespace in which order ids are unique; '' for files without a source.
      force: Whether to load a file although it moves many stored orders to another depot or
        day, or most of its rows share their order id with another row.

    Raises:
      BadInputError: an option is invalid.
    """

    kind: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    date_format: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    separator: str | None = None
    source: str | None = None
    id_namespace: str = ""
    force: bool = False

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in SCHEMAS:
            raise BadInputError(
                f"kind is {self.kind!r}, but must be one of {', '.join(SCHEMAS)}."
            )
        known = column_names(self.kind)
        if unknown := [name for name in self.columns if name not in known]:
            raise BadInputError(
                f"--column names {', '.join(unknown)}, which no {self.kind or 'kind of'} "
                f"file has. The name before the = is one of {', '.join(known)}."
            )
        if self.date_format is not None and not _is_whole_date(self.date_format):
            raise BadInputError(
                f"date_format is {self.date_format!r}, but must hold a day, a month and a "
                "year, as in %m/%d/%Y or %d/%m/%Y."
            )
        try:
            "".encode(self.encoding or UTF_8)
        except LookupError:
            raise BadInputError(
                f"encoding is {self.encoding!r}, which is not a known encoding such as "
                "utf-8, cp1252 or latin-1."
            ) from None
        if self.decimal not in (None, *THOUSANDS_SEPARATOR):
            raise BadInputError(f"decimal is {self.decimal!r}, but must be . or ,.")

    @property
    def codec(self) -> str:
        """Canonical name of the encoding."""
        return codecs.lookup(self.encoding or UTF_8).name

    def fingerprint(self, kind: str, columns: Mapping[str, str]) -> str:
        """Returns the sha256 of every option that changes how the same bytes are read."""
        parts = [
            kind,
            dict(columns),
            self.date_format,
            self.codec,
            self.decimal,
            self.separator,
            self.id_namespace if "id_namespace" in SCHEMAS[kind].key else None,
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _is_whole_date(date_format: str) -> bool:
    sample = datetime(2001, 11, 23)  # noqa: DTZ001 - wall-clock time, as files have it
    try:
        back = datetime.strptime(sample.strftime(date_format), date_format)  # noqa: DTZ007
    except (ValueError, re.error):  # a directive occurs twice
        return False
    return back.date() == sample.date()


def problems_of_sources(sources: Sources) -> list[str]:
    """Returns a sentence for each invalid source."""
    problems = []
    for name in sources:
        try:
            options_of_source(name, FileOptions(), sources)
        except BadInputError as error:
            problems.append(str(error))
    return problems


def options_of_file(
    file: Source, overrides: FileOptions, sources: Sources
) -> FileOptions:
    """Returns the options of a file, with defaults from the given source or the one that matches.

    Raises:
      RefusedFileError: several sources match the file; its source is invalid or not in
        harbor.toml; or none matches, and an invalid source has no readable pattern.
    """
    # A copy, of a file in an archive or at a URL, lacks the folders of its address.
    paths = {PurePosixPath(file.path), PurePosixPath(file.address)}
    matches = [
        name
        for name, defaults in sources.items()
        if defaults.pattern and any(path.match(defaults.pattern) for path in paths)
    ]
    if len(matches) > 1 and overrides.source is None:
        raise RefusedFileError(
            f"{file.name} fits the patterns of {' and '.join(matches)} in harbor.toml, but can be "
            "of one source only. Make the patterns differ, or pass --source."
        )
    without_pattern = [
        name
        for name, defaults in sources.items()
        if isinstance(defaults, InvalidSource) and not defaults.pattern
    ]
    names = [overrides.source] if overrides.source else [*matches, *without_pattern]
    try:
        return options_of_source(next(iter(names), DEFAULT_SOURCE), overrides, sources)
    except BadInputError as error:
        raise RefusedFileError(str(error)) from None


def options_of_source(
    name: str, overrides: FileOptions, sources: Sources
) -> FileOptions:
    """Returns the options of a source, with those of the call taking precedence.

    Raises:
      BadInputError: the source is not in harbor.toml, or is invalid.
    """
    if name not in sources and name != DEFAULT_SOURCE:
        there = f"only {', '.join(sources)}" if sources else "no sources"
        raise BadInputError(
            f"The source is {name!r}, but harbor.toml has {there}. Add [sources.{name}] to "
            "it, or name another."
        )
    defaults = sources.get(name, SourceSettings())
    if isinstance(defaults, InvalidSource):
        raise BadInputError(f"{defaults.problem}. Correct it in harbor.toml.")
    id_namespace = defaults.id_namespace
    if id_namespace is None:
        id_namespace = "" if name == DEFAULT_SOURCE else name
    try:
        return FileOptions(
            columns={**defaults.columns, **overrides.columns},
            source=name,
            id_namespace=id_namespace,
            **{
                option: getattr(overrides, option) or getattr(defaults, option)
                for option in OF_CALL_OR_SOURCE
            },
        )
    except BadInputError as error:
        raise BadInputError(f"[sources.{name}] in harbor.toml: {error}") from None
