"""The ledger of runs: records every step as one row in `runs`, however it ends."""

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
from pipelines.runs.error_messages import describe_error, is_expected
from pipelines.runs.fencing import Fence, LostRunError, fenced
from pipelines.runs.heartbeat import (
    HEARTBEAT_INTERVAL_S,
    Heartbeat,
    fail_stale_runs,
    this_process,
)
from pipelines.store import runs
from pipelines.store.locks import HeldLock

log = structlog.get_logger()


@dataclass
class Run:
    """A step that runs now; its metrics end up in the ledger."""

    run_id: int
    heartbeat: Heartbeat
    fence: Fence
    # Commits only while the run holds its fence; everything published uses it.
    engine: sa.Engine
    metrics: dict[str, Any] = field(default_factory=dict)
    # The stored message if the run fails; by default the exception's.
    error: str = ""
    started_s: float = field(default_factory=time.monotonic)


@contextmanager
def recorded(
    engine: sa.Engine,
    step: str,
    origin: date | None = None,
    parent: Run | None = None,
    lock: HeldLock | None = None,
) -> Iterator[Run]:
    """Records a run: inserts its row, renews its heartbeat, and stores how it ended.

    The row is committed before the work begins, so that a crashed run is visible; the
    next top-level run marks it as failed.

    Args:
      engine: Database the pipelines own.
      step: Name of the step.
      origin: Origin of the run, if it has one.
      parent: The run that the step belongs to.
      lock: A lock the run needs to publish; a step uses its parent's.

    Raises:
      LostRunError: it was marked as failed while it was still running.
    """
    if parent is None:
        fail_stale_runs(engine)
    with _heartbeat_of(engine, parent) as heartbeat:
        run = _begin(engine, step, origin, parent, lock, heartbeat)
        # Nothing may come between the insert and this: a signal there would leave a run
        # that is stored as running for ever.
        try:
            with bound_contextvars(run_id=run.run_id, step=step):
                log.info("started", origin=None if origin is None else str(origin))
                yield run
        except BaseException as error:
            state = "skipped" if isinstance(error, NothingToDoError) else "failed"
            _end_after(error, engine, run, step, state)
            raise
        finally:
            heartbeat.remove(run.run_id)
        _end(engine, run, step, "done")


def _begin(
    engine: sa.Engine,
    step: str,
    origin: date | None,
    parent: Run | None,
    lock: HeldLock | None,
    heartbeat: Heartbeat,
) -> Run:
    with engine.begin() as connection:
        parent_id = parent.run_id if parent else None
        process = this_process()
        run_id = runs.begin_run(connection, step, origin, parent_id, process)
    heartbeat.add(run_id)
    fence = _fence(run_id, parent, lock)
    return Run(run_id, heartbeat, fence, fenced(engine, fence))


def _fence(run_id: int, parent: Run | None, lock: HeldLock | None) -> Fence:
    if parent is None:
        return Fence((run_id,), lock)
    return Fence((*parent.fence.run_ids, run_id), parent.fence.lock)


@contextmanager
def _heartbeat_of(engine: sa.Engine, parent: Run | None) -> Iterator[Heartbeat]:
    """Starts a heartbeat for a top-level run; a step shares its parent's."""
    if parent is not None:
        yield parent.heartbeat
        return
    heartbeat = Heartbeat(engine, HEARTBEAT_INTERVAL_S)
    heartbeat.start()
    try:
        yield heartbeat
    finally:
        heartbeat.stop()


def _end(
    engine: sa.Engine, run: Run, step: str, state: str, error: str | None = None
) -> None:
    # Before the end, so that a follower of the run sees them.
    run.heartbeat.write_lines()
    with engine.begin() as connection:
        if not runs.end_run(connection, run.run_id, state, run.metrics, error):
            # It was marked as failed; this raises the reason.
            run.fence.check(connection)
    fields = run.metrics if error is None else {"error": error}
    took_seconds = round(time.monotonic() - run.started_s, 1)
    log.info(state, step=step, run_id=run.run_id, took_seconds=took_seconds, **fields)


def _end_after(
    error: BaseException, engine: sa.Engine, run: Run, step: str, state: str
) -> None:
    """Stores how a run failed, if the database is available; the caller raises the error."""
    try:
        if not run.error and isinstance(error, Exception) and not is_expected(error):
            lines = traceback.format_exception(error)
            log.error("traceback", run_id=run.run_id, step=step, lines=lines)
        _end(engine, run, step, state, run.error or describe_error(error))
    except (SQLAlchemyError, LostRunError):
        message = describe_error(error)
        log.warning("end_not_recorded", step=step, run_id=run.run_id, error=message)
