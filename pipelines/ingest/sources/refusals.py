"""Reasons for refusing a file, including a file that causes an unexpected error."""

import traceback

import structlog

from forecaster.errors import RefusedFileError
from pipelines.ingest.sources.files import first_line

log = structlog.get_logger()


class ParserError(Exception):
    """The parser of a file failed; the message has its traceback after the first line."""


def refusal(name: str, error: Exception) -> str:
    """Returns the reason for refusing a file; logs the traceback of an unexpected error.

    Raises the error itself if it would affect every file, such as a lost database or a full
    disk.
    """
    # Imported here: the process that parses files needs no database.
    from pipelines.runs.error_messages import is_expected

    if isinstance(error, RefusedFileError):
        return str(error)
    if is_expected(error):
        raise error
    log.error("traceback", file=name, lines=traceback.format_exception(error))
    cause = first_line(error)
    if not isinstance(error, ParserError):
        cause = f"{type(error).__name__}: {cause}"
    return (
        f"{name} cannot be loaded. {cause}. This is unexpected: report it with the "
        "traceback in the log, and remove the file until the error is fixed."
    )
