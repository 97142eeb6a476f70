"""Log lines: one event each, in words or as JSON, to stderr; a run's into the ledger, too."""

import json
import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from pipelines.cli import log_words
from pipelines.cli.console import visible
from pipelines.runs.run_log import plain, store_line
from pipelines.settings import logs_as_json


def configure_logs(level: int = logging.WARNING, out: TextIO | None = None) -> None:
    """Says what is shown.

    Args:
      level: The least one; commands for people show warnings only.
      out: Where to; stderr without it.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            store_line,
            _shown_from(level),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _renderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=_to_stderr if out is None else structlog.PrintLoggerFactory(out),
    )


def _to_stderr(*_: object) -> structlog.PrintLogger:
    # Asked for anew with each line: stderr may be another one by then.
    return structlog.PrintLogger(sys.stderr)


class OfLibraries(logging.Handler):
    """Writes what libraries log as our lines are, with the run that they work for."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line; a traceback becomes the error's own words."""
        told: dict[str, object] = {"library": record.name, "says": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            told["error"] = repr(record.exc_info[1])
        structlog.get_logger().log(record.levelno, "library", **told)


def take_library_logs() -> None:
    """Has the warnings of libraries written so; once in a process."""
    logging.basicConfig(level=logging.WARNING, handlers=[OfLibraries()])


def _renderer() -> Processor:
    if logs_as_json():
        return _as_json
    return _in_words


def _in_words(_: WrappedLogger, __: str, event: EventDict) -> str:
    at, level, name = (event.pop(key) for key in ("timestamp", "level", "event"))
    run_id, step = event.pop("run_id", None), event.pop("step", "")
    run = None if run_id is None else (run_id, step)
    # Masked by the same rule as in the ledger.
    told = {key: plain(value) for key, value in event.items()}
    line = log_words.line(f"{at[:10]} {at[11:19]}Z", level, run, name, told)
    return visible(line)


def _as_json(_: WrappedLogger, __: str, event: EventDict) -> str:
    # By our own rule: an address that is a tuple would be written with its password.
    return json.dumps({key: plain(value) for key, value in event.items()})


def _shown_from(level: int) -> Processor:
    def drop_below(_: WrappedLogger, method: str, event: EventDict) -> EventDict:
        if logging.getLevelNamesMapping()[method.upper()] < level:
            raise structlog.DropEvent
        return event

    return drop_below
