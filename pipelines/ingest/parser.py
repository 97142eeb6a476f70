"""Parses files: in a child process with a memory limit, or in this process."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from forecaster.errors import RefusedFileError
from pipelines.ingest import ipc
from pipelines.ingest.chunks import Chunk, LocalParse, ParsedFile
from pipelines.ingest.conventions import Conventions
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.report import FileOptions
from pipelines.ingest.sources import Source

ROOT = Path(__file__).parents[2]


class Parser:
    """Opens files one after the other, in a child process that the first one starts."""

    def __init__(self, memory_mib: int) -> None:
        """Starts nothing yet.

        Args:
          memory_mib: Memory limit of the child; 0 parses in this process, without a limit.
        """
        self._memory_mib = memory_mib
        self._child: _ParserProcess | None = None

    def __enter__(self) -> Self:
        """Nothing to do."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the child."""
        if self._child is not None:
            self._child.end()

    def open(self, source: Source, options: FileOptions, today: date) -> ParsedFile:
        """Reads a file's header; the file opened before can no longer be read.

        Raises:
          RefusedFileError: the file cannot be understood.
        """
        if not self._memory_mib:
            return LocalParse.open(source, options, today)
        child = self._idle_process()
        child.send(source, ipc.task_message(source, options, today))
        plan = ipc.plan(child.receive(source, "plan")[0])
        child.awaits_go_ahead = True
        return _RemoteParse(source, plan, child)

    def _idle_process(self) -> "_ParserProcess":
        child = self._child
        if child is not None and child.awaits_go_ahead:
            child.send(None, {"go_on": False})
            child.awaits_go_ahead, child.is_busy = False, False
        elif child is not None and child.is_busy:
            child.end()
            child = None
        if child is None or child.has_ended:
            child = self._child = _ParserProcess(self._memory_mib)
        child.is_busy = True
        return child


@dataclass(frozen=True)
class _RemoteParse:
    """A file that the child process parses."""

    source: Source
    plan: Plan
    child: "_ParserProcess"

    def conventions(self) -> Conventions:
        self.child.awaits_go_ahead = False
        self.child.send(self.source, {"go_on": True})
        return ipc.conventions(self.child.receive(self.source, "conventions")[0])

    def chunks(self, conventions: Conventions) -> Iterator[Chunk]:  # noqa: ARG002
        """Yields the chunks; the child has detected the conventions itself."""
        while True:
            message, rows = self.child.receive(self.source, "chunk")
            if message is None:
                self.child.is_busy = False
                return
            yield ipc.chunk(message, rows)


class _ParserProcess:
    """The child process and its state."""

    def __init__(self, memory_mib: int) -> None:
        self.memory_mib = memory_mib
        self.is_busy = False
        # It has sent the plan of a file and waits for the answer whether to parse it.
        self.awaits_go_ahead = False
        self.has_ended = False
        # In a session of its own: an interrupt is ours, and it ends with its pipes.
        self._process = subprocess.Popen(  # noqa: S603 - our own program, no shell
            [sys.executable, "-m", "pipelines.ingest.child", str(memory_mib)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            start_new_session=True,
        )

    def send(self, source: Source | None, message: ipc.Message) -> None:
        """Sends a message.

        Raises:
          RefusedFileError: the child has ended while it parsed `source`.
        """
        try:
            ipc.send(_pipe(self._process.stdin), message)
        except BrokenPipeError:
            self.end()
            if source is not None:
                raise self._too_large_error(source) from None

    def receive(self, source: Source, key: str) -> tuple[Any, bytes]:
        """Returns the next message's value under a key, and its payload; None at the end.

        Raises:
          RefusedFileError: it refuses the file, or the file exceeds its memory.
        """
        try:
            message, payload = ipc.receive(_pipe(self._process.stdout))
        except EOFError:
            message, payload = {"too_large": True}, b""
        if key in message:
            return message[key], payload
        self.is_busy = False
        if "refused" in message:
            raise RefusedFileError(message["refused"])
        if "too_large" in message:
            self.end()
            raise self._too_large_error(source)
        if "mistake" in message:
            raise RuntimeError(
                f"The parser of {source.name} failed:\n{message['mistake']}"
            )
        return None, payload

    def end(self) -> None:
        """Kills the process."""
        self.has_ended = True
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def _too_large_error(self, source: Source) -> RefusedFileError:
        return RefusedFileError(
            f"{source.name} needs more memory than its parser may use "
            f"(HARBOR_PARSER_MEMORY_MIB is {self.memory_mib:,}), or makes it crash. "
            "If the file should be that large, split it or raise the setting; else "
            "export it again."
        )


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "both are pipes"
    return stream
