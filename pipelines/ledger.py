"""Records a step while it runs: one row in `runs`, whatever happens."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import sqlalchemy as sa
import structlog

from forecaster.errors import HarborError, NothingToDoError
from pipelines.store import runs

log = structlog.get_logger()


@dataclass
class Run:
    """A step that runs now; what it counts ends up in the ledger."""

    run_id: int
    counts: dict[str, Any] = field(default_factory=dict)


@contextmanager
def recorded(
    engine: sa.Engine, step: str, origin: date | None = None, parent: Run | None = None
) -> Iterator[Run]:
    """Writes a row before the work and its end after it.

    The row is committed on its own, so that a run which died is still seen.
    """
    parent_id = parent.run_id if parent else None
    with engine.begin() as connection:
        run = Run(runs.begin_run(connection, step, origin, parent_id))
    log.info("started", step=step, run_id=run.run_id, origin=str(origin))
    try:
        yield run
    except BaseException as error:
        state = "skipped" if isinstance(error, NothingToDoError) else "failed"
        with engine.begin() as connection:
            runs.end_run(connection, run.run_id, state, run.counts, _sentence(error))
        log.info(state, step=step, run_id=run.run_id, error=_sentence(error))
        raise
    with engine.begin() as connection:
        runs.end_run(connection, run.run_id, "done", run.counts)
    log.info("done", step=step, run_id=run.run_id, **run.counts)


def _sentence(error: BaseException) -> str:
    if isinstance(error, HarborError):
        return str(error)
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        return "It was stopped from outside."
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
