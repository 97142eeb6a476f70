"""Finds the files of one ingest command, and copies remote ones into a temporary folder.

Standard input, http(s):// URLs, the rows of a query and the files in a .zip are copied.
"""

import errno
import fcntl
import http.client
import os
import shutil
import sys
import time
import urllib.request
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import pyarrow as pa

from forecaster.errors import RefusedFileError
from pipelines.ingest.sources.database import write_rows
from pipelines.ingest.sources.files import (
    ARCHIVE_SUFFIX,
    SUFFIXES,
    WORKBOOK_SUFFIX,
    Skipped,
    Source,
    find_sources,
    first_line,
    local_source,
    without_credentials,
)
from pipelines.ingest.sources.refusals import refusal

STDIN = "-"
TEMPORARY_PREFIX = "harbor-ingest-"
MIN_AGE_S = 60
COPY_BLOCK_BYTES = 1 << 20
FETCH_TIMEOUT_S = 60
SUFFIX_OF_TYPE = {
    "application/gzip": ".csv.gz",
    "application/vnd.apache.parquet": ".parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/zip": ".zip",
    "text/tab-separated-values": ".tsv",
}
"""Suffix for a URL without a known one, by its Content-Type; CSV for any other."""
SUFFIX_OF_MAGIC = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"PK": ARCHIVE_SUFFIX}
"""Suffix for standard input, by its first bytes; CSV for any other."""
ASCII = bytes(range(128))
"""Bytes of a URL that are not quoted: all of ASCII, so that `%C3` is not quoted twice."""
WORKBOOK_PART = "xl/workbook.xml"
"""Every .xlsx file is an archive that contains it."""

SourceOrError = Source | Skipped


class Spool:
    """Temporary copies of the files of one ingest command."""

    def __init__(self, folder: Path, max_bytes: int, query: str | None = None) -> None:
        """Copies nothing yet.

        Args:
          folder: An empty folder; the caller removes it with the copies.
          max_bytes: Maximum size of a copy, and of all copies from one archive.
          query: If it is given, every location is a database URL and it runs on each.
        """
        self._folder = folder
        self._max_bytes = max_bytes
        self._query = query
        self._numbers = count()

    def find(self, locations: Sequence[str], excluded: Path) -> list[SourceOrError]:
        """Returns the files at some locations, archives unpacked, sorted by address.

        Args:
          locations: Files, folders, URLs, or `STDIN`.
          excluded: A folder that is not searched.
        """
        remote = [location for location in locations if self._is_remote(location)]
        local = [location for location in locations if location not in remote]
        files = [*find_sources(local, excluded), *map(self._copy_remote, remote)]
        members = [member for file in files for member in self._members(file)]
        return sorted(members, key=attrgetter("address"))

    def _is_remote(self, location: str) -> bool:
        is_web = location.lower().startswith(("http://", "https://"))
        return location == STDIN or self._query is not None or is_web

    def _copy_remote(self, location: str) -> SourceOrError:
        display_path = location if location == STDIN else without_credentials(location)
        try:
            if location == STDIN:
                path, address = self._copy_stdin(), "stdin"
            elif self._query is not None:
                path, address = self._new_path("rows.csv"), display_path
                write_rows(location, self._query, path, display_path, self._max_bytes)
            else:
                path, address = self._fetch(location, display_path), display_path
        except Exception as error:  # noqa: BLE001 - the other files are read
            return Skipped(display_path, refusal(display_path, error))
        return local_source(path, display_path, address)

    def _copy_stdin(self) -> Path:
        stream = sys.stdin.buffer
        start = stream.read(4)
        suffixes = (
            end for mark, end in SUFFIX_OF_MAGIC.items() if start.startswith(mark)
        )
        path = self._new_path(f"stdin{next(suffixes, '.csv')}")
        self._copy(stream, path, "Standard input", start)
        if path.suffix == ARCHIVE_SUFFIX and _is_workbook(path):
            return path.rename(path.with_suffix(WORKBOOK_SUFFIX))
        return path

    def _fetch(self, url: str, display_path: str) -> Path:
        try:
            request = _request(url)
            with urllib.request.urlopen(request, timeout=FETCH_TIMEOUT_S) as response:  # noqa: S310 - http(s) alone
                name = PurePosixPath(urlsplit(url).path).name or "file"
                if not name.lower().endswith(SUFFIXES):
                    kind = response.headers.get_content_type()
                    name += SUFFIX_OF_TYPE.get(kind, ".csv")
                path = self._new_path(name)
                self._copy(response, path, display_path)
                _require_complete(response)
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            _raise_if_disk_is_full(error)
            raise RefusedFileError(
                f"{display_path} cannot be fetched: {_fetch_failure(error)}. Check the address, and whether this "
                "machine may reach it."
            ) from None
        return path

    def _members(self, file: SourceOrError) -> Iterator[SourceOrError]:
        """Yields the files in a .zip; any other file as it is."""
        if isinstance(file, Skipped) or not file.path.lower().endswith(ARCHIVE_SUFFIX):
            yield file
            return
        try:
            yield from self._unpacked(file)
        except (
            OSError,
            RuntimeError,
            zipfile.BadZipFile,
            zlib.error,
            pa.ArrowException,
        ) as error:
            _raise_if_disk_is_full(error)
            yield Skipped(
                file.display_path,
                f"{file.name} cannot be unpacked: {first_line(error)}. Send an "
                "intact zip without a password.",
            )
        except Exception as error:  # noqa: BLE001 - the other files are read
            yield Skipped(file.display_path, refusal(file.name, error))

    def _unpacked(self, archive: Source) -> Iterator[SourceOrError]:
        with archive.open_file() as stream, zipfile.ZipFile(stream) as packed:
            entries = packed.infolist()
            outside = [info.filename for info in entries if _leads_out(info.filename)]
            inside = [info for info in entries if _is_loadable(info.filename)]
            for name in outside:
                reason = (
                    f"{archive.name} has the entry {name}, whose path leads out of the "
                    "archive, so it was skipped. Pack the file again, without '..'."
                )
                yield Skipped(f"{archive.display_path}/{name}", reason)
            if not inside and not outside:
                raise RefusedFileError(
                    f"{archive.name} holds no file that ends in {', '.join(SUFFIXES[:-1])}."
                )
            copies = []
            size = 0
            for info in inside:
                path = self._new_path(PurePosixPath(info.filename).name)
                within = f"{archive.display_path}/{info.filename}"
                with packed.open(info) as member:
                    size += self._copy(member, path, within)
                if size > self._max_bytes:
                    raise self._too_large(f"{archive.display_path}, once unpacked,")
                address = f"{archive.address}/{info.filename}"
                copies.append(local_source(path, within, address))
        for copy in copies:
            yield replace(copy, container=archive) if isinstance(copy, Source) else copy

    def _new_path(self, name: str) -> Path:
        """Returns an unused path with the file name that messages show."""
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        return folder / name

    def _copy(
        self, stream: IO[Any] | Any, path: Path, display_path: str, start: bytes = b""
    ) -> int:
        """Copies a stream, of which `start` is read already, and returns its bytes."""
        size = len(start)
        with path.open("wb") as file:
            file.write(start)
            while data := stream.read(COPY_BLOCK_BYTES):
                size += len(data)
                if size > self._max_bytes:
                    raise self._too_large(display_path)
                file.write(data)
        return size

    def _too_large(self, display_path: str) -> RefusedFileError:
        return RefusedFileError(
            f"{display_path} holds more than {self._max_bytes >> 20:,} MiB "
            "(HARBOR_MAX_FILE_MIB). Check the program that exports it; if the size is "
            "right, split it or raise the setting."
        )


