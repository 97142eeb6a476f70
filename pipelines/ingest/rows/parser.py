"""Parses files in a child process under a memory limit, or in this process.

The child reads untrusted files, so nothing that it sends is unpickled: its messages are JSON,
and its rows are CSV.
"""

import json
import os
import resource
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from forecaster.errors import RefusedFileError
from pipelines.ingest.rows.batches import RejectedRow
from pipelines.ingest.rows.conventions import Convention, Conventions
from pipelines.ingest.rows.file_schemas import SCHEMAS
from pipelines.ingest.rows.kind_detection import FileMapping
from pipelines.ingest.rows.options import FileOptions
from pipelines.ingest.rows.parsing import Places
from pipelines.ingest.rows.validation import Chunk, ParsedFile
from pipelines.ingest.sources.files import Source
from pipelines.ingest.sources.refusals import ParserError

ROOT = Path(__file__).parents[3]
MIB = 1 << 20
PROGRAM = "from pipelines.ingest.rows import parser; parser.main()"


class Parser:
    """Parses one file after another in a child process, which starts with the first file."""

    def __init__(self, memory_mib: int) -> None:
        """Starts no process yet; with a memory limit of 0, files are parsed in this process."""
        self._memory_mib = memory_mib
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._is_streaming = False
        self._name = ""
        # The open file, if files are parsed in this process.
        self._file: ParsedFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def open(self, source: Source, options: FileOptions, today: date) -> FileMapping:
        """Reads a file's header; the file opened before can no longer be parsed.

        Raises:
          RefusedFileError: the file cannot be read, or its kind or columns are not found.
        """
        if not self._memory_mib:
            self._file = ParsedFile.open(source, options, today)
            return self._file.mapping
        if self._is_streaming:
            self._end()
        if self._process is None:
            self._start()
        self._name = source.name
        mapping = self._ask("open", source, options, today)
        header = tuple(mapping["header"])
        return FileMapping(SCHEMAS[mapping["schema"]], mapping["positions"], header)

    def parse(
        self, places: Places | None = None
    ) -> tuple[Conventions, Iterator[Chunk]]:
        """Parses the last file opened; see `ParsedFile.parse`."""
        if self._file is not None:
            return self._file.parse(places)
        message = self._ask("parse", places)
        conventions = Conventions(
            **{name: each and Convention(**each) for name, each in message.items()}
        )
        self._is_streaming = True
        return conventions, self._chunks()

    def _chunks(self) -> Iterator[Chunk]:
        while message := self._receive():
            rejected = [RejectedRow(**row) for row in message["rejected"]]
            rows = self._receive_bytes()
            yield Chunk(**message | {"rows": rows, "rejected": rejected})
        self._is_streaming = False

    def _start(self) -> None:
        # In its own session: Ctrl+C stops only the parent, and closing the pipe ends the child.
        self._connection, child_end = Pipe()
        arguments = [str(child_end.fileno()), str(self._memory_mib)]
        self._process = subprocess.Popen(  # noqa: S603 - our own program, no shell
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[child_end.fileno()],
            cwd=ROOT,
            start_new_session=True,
        )
        child_end.close()

    def _end(self) -> None:
        if self._process is not None and self._connection is not None:
            self._connection.close()
            self._process.kill()
            self._process.wait()
        self._process = self._connection = None
        self._is_streaming = False

    def _ask(self, *task: object) -> dict[str, Any]:
        with self._connected() as connection:
            connection.send(task)
        return self._receive()

    def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._receive_bytes())
        if "refused" in message:
            self._is_streaming = False
            raise RefusedFileError(message["refused"])
        if "crash" in message:
            self._is_streaming = False
            lines = message["crash"]
            raise ParserError(
                f"The parser of {self._name} failed: {lines[-1].strip()}.\n"
                + "".join(lines)
            )
        return message

    def _receive_bytes(self) -> bytes:
        with self._connected() as connection:
            return connection.recv_bytes()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Yields the connection; refuses the file if the child has died."""
        assert self._connection is not None, "a file is open"
        try:
            yield self._connection
        except (EOFError, OSError):
            self._end()
            raise RefusedFileError(
                f"{self._name} needs more memory than its parser may use "
                f"(HARBOR_PARSER_MEMORY_MIB is {self._memory_mib:,}), or makes it crash. "
                "If the file should be that large, split it or raise the setting; else "
                "export it again."
            ) from None


def _serve(connection: Connection) -> None:
    """Runs the parent's tasks in the child until the parent closes the connection."""
    file: ParsedFile | None = None
    while True:
        task = connection.recv()
        try:
            if task[0] == "parse":
                assert file is not None, "a file is opened before it is parsed"
                _send_rows(connection, file, *task[1:])
            else:
                file = ParsedFile.open(*task[1:])
                mapping = vars(file.mapping) | {"schema": file.mapping.schema.name}
                _send(connection, mapping)
        except RefusedFileError as error:
            _send(connection, {"refused": str(error)})
        except (MemoryError, EOFError, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours, which the parent raises
            _send(connection, {"crash": traceback.format_exception(error)})


def _send_rows(connection: Connection, file: ParsedFile, places: Places | None) -> None:
    conventions, chunks = file.parse(places)
    _send(connection, asdict(conventions))
    for chunk in chunks:
        rejected = [asdict(row) for row in chunk.rejected]
        _send(connection, {**vars(chunk), "rows": None, "rejected": rejected})
        connection.send_bytes(chunk.rows)
    _send(connection, {})


def _send(connection: Connection, message: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(message).encode())


def main() -> None:
    """Runs the child; exits silently if memory runs out or the parent has ended."""
    descriptor, memory_mib = map(int, sys.argv[1:])
    # RLIMIT_DATA, not RLIMIT_AS: threads reserve much address space that costs nothing.
    resource.setrlimit(resource.RLIMIT_DATA, (memory_mib * MIB, memory_mib * MIB))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        _serve(Connection(descriptor))
    except (MemoryError, EOFError, ConnectionError):
        os._exit(1)
