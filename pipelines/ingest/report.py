"""Options of a load, and its report."""

import codecs
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from forecaster.errors import BadInputError
from pipelines.ingest.file_schemas import KINDS, column_names
from pipelines.ingest.numbers import MARKS

UTF_8 = "utf-8"
DEFAULT_SOURCE = "default"
"""Source of files for which no `[sources.NAME]` is given or matches."""

State = Literal["loaded", "unchanged", "refused", "waiting"]


@dataclass(frozen=True)
class FileOptions:
    """How files are read; options that are not given are detected.

    Args:
      kind: One of depots, orders, daily, events.
      columns: From the schema's column names to those of the file.
      date_format: Format of dates that are not ISO 8601, for strptime: `%m/%d/%Y`.
      encoding: Encoding of text files; UTF-8 by default.
      decimal: Decimal mark of numbers that are text; the other mark separates thousands.
      separator: Separator of the cells of text files.
      source: Name in `[sources.NAME]`; by default the one whose pattern matches the file.
      id_namespace: Namespace in which order ids are unique; '' for files of no source.
      force: Whether to load a file although it moves many orders, or most of its rows
        replace each other.

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
        """Validates the options."""
        if self.kind is not None and self.kind not in KINDS:
            raise BadInputError(
                f"kind is {self.kind!r}, but must be one of {', '.join(KINDS)}."
            )
        known = column_names(self.kind)
        unknown = [name for name in self.columns if name not in known]
        if unknown:
            raise BadInputError(
                f"--column names {', '.join(unknown)}, which no {self.kind or 'kind of'} "
                f"file has. The name before the = is one of {', '.join(known)}."
            )
        _check_date_format(self.date_format)
        _check_encoding(self.encoding or UTF_8)
        if self.decimal not in (None, *MARKS):
            raise BadInputError(
                f"decimal is {self.decimal!r}, but the mark before decimals is . or ,."
            )

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
            self.id_namespace if "id_namespace" in KINDS[kind].key else None,
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _check_date_format(date_format: str | None) -> None:
    if date_format is None:
        return
    sample = datetime(2001, 11, 23)  # noqa: DTZ001 - wall-clock time, as files have it
    try:
        back = datetime.strptime(sample.strftime(date_format), date_format)  # noqa: DTZ007
    except ValueError:
        back = None
    if back is None or back.date() != sample.date():
        raise BadInputError(
            f"date_format is {date_format!r}, but must hold a day, a month and a year, as "
            "in %m/%d/%Y or %d/%m/%Y."
        )


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
    except LookupError:
        raise BadInputError(
            f"encoding is {encoding!r}, which is none that is known, such as utf-8, "
            "cp1252 or latin-1."
        ) from None


@dataclass(frozen=True)
class Counts:
    """Numbers of rows that changed the database, were there already, or were rejected."""

    accepted: int = 0
    unchanged: int = 0
    rejected: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """Adds field by field."""
        return Counts(
            self.accepted + other.accepted,
            self.unchanged + other.unchanged,
            self.rejected + other.rejected,
        )


@dataclass(frozen=True)
class FileReport:
    """Outcome of one file.

    Args:
      path: Path or URL as given.
      kind: Kind of the file; None if it could not be detected.
      state: `unchanged` where the same bytes, read alike, are in the ledger already;
        `waiting` where the file is still being written.
      counts: Counts of its rows that are not blank.
      blank: Number of rows without anything in any cell; they are skipped.
      notes: Sentences on what was ignored, assumed or created.
      error: The reason if it was refused.
    """

    path: str
    kind: str | None
    state: State
    counts: Counts = Counts()
    blank: int = 0
    notes: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class IngestReport:
    """Outcome of every file of one call, in order.

    Args:
      files: One report per file.
      notes: Sentences that do not concern a single file.
    """

    files: Sequence[FileReport]
    notes: tuple[str, ...] = ()

    @property
    def refused(self) -> list[FileReport]:
        """Reports of refused files."""
        return [file for file in self.files if file.state == "refused"]

    @property
    def is_nothing_new(self) -> bool:
        """Whether no file was loaded or refused."""
        return all(file.state in ("unchanged", "waiting") for file in self.files)

    @property
    def waiting(self) -> list[FileReport]:
        """Reports of files that are still being written."""
        return [file for file in self.files if file.state == "waiting"]

    def counts(self, kind: str) -> Counts:
        """Sums the counts of all files of one kind."""
        return sum(
            (file.counts for file in self.files if file.kind == kind), start=Counts()
        )

    def as_json(self) -> dict[str, object]:
        """Returns the object that `harbor ingest --json` prints."""
        totals = {kind: vars(self.counts(kind)) for kind in KINDS}
        return {"files": [_file_as_json(file) for file in self.files], **totals}


def _file_as_json(file: FileReport) -> dict[str, object]:
    row: dict[str, object] = {
        "path": file.path,
        "kind": file.kind,
        "state": file.state,
        **vars(file.counts),
    }
    return row if file.error is None else row | {"error": file.error}
