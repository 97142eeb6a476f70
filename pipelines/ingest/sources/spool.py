"""Finds the files of one ingest command, and copies remote ones into a temporary folder.

Standard input, http(s):// URLs and the files in a .zip are copied.
"""

import gzip
import lzma
import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import IO, Any

import pyarrow as pa
import requests
import urllib3

from forecaster.errors import RefusedFileError
from pipelines.ingest.sources.files import (
    ARCHIVE_SUFFIX,
    SUFFIXES,
    WORKBOOK_SUFFIX,
    Skipped,
    Source,
    find_sources,
    first_line,
    is_loadable,
    local_source,
    without_credentials,
)
from pipelines.ingest.sources.refusals import refusal
from pipelines.runs.error_messages import is_full_disk

STDIN = "-"
FETCH_ERRORS = (
    requests.RequestException, urllib3.exceptions.HTTPError, EOFError, gzip.BadGzipFile,
    zlib.error,
)  # fmt: skip
COPY_BLOCK_BYTES = 1 << 20
MAX_NAME_BYTES = 200
"""Maximum length of a copy's name; file systems allow 255 bytes, and a suffix may be added."""
FETCH_TIMEOUT_S = 60
SUFFIX_OF_MAGIC = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"PK": ARCHIVE_SUFFIX}
"""Suffix added to a copy that has no known suffix, by its first bytes; otherwise `.csv`."""
WORKBOOK_PART = "xl/workbook.xml"
"""Entry that every .xlsx file, which is a zip archive, contains."""
UNPACKING_ERRORS = (
    RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError,
    pa.ArrowException,
)  # fmt: skip
NO_ROOM = (
    "{} cannot be unpacked or copied: there is no room in the temporary folder. Make room "
    "there, or set TMPDIR to another folder, then load it again."
)

SourceOrError = Source | Skipped


class Spool:
    """Temporary copies of the files of one ingest command."""

    def __init__(self, make_folder: Callable[[], Path], max_bytes: int) -> None:
        """Copies nothing yet; the first copy makes the folder, which the caller removes.

        `max_bytes` limits each copy, and the total of all copies from one archive.
        """
        self._folder = cache(make_folder)
        self._max_bytes = max_bytes

    def find(self, locations: Sequence[str], excluded: Path) -> list[SourceOrError]:
        """Returns the files at the locations, archives among them, sorted by address.

        Locations are files, folders, URLs or `STDIN`. The excluded folder is not searched.
        """
        remote = [location for location in locations if _is_remote(location)]
        local = [location for location in locations if location not in remote]
        files = find_sources(local, excluded)
        for location in remote:
            name = without_credentials(location)
            files += self._copied(name, name, partial(self._fetch, location, name))
        return sorted(files, key=attrgetter("address"))

    def unpack(self, files: Sequence[SourceOrError]) -> list[SourceOrError]:
        """Returns the files in place of the archives that contain them, sorted by address."""
        members = [member for file in files for member in self._members(file)]
        return sorted(members, key=attrgetter("address"))

    def _members(self, file: SourceOrError) -> list[SourceOrError]:
        """Returns the files in a .zip archive; any other file itself."""
        if isinstance(file, Skipped) or not file.path.lower().endswith(ARCHIVE_SUFFIX):
            return [file]
        copies = self._copied(file.display_path, file.name, partial(self._unpack, file))
        return [replace(copy, container=file) for copy in copies]

    def _copied(
        self,
        display_path: str,
        name: str,
        copy_into: Callable[[Path], list[SourceOrError]],
    ) -> list[SourceOrError]:
        """Returns the copies that `copy_into` makes in a new folder, or the reason that it failed.

        If there is no room, files that need no copy are still loaded.
        """
        folder = None
        try:
            folder = Path(mkdtemp(dir=self._folder()))
            return copy_into(folder)
        except Exception as error:  # noqa: BLE001 - the other files are read
            has_room = folder is not None and not is_full_disk(error)
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            reason = refusal(name, error) if has_room else NO_ROOM.format(name)
            return [Skipped(display_path, reason)]

    def _fetch(self, location: str, name: str, folder: Path) -> list[SourceOrError]:
        """Copies standard input, or the file at a URL."""
        if location == STDIN:
            path, address = folder / "stdin", "stdin"
            self._copy(sys.stdin.buffer, path, "Standard input")
        else:
            path, address = folder / _short_name(name), name
            try:
                with requests.get(
                    location,
                    stream=True,
                    timeout=FETCH_TIMEOUT_S,
                    headers={"Accept-Encoding": "identity"},
                ) as response:
                    response.raise_for_status()
                    stream = response.raw
                    # Some servers compress all the same; a .gz file is unpacked later.
                    is_gzip = "gzip" in response.headers.get("Content-Encoding", "")
                    if is_gzip and not path.name.lower().endswith(".gz"):
                        # urllib3's own decoder takes a stream that is cut short for a whole one.
                        stream = gzip.GzipFile(fileobj=stream)
                    self._copy(stream, path, name)
            except FETCH_ERRORS as error:
                raise RefusedFileError(
                    f"{name} cannot be fetched: {_fetch_failure(error)}. Check the "
                    "address, and whether this machine may reach it."
                ) from None
        return [local_source(_with_suffix(path), name, address)]

    def _unpack(self, archive: Source, folder: Path) -> list[SourceOrError]:
        """Copies the files in an archive."""
        try:
            with archive.open_file() as stream, zipfile.ZipFile(stream) as packed:
                skipped, entries = [], []
                for entry in packed.infolist():
                    if reason := _why_not_unpacked(entry.filename, archive.name):
                        path = f"{archive.display_path}/{entry.filename}"
                        skipped.append(Skipped(path, reason))
                    elif is_loadable(entry.filename):
                        entries.append(entry)
                if not entries and not skipped:
                    raise RefusedFileError(
                        f"{archive.name} holds no file that ends in {', '.join(SUFFIXES[:-1])}."
                    )
                # The stated size can be trusted: no more bytes than that are read from an entry.
                if sum(entry.file_size for entry in entries) > self._max_bytes:
                    raise self._too_large(f"{archive.display_path}, once unpacked,")
                copies = [
                    _unpack_entry(packed, entry, archive, folder / str(number))
                    for number, entry in enumerate(entries)
                ]
        except UNPACKING_ERRORS as error:
            raise RefusedFileError(
                f"{archive.name} cannot be unpacked: {first_line(error)}. Send an "
                "intact zip without a password."
            ) from None
        return [*skipped, *copies]

    def _copy(self, stream: IO[Any] | Any, path: Path, display_path: str) -> None:
        """Copies a stream of unknown size."""
        size = 0
        with path.open("wb") as file:
            while data := stream.read(COPY_BLOCK_BYTES):
                size += len(data)
                if size > self._max_bytes:
                    raise self._too_large(display_path)
                file.write(data)

    def _too_large(self, display_path: str) -> RefusedFileError:
        return RefusedFileError(
            f"{display_path} holds more than {self._max_bytes >> 20:,} MiB "
            "(HARBOR_MAX_FILE_MIB). Check the program that exports it; if the size is "
            "right, split the file or raise the setting."
        )


