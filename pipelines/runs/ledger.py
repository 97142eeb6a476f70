"""Records a step while it runs: one row in `runs`, whatever happens."""

import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import SQLAlchemyError
from structlog.contextvars import bound_contextvars

from forecaster.errors import NothingToDoError
from pipelines.runs import heartbeat
from pipelines.runs.error_messages import describe_error, is_expected
from pipelines.runs.fencing import Fence, LostRunError, fenced
from pipelines.runs.heartbeat import Heartbeat
from pipelines.store import runs
from pipelines.store.locks import HeldLock

log = structlog.get_logger()


@dataclass
class Run:
    """A step that runs now; its metrics end up in the ledger."""

    run_id: int
    heart: Heartbeat
    fence: Fence
    # Commits only as long as the run has its place: what it publishes goes through this.
    engine: sa.Engine
    metrics: dict[str, Any] = field(default_factory=dict)
    # What the ledger says if it fails, where the exception alone says too little.
    error: str = ""
    began_s: float = field(default_factory=time.monotonic)


@contextmanager
def recorded(
    engine: sa.Engine,
    step: str,
    origin: date | None = None,
    parent: Run | None = None,
    lock: HeldLock | None = None,
) -> Iterator[Run]:
    """Writes a row before the work and its end after it; its heart beats in between.

    The row is committed on its own, so that a run which died is still seen: whoever
    begins a run of its own gives those up first.

    Args:
      engine: Database the pipelines own.
      step: Its name in the ledger.
      origin: The partition, if it has one.
      parent: The whole that the step belongs to.
      lock: Without which the run may publish nothing; a step has its parent's.

    Raises:
      LostRunError: it was given up while it worked.
    """
    if parent is None:
        heartbeat.fail_stale_runs(engine)
    with _beating(engine, parent) as heart:
        run = _begin(engine, step, origin, parent, lock, heart)
        # Nothing may come between the row and this: a signal that ends the process there
        # would leave a run that is running for ever.
        try:
            with bound_contextvars(run_id=run.run_id, step=step):
                log.info("started", origin=None if origin is None else str(origin))
                yield run
        except BaseException as error:
            state = "skipped" if isinstance(error, NothingToDoError) else "failed"
            _end_after(error, engine, run, step, state)
            raise
        finally:
            heart.leave(run.run_id)
        _end(engine, run, step, "done")


def _begin(
    engine: sa.Engine,
    step: str,
    origin: date | None,
    parent: Run | None,
    lock: HeldLock | None,
    heart: Heartbeat,
) -> Run:
    with engine.begin() as connection:
        parent_id = parent.run_id if parent else None
        process = heartbeat.this_process()
        run_id = runs.begin_run(connection, step, origin, parent_id, process)
    heart.take(run_id)
    fence = _fence(run_id, parent, lock)
    return Run(run_id, heart, fence, fenced(engine, fence))


def _fence(run_id: int, parent: Run | None, lock: HeldLock | None) -> Fence:
    if parent is None:
        return Fence((run_id,), lock)
    return Fence((*parent.fence.run_ids, run_id), parent.fence.lock)


@contextmanager
def _beating(engine: sa.Engine, parent: Run | None) -> Iterator[Heartbeat]:
    """A heart of its own for a whole, and the whole's heart for a step of it."""
    if parent is not None:
        yield parent.heart
        return
    heart = Heartbeat(engine, heartbeat.BEAT_S)
    heart.start()
    try:
        yield heart
    finally:
        heart.stop()


def _end(
    engine: sa.Engine, run: Run, step: str, state: str, error: str | None = None
) -> None:
    # Before the end, so that who follows the run sees them.
    run.heart.write_lines()
    with engine.begin() as connection:
        if not runs.end_run(connection, run.run_id, state, run.metrics, error):
            # It was given up; this says so.
            run.fence.check(connection)
    told = run.metrics if error is None else {"error": error}
    took = round(time.monotonic() - run.began_s, 1)
    log.info(state, step=step, run_id=run.run_id, took_seconds=took, **told)


def _end_after(
    error: BaseException, engine: sa.Engine, run: Run, step: str, state: str
) -> None:
    """Writes down how it failed, if the database is there; what failed is raised after."""
    try:
        if not run.error and isinstance(error, Exception) and not is_expected(error):
            lines = traceback.format_exception(error)
            log.error("traceback", run_id=run.run_id, step=step, lines=lines)
        _end(engine, run, step, state, run.error or describe_error(error))
    except (SQLAlchemyError, LostRunError):
        said = describe_error(error)
        log.warning("end_not_recorded", step=step, run_id=run.run_id, error=said)
