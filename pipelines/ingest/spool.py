"""Files of a call, of which those that lie elsewhere are copied into a folder of its own.

Copied are standard input, http(s):// URLs, the rows of a query and the files in a .zip.
"""

import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from base64 import b64encode
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

import pyarrow as pa

from forecaster.errors import RefusedFileError
from pipelines.ingest.database_source import write_rows
from pipelines.ingest.sources import (
    ARCHIVE_SUFFIX,
    SUFFIXES,
    Source,
    Unreadable,
    copy_of,
    find_sources,
    first_line,
    without_secrets,
)

STDIN = "-"
COPIED_AT_ONCE = 1 << 20
PATIENCE_S = 60
SUFFIX_OF_TYPE = {
    "application/gzip": ".csv.gz",
    "application/vnd.apache.parquet": ".parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/zip": ".zip",
    "text/tab-separated-values": ".tsv",
}
"""What a URL without a known suffix holds, by its Content-Type; CSV where it is another."""
SUFFIX_OF_START = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"PK": ".zip"}
"""What standard input holds, by its first bytes; CSV where they are others."""

Found = Source | Unreadable


class Spool:
    """A folder for the copies of one call, made when the first one is."""

    def __init__(self, folder: Path, most_bytes: int, query: str | None = None) -> None:
        """Copies nothing yet.

        Args:
          folder: Empty; whoever made it removes it.
          most_bytes: Of one copy.
          query: Of which the paths named are the databases.
        """
        self._folder = folder
        self._most_bytes = most_bytes
        self._query = query
        self._numbers = count()

    def find(self, named: Sequence[str], passed_over: Path) -> list[Found]:
        """Every file that was named or lies in what was, in the order of addresses."""
        elsewhere = [each for each in named if self._is_elsewhere(each)]
        here = [each for each in named if each not in elsewhere]
        found = [*find_sources(here, passed_over), *map(self._copied, elsewhere)]
        whole = [member for each in found for member in self._members(each)]
        return sorted(whole, key=_address)

    def _is_elsewhere(self, named: str) -> bool:
        is_web = urlsplit(named).scheme in ("http", "https")
        return named == STDIN or self._query is not None or is_web

    def _copied(self, named: str) -> Found:
        shown = named if named == STDIN else without_secrets(named)
        try:
            if named == STDIN:
                path, address = self._copy_stdin(), "stdin"
            elif self._query is not None:
                path, address = self._place("rows.csv"), shown
                write_rows(named, self._query, path, shown, self._most_bytes)
            else:
                path, address = self._fetch(named, shown), shown
        except RefusedFileError as error:
            return Unreadable(shown, str(error))
        return copy_of(path, shown, address)

    def _copy_stdin(self) -> Path:
        stream = sys.stdin.buffer
        start = stream.read(4)
        suffixes = (
            end for mark, end in SUFFIX_OF_START.items() if start.startswith(mark)
        )
        path = self._place(f"stdin{next(suffixes, '.csv')}")
        self._copy(stream, path, "Standard input", start)
        return path

    def _fetch(self, url: str, shown: str) -> Path:
        try:
            with urllib.request.urlopen(_request(url), timeout=PATIENCE_S) as answer:  # noqa: S310 - http(s) alone
                name = PurePosixPath(urlsplit(url).path).name or "file"
                if not name.lower().endswith(SUFFIXES):
                    kind = answer.headers.get_content_type()
                    name += SUFFIX_OF_TYPE.get(kind, ".csv")
                path = self._place(name)
                self._copy(answer, path, shown)
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            said = first_line(reason) if isinstance(reason, Exception) else reason
            raise RefusedFileError(
                f"{shown} cannot be fetched: {said}. Check the address, and whether this "
                "machine may reach it."
            ) from None
        return path

    def _members(self, each: Found) -> Iterator[Found]:
        """The files in a .zip; anything else as it is."""
        if isinstance(each, Unreadable) or not each.path.lower().endswith(
            ARCHIVE_SUFFIX
        ):
            yield each
            return
        try:
            yield from self._unpacked(each)
        except RefusedFileError as error:
            yield Unreadable(each.shown, str(error))
        except (
            OSError,
            RuntimeError,
            zipfile.BadZipFile,
            pa.ArrowException,
        ) as error:
            yield Unreadable(
                each.shown,
                f"{each.name} cannot be unpacked: {first_line(error)}. Send it again, "
                "without a password.",
            )

    def _unpacked(self, archive: Source) -> Iterator[Found]:
        with archive.open_file() as stream, zipfile.ZipFile(stream) as packed:
            inside = [info for info in packed.infolist() if _is_wanted(info.filename)]
            if not inside:
                raise RefusedFileError(
                    f"{archive.name} holds no file that ends in {', '.join(SUFFIXES[:-1])}."
                )
            copies = []
            for info in inside:
                path = self._place(PurePosixPath(info.filename).name)
                within = f"{archive.shown}/{info.filename}"
                with packed.open(info) as member:
                    self._copy(member, path, within)
                address = f"{archive.address}/{info.filename}"
                copies.append(copy_of(path, within, address))
        for copy in copies:
            yield copy.inside(archive) if isinstance(copy, Source) else copy

    def _place(self, name: str) -> Path:
        """A path that nothing lies at, under the name that messages show."""
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        return folder / name

    def _copy(
        self, stream: IO[Any] | Any, path: Path, shown: str, start: bytes = b""
    ) -> None:
        size = len(start)
        with path.open("wb") as file:
            file.write(start)
            while some := stream.read(COPIED_AT_ONCE):
                size += len(some)
                if size > self._most_bytes:
                    raise RefusedFileError(
                        f"{shown} holds more than {self._most_bytes >> 20:,} MiB "
                        "(HARBOR_MAX_FILE_MIB). Look at what wrote it; if it is right, "
                        "split it or raise the setting."
                    )
                file.write(some)


def spool_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for copies, gone when it is left."""
    return tempfile.TemporaryDirectory(prefix="harbor-ingest-")


def _address(each: Found) -> str:
    return each.address if isinstance(each, Source) else each.shown


def _is_wanted(name: str) -> bool:
    hidden = any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
    return not hidden and name.lower().endswith(SUFFIXES[:-1])


def _request(url: str) -> urllib.request.Request:
    """A request in which user and password of the URL stand in its header."""
    parts = urlsplit(url)
    secret, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)))  # noqa: S310 - as above
    if secret:
        token = b64encode(unquote(secret).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    return request