def sweep_temporary_folders(parent: Path) -> None:
    """Removes what ingests that were killed have left in the folder of temporary files.

    Whoever uses such a folder holds a lock on it, which ends with its process.
    """
    for folder in parent.glob(f"{TEMPORARY_PREFIX}*"):
        with suppress(OSError), locked(folder):
            # One that was just made is locked in a moment.
            if time.time() - folder.stat().st_mtime > MIN_AGE_S:
                shutil.rmtree(folder)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the lock of a temporary folder.

    Raises:
      BlockingIOError: another process holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _raise_if_disk_is_full(error: Exception) -> None:
    """Raises an error that is no fault of the file, and that every other would meet."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        raise error


def _require_complete(response: http.client.HTTPResponse) -> None:
    """Refuses a body shorter than its Content-Length, which reading in blocks lets pass.

    Raises:
      IncompleteRead: the connection ended early.
    """
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)


def _fetch_failure(error: OSError | http.client.HTTPException | UnicodeError) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "the transfer ended before the end of the file"
    # A host that is no name is found out as it is encoded. Messages may hold a password.
    if isinstance(error, (http.client.InvalidURL, UnicodeError)):
        return "the address is not valid"
    reason = getattr(error, "reason", None) or error
    return first_line(reason) if isinstance(reason, Exception) else str(reason)


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as packed:
            return WORKBOOK_PART in packed.namelist()
    except zipfile.BadZipFile:
        return False  # Unpacking it will give the reason.


def _leads_out(name: str) -> bool:
    return ".." in name.split("/") or name.startswith("/")


def _is_loadable(name: str) -> bool:
    if _leads_out(name):
        return False
    hidden = any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
    return not hidden and name.lower().endswith(SUFFIXES[:-1])


def _request(url: str) -> urllib.request.Request:
    """Returns a request with the URL's user and password in its header.

    Raises:
      InvalidURL: it cannot be split into its parts.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise http.client.InvalidURL from None
    secret, _, host = parts.netloc.rpartition("@")
    # As a browser writes a path such as /Köln.csv.
    path, query = (quote(part, ASCII) for part in (parts.path, parts.query))
    parts = parts._replace(netloc=host, path=path, query=query)
    request = urllib.request.Request(urlunsplit(parts))  # noqa: S310 - as above
    if secret:
        token = b64encode(unquote(secret).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    return request
