"""Finds the files in folders, at paths and at URLs, and opens them."""

import hashlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from forecaster.errors import RefusedFileError
from pipelines.ingest.sources import workbook

WORKBOOK_SUFFIX = ".xlsx"
TEXT_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", WORKBOOK_SUFFIX)
ARCHIVE_SUFFIX = ".zip"
SUFFIXES = (*TEXT_SUFFIXES, ".parquet", ARCHIVE_SUFFIX)
DATABASE_SCHEMES = {
    "postgres", "postgresql", "mysql", "mariadb", "mssql", "oracle", "sqlite",
}  # fmt: skip
CREDENTIALS = re.compile(r"[^/?#:@]*:(?!\d+[/?#])[^@]*@")
"""User and password of a URL; unlike a port, a password may hold /, ? and #."""


@dataclass(frozen=True)
class Source:
    """A file found at a path, in a folder or at a URL.

    Args:
      display_path: Path for messages, as given or below the given folder.
      path: Path within its file system.
      address: Path or URL for the ledger: absolute, without a password.
    """

    display_path: str
    path: str
    address: str
    size: int
    modified_ns: int | None
    system: fs.FileSystem = field(repr=False)
    # The .zip that contains it.
    container: "Source | None" = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """File name, for messages."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def is_text(self) -> bool:
        """Whether its suffix is that of a text file or spreadsheet, which is read as CSV."""
        return self.path.lower().endswith(TEXT_SUFFIXES)

    @property
    def is_workbook(self) -> bool:
        """Whether it is a spreadsheet, which `open_stream` converts to CSV in UTF-8."""
        return self.path.lower().endswith(WORKBOOK_SUFFIX)

    def open_stream(self) -> Any:
        """Opens it as a stream; a .gz is decompressed, a .xlsx converted to CSV.

        Raises:
          RefusedFileError: the spreadsheet cannot be read.
        """
        if self.is_workbook:
            with self.open_file() as file:
                return io.BytesIO(workbook.as_csv(file.read(), self.name))
        packed = "gzip" if self.path.lower().endswith(".gz") else None
        with self._refused_if_forbidden():
            return self.system.open_input_stream(self.path, compression=packed)

    def is_below(self, folder: Path) -> bool:
        """Whether it was named by its path, not by a URL, and lies in or below the folder."""
        return "://" not in self.address and Path(self.path).is_relative_to(folder)

    def open_file(self) -> Any:
        """Opens it for random access.

        Raises:
          RefusedFileError: this user may not read it.
        """
        with self._refused_if_forbidden():
            return self.system.open_input_file(self.path)

    @contextmanager
    def _refused_if_forbidden(self) -> Iterator[None]:
        try:
            yield
        except PermissionError:
            raise RefusedFileError(
                f"{self.name} cannot be read: this user is not allowed to. Let the user "
                "that runs this program read it."
            ) from None

    def sha256(self) -> str:
        """Returns the sha256 of the file as stored, compressed or not.

        Raises:
          RefusedFileError: it cannot be read.
        """
        try:
            with self.system.open_input_stream(self.path, compression=None) as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except (OSError, pa.ArrowException) as error:
            raise RefusedFileError(
                f"{self.name} cannot be read: {first_line(error)}. Send it again."
            ) from None

    def is_unchanged(self) -> bool:
        """Whether its size and modification time are still the same."""
        now = self.system.get_file_info(self.path)
        return bool((now.size, now.mtime_ns) == (self.size, self.modified_ns)) and (
            self.container is None or self.container.is_unchanged()
        )

    def is_gone(self) -> bool:
        """Whether it is no longer there."""
        info = self.system.get_file_info(self.path)
        return bool(info.type == fs.FileType.NotFound)

    def require_unchanged(self) -> None:
        """Refuses a file that was written to while it was read.

        Raises:
          RefusedFileError: its size or modification time has changed.
        """
        if not self.is_unchanged():
            raise RefusedFileError(
                f"{self.name} changed while it was read. Wait until it is complete, "
                "and load it again."
            )


@dataclass(frozen=True)
class Skipped:
    """A path or URL that is not loaded, and the reason.

    `is_waiting` marks a file that is still being written.
    """

    display_path: str
    reason: str
    is_waiting: bool = False
    # The .zip that contains it.
    container: "Source | None" = field(default=None, repr=False)

    @property
    def address(self) -> str:
        """Sort key, as `Source.address`."""
        return self.display_path


def find_sources(
    locations: Sequence[str], excluded: Path | None = None
) -> list[Source | Skipped]:
    """Returns the files at the locations, including those in folders, sorted by address.

    In folders, hidden files, files with other suffixes (such as `.tmp` and `.part`) and the
    excluded folder are ignored. A file given by path never is; another suffix makes it `Skipped`.
    """
    files: dict[str, Source | Skipped] = {}
    for location in locations:
        for file in _files_at(location, excluded):
            files.setdefault(file.address, file)
    return [files[address] for address in sorted(files)]


def _files_at(location: str, excluded: Path | None) -> Iterator[Source | Skipped]:
    try:
        if "://" in location:
            yield from _files_at_url(location)
        else:
            # Path.expanduser raises an error on a name such as ~$orders.xlsx.
            path = Path(os.path.expanduser(location))  # noqa: PTH111
            yield from files_at_path(path, excluded)
    except (OSError, pa.ArrowException) as error:
        yield Skipped(
            without_credentials(location),
            f"{without_credentials(location)} cannot be opened: {first_line(error)}.",
        )


def files_at_path(path: Path, excluded: Path | None) -> Iterator[Source | Skipped]:
    """A file, or the files of a folder but for those in the excluded one, as `find_sources` has them.

    Raises:
      OSError: a folder cannot be read.
    """
    if not path.is_dir():
        yield local_source(path, str(path))
        return
    root = path.resolve()
    unreadable: list[OSError] = []
    for folder, below, names in os.walk(root, onerror=unreadable.append):
        below[:] = sorted(
            name
            for name in below
            if not name.startswith(".") and Path(folder, name) != excluded
        )
        # Linked folders are not searched: links may form a cycle.
        linked = [name for name in below if Path(folder, name).is_symlink()]
        files = [name for name in sorted(names) if is_loadable(name)]
        for name in [*linked, *files]:
            inside = Path(folder, name)
            display_path = _printable(str(path / inside.relative_to(root)))
            # Unlike Path.resolve, os.path.realpath raises no error on a cycle of links.
            target = Path(os.path.realpath(inside))
            if name not in linked and target.is_relative_to(root):
                try:
                    found = local_source(inside, display_path)
                except OSError as error:
                    unreadable.append(OSError(error.errno, first_line(error), inside))
                    continue
                # Another load may have moved it since the folder was listed.
                if isinstance(found, Source) or os.path.lexists(inside):
                    yield found
            else:
                reason = (
                    f"{display_path} is a link to a folder, or to a file outside the folder "
                    "given. Name the link's target, or copy it here."
                )
                yield Skipped(display_path, reason)
    for failure in unreadable:
        if Path(failure.filename) == root:
            raise failure
        inside = Path(failure.filename).relative_to(root)
        display_path = _printable(str(path / inside))
        reason = f"{display_path} cannot be opened: {first_line(failure)}."
        yield Skipped(display_path, reason)


def _printable(path: str) -> str:
    """Returns a path with marks in place of bytes that are not UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def is_loadable(name: str) -> bool:
    """Whether a path below a folder or in an archive is read: not hidden, with a known suffix."""
    hidden = any(part.startswith(".") for part in name.split("/"))
    return not hidden and name.lower().endswith(SUFFIXES)


