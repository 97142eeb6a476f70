"""Parses files in a child process under a memory limit.

    python -m pipelines.ingest.child MIB

Each file is a task message on stdin. The answer on stdout is its plan;
after `{"go_on": true}`, its conventions, its chunks and an end message.
"""

import os
import sys
import traceback
from dataclasses import asdict
from typing import IO

from forecaster.errors import RefusedFileError
from pipelines.ingest import ipc
from pipelines.ingest.chunks import LocalParse

MIB = 1 << 20


def main() -> None:
    """Answers tasks until the parent closes the pipe."""
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not end up among the messages.
    os.dup2(2, 1)
    _limit_memory(int(sys.argv[1]) * MIB)
    tasks = sys.stdin.buffer
    try:
        while True:
            _answer(ipc.receive(tasks)[0], tasks, answers)
    except (EOFError, BrokenPipeError):
        # The parent has ended: exit without flushing unsent messages.
        os._exit(0)


def _answer(task: ipc.Message, tasks: IO[bytes], answers: IO[bytes]) -> None:
    try:
        _parse(task, tasks, answers)
    except RefusedFileError as error:
        ipc.send(answers, {"refused": str(error)})
    except MemoryError:
        ipc.send(answers, {"too_large": True})
    except (EOFError, BrokenPipeError):
        raise
    except Exception:  # noqa: BLE001 - a mistake of ours, which the parent raises
        ipc.send(answers, {"mistake": traceback.format_exc()})


def _parse(task: ipc.Message, tasks: IO[bytes], answers: IO[bytes]) -> None:
    file = LocalParse.open(*ipc.task(task))
    ipc.send(answers, {"plan": ipc.plan_message(file.plan)})
    if not ipc.receive(tasks)[0]["go_on"]:
        return
    conventions = file.conventions()
    ipc.send(answers, {"conventions": asdict(conventions)})
    for chunk in file.chunks(conventions):
        ipc.send(answers, {"chunk": ipc.chunk_message(chunk)}, chunk.rows)
    ipc.send(answers, {"end": True})


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    # RLIMIT_DATA, not RLIMIT_AS: threads reserve much address space that costs nothing.
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
