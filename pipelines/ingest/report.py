"""What is asked of a load, and what it answers."""

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
"""Of files that no `[sources.NAME]` is named for or matches."""

State = Literal["loaded", "unchanged", "refused", "waiting"]


@dataclass(frozen=True)
class FileOptions:
    """How files are to be read; what is not given is recognised.

    Args:
      kind: One of depots, orders, daily, events.
      columns: From the contract's column name to the file's own.
      date_format: Of dates that are not ISO 8601, as strptime has it: `%m/%d/%Y`.
      encoding: Of text files; UTF-8 without it.
      decimal: The mark before the decimals of numbers that are text; the other one sets
        thousands apart.
      separator: Between the cells of text files.
      source: Of `[sources.NAME]`; the one whose pattern a file fits where not given.
      id_namespace: In which the ids of orders are unique; '' for files of no source.
      force: Takes a file also that moves many orders, or most of whose rows replace each
        other.

    Raises:
      BadInputError: one of them is unknown.
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
        """Checks at the door."""
        if self.kind is not None and self.kind not in KINDS:
            raise BadInputError(
                f"kind is {self.kind!r}, but must be one of {', '.join(KINDS)}."
            )
        known = column_names(self.kind)
        strange = [name for name in self.columns if name not in known]
        if strange:
            raise BadInputError(
                f"--column names {', '.join(strange)}, which no {self.kind or 'kind of'} "
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
        """The encoding's one name."""
        return codecs.lookup(self.encoding or UTF_8).name

    def fingerprint(self, kind: str, columns: Mapping[str, str]) -> str:
        """sha256 of everything that decides what the same bytes mean."""
        said = [
            kind,
            dict(columns),
            self.date_format,
            self.codec,
            self.decimal,
            self.separator,
            self.id_namespace if "id_namespace" in KINDS[kind].key else None,
        ]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


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
    """Rows that changed the database, that it had already, and that it refused."""

    accepted: int = 0
    unchanged: int = 0
    rejected: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """Adds each of the three."""
        return Counts(
            self.accepted + other.accepted,
            self.unchanged + other.unchanged,
            self.rejected + other.rejected,
        )


@dataclass(frozen=True)
class FileReport:
    """What became of one file.

    Args:
      path: As it was found.
      kind: Null where it could not be told.
      state: `unchanged` where the same bytes, read alike, are in the ledger already;
        `waiting` where the file is still being written.
      counts: Of its rows that are not blank.
      blank: Rows without anything in any cell; they are skipped.
      notes: Sentences for people: what was ignored, assumed or created.
      error: Why it was refused.
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
    """What became of every file of one call, in the order they were taken.

    Args:
      files: One report each.
      notes: Sentences for people that are not of one file.
    """

    files: Sequence[FileReport]
    notes: tuple[str, ...] = ()

    @property
    def refused(self) -> list[FileReport]:
        """Files of which nothing was loaded."""
        return [file for file in self.files if file.state == "refused"]

    @property
    def is_nothing_new(self) -> bool:
        """Whether every file was there already or is not whole yet, or there was none."""
        return all(file.state in ("unchanged", "waiting") for file in self.files)

    @property
    def waiting(self) -> list[FileReport]:
        """Files that are still being written."""
        return [file for file in self.files if file.state == "waiting"]

    def counts(self, kind: str) -> Counts:
        """Rows of all files of one kind."""
        return sum(
            (file.counts for file in self.files if file.kind == kind), start=Counts()
        )

    def as_json(self) -> dict[str, object]:
        """The object that `harbor ingest --json` prints."""
        totals = {kind: vars(self.counts(kind)) for kind in KINDS}
        return {"files": [_file_as_json(file) for file in self.files], **totals}


def _file_as_json(file: FileReport) -> dict[str, object]:
    told: dict[str, object] = {
        "path": file.path,
        "kind": file.kind,
        "state": file.state,
        **vars(file.counts),
    }
    return told if file.error is None else told | {"error": file.error}
