"""Parses files in a process of its own, which may not take all of the machine's memory.

    python -m pipelines.ingest.child MIB

Each file is a task on stdin. It is answered on stdout by its plan; when told to go on, by
its conventions, its parcels, and an end.
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
    """Answers tasks until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not end up among the answers.
    os.dup2(2, 1)
    _limit_memory(int(sys.argv[1]) * MIB)
    tasks = sys.stdin.buffer
    try:
        while True:
            _answer(ipc.receive(tasks)[0], tasks, answers)
    except (EOFError, BrokenPipeError):
        # The parent has ended; there is nobody left to tell. Nor is there what is unsent.
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
    opened = LocalParse.open(*ipc.task(task))
    ipc.send(answers, {"plan": ipc.of_plan(opened.plan)})
    if not ipc.receive(tasks)[0]["go_on"]:
        return
    found = opened.conventions()
    ipc.send(answers, {"conventions": asdict(found)})
    for chunk in opened.chunks(found):
        ipc.send(answers, {"chunk": ipc.of_chunk(chunk)}, chunk.rows)
    ipc.send(answers, {"end": True})


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    # Memory that is written to: address space alone costs nothing, and threads reserve much.
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
