"""The report of a load: rows counted by file, and notes on what was assumed or ignored."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import date
from typing import Literal

from forecaster.errors import shortened_list
from pipelines.ingest.rows.file_schemas import SCHEMAS
from pipelines.settings.countries import has_calendar

State = Literal["loaded", "unchanged", "refused", "waiting"]


@dataclass(frozen=True)
class Counts:
    """Numbers of rows that changed the database, were there already, or were rejected."""

    accepted: int = 0
    unchanged: int = 0
    rejected: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Counts(*map(sum, pairs))


@dataclass(frozen=True)
class FileReport:
    """Outcome of one file.

    Args:
      kind: Kind of the file; None if it could not be detected.
      state: `unchanged` if the same bytes, read with the same options, are in `files`
        already; `waiting` if the file is still being written.
      counts: Counts of its rows, blank ones excluded.
      partial: Number of its daily counts whose days are not over.
    """

    path: str
    kind: str | None
    state: State
    counts: Counts = Counts()
    notes: tuple[str, ...] = ()
    error: str | None = None
    partial: int = 0

    def as_json(self) -> dict[str, object]:
        """Returns the file's entry in the output of `harbor ingest --json`."""
        row = {"path": self.path, "kind": self.kind, "state": self.state}
        error = {} if self.error is None else {"error": self.error}
        partial = {"partial": self.partial} if self.partial else {}
        return {**row, **vars(self.counts), **partial, **error}


@dataclass(frozen=True)
class IngestReport:
    """Outcome of every file of one call, in order, and notes that concern no single file."""

    files: Sequence[FileReport]
    notes: tuple[str, ...] = ()

    @property
    def refused(self) -> list[FileReport]:
        """Reports of refused files."""
        return [file for file in self.files if file.state == "refused"]

    @property
    def waiting(self) -> list[FileReport]:
        """Reports of files that are still being written."""
        return [file for file in self.files if file.state == "waiting"]

    @property
    def is_nothing_new(self) -> bool:
        """Whether no file was loaded or refused."""
        return all(file.state in ("unchanged", "waiting") for file in self.files)

    def counts(self, kind: str) -> Counts:
        """Sums the counts of all files of one kind."""
        return sum(
            (file.counts for file in self.files if file.kind == kind), start=Counts()
        )

    def as_json(self) -> dict[str, object]:
        """Returns the object that `harbor ingest --json` prints."""
        totals = {kind: vars(self.counts(kind)) for kind in SCHEMAS}
        return {"files": [file.as_json() for file in self.files], **totals}


def depot_notes(n_undescribed: int, unplaced: Sequence[str]) -> Iterator[str]:
    """Yields notes on depots without a description, and on unknown places in events.

    `unplaced` lists the depots and cities that events name but the fleet does not have.
    """
    if n_undescribed:
        one = n_undescribed == 1
        yield (
            f"{'1 depot is' if one else f'{n_undescribed:,} depots are'} known from orders or "
            "counts only, with the fleet's own time zone and no city. Load a depots file "
            f"to describe {'it' if one else 'them'}."
        )
    if unplaced:
        yield (
            "Events name depots or cities that are not in the fleet: "
            f"{shortened_list(unplaced)}. These events have no effect. Correct the name (letter "
            "case counts), or load a depots file that has it."
        )


def calendar_notes(regions: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yields a note per country on subdivisions that have no calendar of their own; skips ''."""
    subdivisions = defaultdict(list)
    for country, subdivision in regions:
        if subdivision and not has_calendar(country, subdivision):
            subdivisions[country].append(f"'{subdivision}'")
    for country, names in subdivisions.items():
        one = len(names) == 1
        yield (
            f"{'Subdivision' if one else 'Subdivisions'} "
            f"{shortened_list(names)} of {country} "
            f"{'has no holidays of its' if one else 'have no holidays of their'} own in "
            f"the calendar; those of {country} are used."
        )


def differing_in_case(depot_ids: Iterable[str], known_ids: Set[str]) -> list[str]:
    """Returns 'B1/b1' for ids that differ only in letter case, if at least one of them is new."""
    new_ids = set(filter(None, depot_ids)) - known_ids
    spellings = defaultdict(list)
    for depot_id in sorted(new_ids | known_ids):
        spellings[depot_id.casefold()].append(depot_id)
    return [
        "/".join(same)
        for same in spellings.values()
        if len(same) > 1 and not new_ids.isdisjoint(same)
    ]


def correction_notes(n_events: int, origin: date) -> Iterator[str]:
    """Yields a note on corrected events, and on the first origin whose hindcasts know them."""
    if n_events:
        subject = "1 event was" if n_events == 1 else f"{n_events:,} events were"
        yield (
            f"{subject} corrected. That counts in live forecasts from now on, and in "
            f"hindcasts from origin {origin} on; forecasts made before stay as they are."
        )
