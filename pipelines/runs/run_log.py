"""Stores the log lines of a run in the database, where other processes can follow them."""

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from structlog.typing import EventDict, WrappedLogger

from pipelines.store import run_lines

MAX_CHARACTERS = 2_000

_ENGINE: ContextVar[sa.Engine | None] = ContextVar("engine of the run", default=None)


@contextmanager
def store_lines_in(engine: sa.Engine | None) -> Iterator[None]:
    """Stores log lines that have a run id in this database until the block ends."""
    token = _ENGINE.set(engine)
    try:
        yield
    finally:
        _ENGINE.reset(token)


def store_line(_: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Stores an event that has a run id; a structlog processor.

    Without a database the line is only shown.
    """
    engine = _ENGINE.get()
    if engine is not None and isinstance(event.get("run_id"), int):
        # Log lines of the driver during the insert are not stored.
        with (
            store_lines_in(None),
            suppress(SQLAlchemyError),
            engine.begin() as connection,
        ):
            run_lines.write_line(
                connection, run_id=event["run_id"], written_at=datetime.now(UTC),
                level=method, event=str(event["event"]), fields=_fields(event),
            )  # fmt: skip
    return event


def _fields(event: EventDict) -> dict[str, Any]:
    # These fields have their own columns, or are stored in the row of the run.
    excluded = {"run_id", "step", "event", "level", "timestamp"}
    return {key: plain(value) for key, value in event.items() if key not in excluded}


def plain(value: Any) -> Any:
    """Converts a value to types that JSON can represent."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)[:MAX_CHARACTERS]
