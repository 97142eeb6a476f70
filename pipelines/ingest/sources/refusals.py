"""Why a file is refused: one that breaks the program does not keep the others out."""

import traceback

import structlog

from forecaster.errors import RefusedFileError
from pipelines.ingest.sources.files import first_line

log = structlog.get_logger()


class ParserError(Exception):
    """The parser of a file failed; the message has its traceback after the first line."""


def refusal(name: str, error: Exception) -> str:
    """Returns why a file is refused; logs the traceback of an error that nobody foresaw.

    Raises the error if every other file would meet it, as when the database is lost or the
    disk is full.
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
        "traceback in the log, and take the file out until it is mended."
    )
