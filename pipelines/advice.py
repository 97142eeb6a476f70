"""What went wrong in one sentence, and what to do about it."""

import errno

from sqlalchemy.exc import OperationalError

from forecaster.errors import HarborError

NOT_FORESEEN = (
    "This was not foreseen. Start it again; if it fails again, report it with what "
    "'harbor runs show' says of the run"
)


def sentence(error: BaseException) -> str:
    """An error as the ledger keeps it."""
    if isinstance(error, HarborError):
        return str(error)
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        return "It was stopped from outside. Start it again, and it goes on from there."
    first = str(error).strip().splitlines()[:1]
    told = ": ".join([type(error).__name__, *first]).rstrip(".")
    return f"{told}. {_what_to_do(error)}."


def _what_to_do(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "Give the machine more memory, or stop what else runs on it"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "Make room under HARBOR_HOME and where the database lies, then start it again"
    if isinstance(error, OperationalError):
        return "Look at the database with 'harbor doctor', then start it again"
    return NOT_FORESEEN
