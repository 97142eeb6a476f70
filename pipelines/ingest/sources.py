"""From what was named to files that can be opened: folders, files, URLs."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from forecaster.errors import RefusedFileError
from pipelines.ingest import workbook

PLAIN_SUFFIXES = (".csv", ".tsv")
WORKBOOK_SUFFIX = ".xlsx"
TEXT_SUFFIXES = (*PLAIN_SUFFIXES, ".csv.gz", ".tsv.gz", WORKBOOK_SUFFIX)
ARCHIVE_SUFFIX = ".zip"
SUFFIXES = (*TEXT_SUFFIXES, ".parquet", ARCHIVE_SUFFIX)
HASHED_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Source:
    """A file that was there when it was looked for.

    Args:
      shown: As people named it, or as it was found in a folder they named.
      path: Within its file system.
      address: For the ledger: absolute, and without a password.
    """

    shown: str
    path: str
    address: str
    size: int
    modified_ns: int | None
    system: fs.FileSystem = field(repr=False)
    # That opens its file system, where it is not this machine's; may hold a password.
    url: str | None = field(default=None, repr=False)
    # The .zip that it was taken out of.
    container: "Source | None" = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Its last part, for messages."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def is_text(self) -> bool:
        """Whether it is read as CSV, by its suffix."""
        return self.path.lower().endswith(TEXT_SUFFIXES)

    @property
    def is_workbook(self) -> bool:
        """Whether it is a spreadsheet, of which `open_stream` makes CSV in UTF-8."""
        return self.path.lower().endswith(WORKBOOK_SUFFIX)

    @property
    def is_plain_text(self) -> bool:
        """Whether it is text that is not packed, so that it holds what its size says."""
        return self.path.lower().endswith(PLAIN_SUFFIXES)

    def open_stream(self) -> Any:
        """Its bytes from the start; a .gz is unpacked, a .xlsx made CSV on the way.

        Raises:
          RefusedFileError: the spreadsheet cannot be read.
        """
        if self.is_workbook:
            with self.system.open_input_stream(self.path, compression=None) as stream:
                return workbook.as_csv(stream.read(), self.name)
        packed = "gzip" if self.path.lower().endswith(".gz") else None
        return self.system.open_input_stream(self.path, compression=packed)

    def open_file(self) -> Any:
        """Its bytes in any order."""
        return self.system.open_input_file(self.path)

    def inside(self, archive: "Source") -> "Source":
        """The same file, as one that was taken out of an archive."""
        return replace(self, container=archive)

    def sha256(self) -> str:
        """Of the bytes as they lie there.

        Raises:
          RefusedFileError: it cannot be read.
        """
        digest = hashlib.sha256()
        try:
            with self.system.open_input_stream(self.path, compression=None) as stream:
                while some := stream.read(HASHED_AT_ONCE):
                    digest.update(some)
        except (OSError, pa.ArrowException) as error:
            raise RefusedFileError(
                f"{self.name} cannot be read: {first_line(error)}. Send it again."
            ) from None
        return digest.hexdigest()

    def is_unchanged(self) -> bool:
        """Whether its size and its time of change are what they were."""
        now = self.system.get_file_info(self.path)
        return bool((now.size, now.mtime_ns) == (self.size, self.modified_ns)) and (
            self.container is None or self.container.is_unchanged()
        )

    def require_unchanged(self) -> None:
        """Refuses a file that was written to while it was read.

        Raises:
          RefusedFileError: its size or its time of change is another.
        """
        if not self.is_unchanged():
            raise RefusedFileError(
                f"{self.name} changed while it was read. Wait until it is written whole, "
                "and load it again."
            )


@dataclass(frozen=True)
class Unreadable:
    """Something that was named and cannot be loaded, and why."""

    shown: str
    reason: str


def find_sources(
    named: Sequence[str], passed_over: Path | None = None
) -> list[Source | Unreadable]:
    """Every file that was named or lies in a folder that was, in the order of names.

    In folders, hidden files and files of other kinds (`.tmp` and `.part` among them) are
    passed over; a file that was named itself is never passed over.

    Args:
      named: Files, folders and URLs.
      passed_over: A folder inside others that is not looked into.
    """
    found: dict[str, Source | Unreadable] = {}
    for path in named:
        for each in _at(path, passed_over):
            address = each.address if isinstance(each, Source) else each.shown
            found.setdefault(address, each)
    return [found[address] for address in sorted(found)]


def _at(named: str, passed_over: Path | None) -> Iterator[Source | Unreadable]:
    try:
        if "://" in named:
            yield from _at_url(named)
        else:
            yield from _at_path(Path(named).expanduser(), passed_over)
    except (OSError, pa.ArrowException) as error:
        yield Unreadable(
            without_secrets(named),
            f"{without_secrets(named)} cannot be opened: {first_line(error)}.",
        )


def _at_path(path: Path, passed_over: Path | None) -> Iterator[Source | Unreadable]:
    if not path.is_dir():
        yield _local(path, str(path))
        return
    root = path.resolve()
    for folder, below, names in os.walk(root, onerror=_raise):
        below[:] = sorted(
            name
            for name in below
            if not name.startswith(".") and Path(folder, name) != passed_over
        )
        yield from _linked(path, root, [Path(folder, name) for name in below])
        for name in sorted(names):
            if name.startswith(".") or not name.lower().endswith(SUFFIXES):
                continue
            inside = Path(folder, name)
            shown = str(path / inside.relative_to(root))
            if inside.resolve().is_relative_to(root):
                yield _local(inside, shown)
            else:
                yield Unreadable(
                    shown,
                    f"{shown} is a link that leaves its folder. Name the file it points "
                    "to, or copy it here.",
                )


def _linked(named: Path, root: Path, below: list[Path]) -> Iterator[Unreadable]:
    """Folders that are not walked into: a link may lead round in a circle."""
    for folder in below:
        if folder.is_symlink():
            shown = str(named / folder.relative_to(root))
            reason = f"{shown} is a link to a folder. Name the folder, or copy it here."
            yield Unreadable(shown, reason)


def _local(path: Path, shown: str) -> Source | Unreadable:
    # A link is opened under its own name, which has the suffix.
    whole = path.parent.resolve() / path.name
    return _source(fs.LocalFileSystem(), whole.as_posix(), shown, str(whole))


def copy_of(path: Path, shown: str, address: str) -> Source | Unreadable:
    """A file of this machine that holds what was fetched from elsewhere.

    Args:
      path: Of the copy.
      shown: As people know what was fetched.
      address: For the ledger, without a password.
    """
    return _source(fs.LocalFileSystem(), str(path), shown, address)


def _raise(error: OSError) -> None:
    raise error


def _at_url(named: str) -> Iterator[Source | Unreadable]:
    shown = without_secrets(named).rstrip("/")
    try:
        system, path = fs.FileSystem.from_uri(named)
    except pa.ArrowInvalid:
        yield Unreadable(
            shown,
            f"{shown} cannot be opened: a URL begins with file://, s3://, gs://, abfs:// "
            "(Azure), http:// or https://. Copy the file to one of these, or to a folder.",
        )
        return
    if system.get_file_info(path).type != fs.FileType.Directory:
        yield _source(system, path, shown, shown, named)
        return
    inside = system.get_file_info(fs.FileSelector(path, recursive=True))
    for info in sorted(inside, key=lambda info: str(info.path)):
        rest = info.path[len(path) :].lstrip("/")
        hidden = any(part.startswith(".") for part in rest.split("/"))
        if info.is_file and not hidden and rest.lower().endswith(SUFFIXES):
            address = f"{shown}/{rest}"
            yield _source(system, info.path, address, address, named)


def _source(
    system: fs.FileSystem, path: str, shown: str, address: str, url: str | None = None
) -> Source | Unreadable:
    info = system.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        return Unreadable(shown, f"{shown} does not exist. Check the path.")
    if info.type != fs.FileType.File:
        return Unreadable(shown, f"{shown} is not an ordinary file. Copy it into one.")
    if not path.lower().endswith(SUFFIXES):
        return Unreadable(
            shown,
            f"{shown} ends in none of {', '.join(SUFFIXES)}, so what it holds is not "
            "known. Export it as one of these, or rename it if it is one.",
        )
    return Source(shown, path, address, info.size, info.mtime_ns, system, url)


def without_secrets(named: str) -> str:
    """A URL without user, password and options."""
    if "://" not in named:
        return named
    parts = urlsplit(named)
    user, _, host = parts.netloc.rpartition("@")
    # Azure's container stands where others have the user.
    if user and ":" not in user and parts.scheme in ("abfs", "abfss"):
        host = parts.netloc
    return f"{parts.scheme}://{host}{parts.path}"


def first_line(error: Exception) -> str:
    """What an error of a library says, on one line, without its full stop."""
    said = (
        error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    )
    return (said.splitlines() or [type(error).__name__])[0].rstrip(". ")