def local_source(
    path: Path, display_path: str, address: str | None = None
) -> Source | Skipped:
    """Returns a file of this machine as a source; `address` is given for copies of remote files."""
    # A link is opened under its own name, which has the suffix.
    absolute = path.parent.resolve() / path.name
    try:
        str(absolute).encode()
    except UnicodeEncodeError:
        printable = _printable(display_path)
        reason = f"{printable} has a name or a folder that is not UTF-8. Rename it."
        return Skipped(printable, reason)
    system = fs.LocalFileSystem()
    info = system.get_file_info(absolute.as_posix())
    return _source(system, info, display_path, address or str(absolute))


def _files_at_url(location: str) -> Iterator[Source | Skipped]:
    display_path = without_credentials(location).rstrip("/")
    try:
        system, path = fs.FileSystem.from_uri(location)
    except pa.ArrowInvalid:
        reason = (
            "is a database. Export the rows as CSV, and pipe them into 'harbor ingest -'."
            if _is_database(location)
            else "cannot be opened: a URL begins with file://, s3://, gs://, abfs:// (Azure), "
            "http:// or https://. Copy the file to one of these, or to a folder."
        )
        yield Skipped(display_path, f"{display_path} {reason}")
        return
    info = system.get_file_info(path)
    if info.type != fs.FileType.Directory:
        yield _source(system, info, display_path, display_path)
        return
    inside = system.get_file_info(fs.FileSelector(path, recursive=True))
    for info in sorted(inside, key=lambda info: str(info.path)):
        rest = info.path[len(path) :].lstrip("/")
        if info.is_file and is_loadable(rest):
            address = f"{display_path}/{rest}"
            yield _source(system, info, address, address)


def _source(
    system: fs.FileSystem, info: fs.FileInfo, display_path: str, address: str
) -> Source | Skipped:
    if info.type == fs.FileType.NotFound:
        reason = "does not exist. Check the path."
    elif info.type != fs.FileType.File:
        reason = "is not an ordinary file. Copy it into one."
    elif not info.path.lower().endswith(SUFFIXES):
        reason = (
            f"ends in none of {', '.join(SUFFIXES)}, so its format is not known. Export "
            "it as one of these, or rename it if it is one."
        )
    else:
        return Source(
            display_path, info.path, address, info.size, info.mtime_ns, system
        )
    return Skipped(display_path, f"{display_path} {reason}")


def without_credentials(location: str) -> str:
    """Returns a URL without user, password and query; any other location as it is."""
    if "://" not in location:
        return location
    scheme, _, rest = location.partition("://")
    if _is_database(location):
        rest = rest.rpartition("@")[2]
    elif credentials := CREDENTIALS.match(rest):
        rest = rest[credentials.end() :]
    try:
        parts = urlsplit(f"{scheme}://{rest}")
    except ValueError:  # An address that is not valid, such as http://[::1/a.csv
        return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"
    user, _, host = parts.netloc.rpartition("@")
    # Azure writes the container where others write the user.
    if user and ":" not in user and parts.scheme in ("abfs", "abfss"):
        host = parts.netloc
    return f"{parts.scheme}://{host}{parts.path}"


def _is_database(url: str) -> bool:
    return url.partition(":")[0].partition("+")[0].lower() in DATABASE_SCHEMES


def first_line(error: Exception) -> str:
    """Returns the first line of an error's message, without its full stop."""
    message = (
        error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    )
    return (message.splitlines() or [type(error).__name__])[0].rstrip(". ")
