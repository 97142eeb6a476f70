"""The ledger of runs: records every step as one row in `runs`, however it ends."""

import os
import socket
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import SQLAlchemyError
from structlog.contextvars import bound_contextvars

from forecaster.errors import NothingToDoError
from pipelines.runs.error_messages import describe_error, is_expected
from pipelines.runs.locks import own_session
from pipelines.runs.run_log import store_lines_in
from pipelines.schema.run_metrics import DETAILS
from pipelines.store import runs

log = structlog.get_logger()

DEAD_RUN_MESSAGE = (
    "Its database session ended before it did: process %s on %s was killed, or lost the "
    "database. What it stored is complete; start it again, and it continues from there."
)


@dataclass
class Run:
    """A step in progress; its metrics are stored in the ledger when it ends."""

    run_id: int
    # Engine on the one session that holds the run's lock; the run publishes only on it.
    engine: sa.Engine
    # Id of the run that the step belongs to; None for a top-level run.
    parent_id: int | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    started_s: float = field(default_factory=time.monotonic)


@contextmanager
def recorded(
    engine: sa.Engine,
    step: str,
    origin: date | None = None,
    parent: Run | None = None,
    lock: sa.Engine | None = None,
) -> Iterator[Run]:
    """Records a run: inserts its row, and stores its log lines and how it ended.

    The row is committed before the work begins, so that a crashed run is visible; the next
    top-level run marks it as failed. The run publishes on the session of `parent` or of `lock`
    (from `try_lock`), else on a session of its own.

    Raises:
      LostRunError: the run's session has ended.
    """
    if parent is None:
        fail_dead_runs(engine)
    given = parent.engine if parent else lock
    publishing = own_session(engine) if given is None else nullcontext(given)
    with publishing as session, store_lines_in(engine):
        with session.begin() as connection:
            parent_id = parent.run_id if parent else None
            process = socket.gethostname(), os.getpid()
            run_id = runs.begin_run(connection, step, origin, parent_id, process)
        run = Run(run_id, session, parent_id)
        # No statement may come between the insert and this `try`: a signal there would leave
        # the run stored as running until its process ends.
        try:
            with bound_contextvars(run_id=run.run_id, step=step):
                log.info("started", origin=None if origin is None else str(origin))
                yield run
            _end(session, run, step, "done")
        except BaseException as error:
            _end_after(error, engine, run, step)
            raise


def _end(
    engine: sa.Engine, run: Run, step: str, state: str, error: str | None = None
) -> None:
    with engine.begin() as connection:
        runs.end_run(connection, run.run_id, state, run.metrics, error)
    if error is None:
        # Details may name thousands of depots.
        fields = {k: v for k, v in run.metrics.items() if k not in DETAILS}
    else:
        # The error of a top-level run is raised, and its caller reports it.
        fields = {"error": error} if run.parent_id is not None else {}
    took_seconds = round(time.monotonic() - run.started_s, 1)
    log.info(state, step=step, run_id=run.run_id, took_seconds=took_seconds, **fields)


def _end_after(error: BaseException, engine: sa.Engine, run: Run, step: str) -> None:
    """Stores how a run failed, if the database is available; the caller raises the error.

    Any session may be used, because a failure publishes nothing.
    """
    if isinstance(error, Exception) and not is_expected(error):
        lines = traceback.format_exception(error)
        log.error("traceback", run_id=run.run_id, step=step, lines=lines)
    state = "skipped" if isinstance(error, NothingToDoError) else "failed"
    message = describe_error(error)
    try:
        _end(engine, run, step, state, message)
    except SQLAlchemyError:
        log.warning("end_not_recorded", step=step, run_id=run.run_id, error=message)


def fail_dead_runs(engine: sa.Engine) -> list[int]:
    """Marks running runs whose session has ended as failed, and returns their ids."""
    with engine.begin() as connection:
        dead = runs.fail_runs_without_session(connection, DEAD_RUN_MESSAGE)
    for run_id in dead:
        log.warning("run_died", run_id=run_id)
    return dead
