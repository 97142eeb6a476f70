"""Log lines: one event each, key=value or JSON, to stderr; those of a run into the ledger, too."""

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from pipelines.run_log import LOG
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
            LOG.keep,
            _shown_from(level),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _renderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(file=out or sys.stderr),
    )


def _renderer() -> Processor:
    if logs_as_json():
        return structlog.processors.JSONRenderer(default=str)
    order = ["timestamp", "level", "event"]
    return structlog.processors.KeyValueRenderer(key_order=order)


def _shown_from(level: int) -> Processor:
    def drop_below(_: WrappedLogger, method: str, event: EventDict) -> EventDict:
        if logging.getLevelNamesMapping()[method.upper()] < level:
            raise structlog.DropEvent
        return event

    return drop_below
