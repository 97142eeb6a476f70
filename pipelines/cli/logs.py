"""Log lines on stderr, as text or JSON, one event each; lines of runs are also stored."""

import logging
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

from pipelines.cli.console import visible
from pipelines.runs.run_log import plain, store_line
from pipelines.settings import logs_as_json

CONSOLE = structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)


def configure_logs(level: int = logging.WARNING) -> None:
    """Configures structlog to print lines of `level` and above on stderr.

    Log lines of runs are stored from INFO up.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            store_line,
            partial(_drop_below, level),
            _to_plain_values,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer()
            if logs_as_json()
            else lambda _, __, event: format_event(event),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        # sys.stderr may have been replaced by the time a line is printed.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


class LibraryHandler(logging.Handler):
    """Passes log records of libraries to structlog, which adds the current run."""

    def emit(self, record: logging.LogRecord) -> None:
        """Logs one record; a traceback is reduced to its error."""
        fields = {"library": record.name, "message": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = repr(record.exc_info[1])
        structlog.get_logger().log(record.levelno, "library", **fields)


def capture_library_logs() -> None:
    """Passes the logs of libraries to structlog; called once per process."""
    logging.basicConfig(level=logging.WARNING, handlers=[LibraryHandler()])


def format_event(event: Mapping[str, Any]) -> str:
    """One event as a line of text; fields that are None are left out."""
    present = {name: value for name, value in event.items() if value is not None}
    return visible(str(CONSOLE(None, "", present)))


def _to_plain_values(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    # As in the ledger: types that JSON lacks become text, and the text of a URL has no password.
    return {name: plain(value) for name, value in event.items()}


def _drop_below(
    level: int, _: WrappedLogger, method: str, event: EventDict
) -> EventDict:
    if logging.getLevelNamesMapping()[method.upper()] < level:
        raise structlog.DropEvent
    return event
