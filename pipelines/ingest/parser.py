"""Has files parsed: in a child with a memory limit, or in this process."""

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
    """Opens files one after the other; a child is started when the first one is."""

    def __init__(self, memory_mib: int) -> None:
        """Starts nothing yet.

        Args:
          memory_mib: What a child may take; 0 parses in this process, without a limit.
        """
        self._memory_mib = memory_mib
        self._child: _Child | None = None

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
        """Looks at a file's header; the file before is done with.

        Raises:
          RefusedFileError: the file cannot be understood.
        """
        if not self._memory_mib:
            return LocalParse.open(source, options, today)
        child = self._free_child()
        child.tell(source, ipc.of_task(source, options, today))
        plan = ipc.plan(child.hear(source, "plan")[0])
        child.awaits_word = True
        return _RemoteParse(source, plan, child)

    def _free_child(self) -> "_Child":
        child = self._child
        if child is not None and child.awaits_word:
            child.tell(None, {"go_on": False})
            child.awaits_word, child.is_busy = False, False
        elif child is not None and child.is_busy:
            child.end()
            child = None
        if child is None or child.has_ended:
            child = self._child = _Child(self._memory_mib)
        child.is_busy = True
        return child


@dataclass(frozen=True)
class _RemoteParse:
    """A file that a child parses."""

    source: Source
    plan: Plan
    child: "_Child"

    def conventions(self) -> Conventions:
        self.child.awaits_word = False
        self.child.tell(self.source, {"go_on": True})
        return ipc.conventions(self.child.hear(self.source, "conventions")[0])

    def chunks(self, found: Conventions) -> Iterator[Chunk]:  # noqa: ARG002
        """The child knows the conventions: it found them."""
        while True:
            told, rows = self.child.hear(self.source, "chunk")
            if told is None:
                self.child.is_busy = False
                return
            yield ipc.chunk(told, rows)


class _Child:
    """The process, and what it is at."""

    def __init__(self, memory_mib: int) -> None:
        self.memory_mib = memory_mib
        self.is_busy = False
        # It has told the plan of a file, and waits to hear whether to go on.
        self.awaits_word = False
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

    def tell(self, source: Source | None, message: ipc.Message) -> None:
        """Sends a word; a child that is gone is told of when it is listened to."""
        try:
            ipc.send(_open(self._process.stdin), message)
        except BrokenPipeError:
            self.end()
            if source is not None:
                raise self._too_large(source) from None

    def hear(self, source: Source, wanted: str) -> tuple[Any, bytes]:
        """What the next answer says under that word; None at the end of a file.

        Raises:
          RefusedFileError: it refuses the file, or the file was too much for it.
        """
        try:
            told, payload = ipc.receive(_open(self._process.stdout))
        except EOFError:
            told, payload = {"too_large": True}, b""
        if wanted in told:
            return told[wanted], payload
        self.is_busy = False
        if "refused" in told:
            raise RefusedFileError(told["refused"])
        if "too_large" in told:
            self.end()
            raise self._too_large(source)
        if "mistake" in told:
            raise RuntimeError(
                f"The parser of {source.name} failed:\n{told['mistake']}"
            )
        return None, payload

    def end(self) -> None:
        """Kills it, whatever it is at."""
        self.has_ended = True
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def _too_large(self, source: Source) -> RefusedFileError:
        return RefusedFileError(
            f"{source.name} needs more memory than its parser may use "
            f"(HARBOR_PARSER_MEMORY_MIB is {self.memory_mib:,}), or makes it crash. "
            "If the file should be that large, split it or raise the setting; else "
            "export it again."
        )


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "both are pipes"
    return stream