def _unpack_entry(
    packed: zipfile.ZipFile, entry: zipfile.ZipInfo, archive: Source, folder: Path
) -> SourceOrError:
    folder.mkdir()
    # Keeps the entry's file name, or its end, which messages show.
    path = folder / _short_name(entry.filename)
    with packed.open(entry) as member, path.open("wb") as file:
        shutil.copyfileobj(member, file, COPY_BLOCK_BYTES)
    return local_source(
        path,
        f"{archive.display_path}/{entry.filename}",
        f"{archive.address}/{entry.filename}",
    )


def _why_not_unpacked(name: str, archive: str) -> str:
    """Why an entry of an archive is refused; '' if it is not."""
    if _leads_out(name):
        return (
            f"{archive} has the entry {name}, whose path leads out of the archive, so it "
            "was skipped. Pack the file again, without '..'."
        )
    if is_loadable(name) and name.lower().endswith(ARCHIVE_SUFFIX):
        return (
            f"{archive} holds the archive {name}, which is not unpacked. Send the files in "
            "it by themselves."
        )
    return ""


def _short_name(path: str) -> str:
    """Returns the file name of a path; of a longer one only the end, which has the suffix."""
    name = os.fsencode(PurePosixPath(path).name)
    return name[-MAX_NAME_BYTES:].decode(errors="ignore")


def _is_remote(location: str) -> bool:
    return location == STDIN or location.lower().startswith(("http://", "https://"))


def _leads_out(name: str) -> bool:
    # Some programs write backslashes, the separators of Windows.
    path = name.replace("\\", "/")
    return ".." in path.split("/") or path.startswith("/")


def _fetch_failure(error: Exception) -> str:
    """Returns why a download failed, without the address, which the message has already."""
    if isinstance(error, urllib3.exceptions.ProtocolError | EOFError):
        return "the transfer ended before the end of the file"
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return "it is not compressed as its server says"
    if isinstance(error, ValueError):
        return "the address is not valid"
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"{error.response.status_code} {error.response.reason}"
    cause = getattr(error.args[0], "reason", error.args[0])
    # The text before that mark names the connection pool.
    return str(cause).rpartition("): ")[2].rstrip(". ")


def _with_suffix(path: Path) -> Path:
    """Adds a suffix that fits the content to a copy that has no known suffix."""
    if path.name.lower().endswith(SUFFIXES):
        return path
    with path.open("rb") as file:
        start = file.read(4)
    suffixes = (end for mark, end in SUFFIX_OF_MAGIC.items() if start.startswith(mark))
    suffix = next(suffixes, ".csv")
    if suffix == ARCHIVE_SUFFIX and _is_workbook(path):
        suffix = WORKBOOK_SUFFIX
    return path.rename(path.with_name(path.name + suffix))


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as packed:
            return WORKBOOK_PART in packed.namelist()
    except zipfile.BadZipFile:
        return False  # Unpacking it raises an error with the reason.
