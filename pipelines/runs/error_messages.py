"""What went wrong in one sentence, and what to do about it."""

import errno
import os

import psycopg
from psycopg.errors import DiskFull
from sqlalchemy.exc import DBAPIError, PendingRollbackError

from forecaster.errors import HarborError

UNEXPECTED = (
    "This is unexpected. Try again; if it fails again, report it with what 'harbor "
    "runs show' says of the run"
)


# What XLA's own errors begin with; their type lies in jaxlib, which may not be there.
FULL_DEVICE = "RESOURCE_EXHAUSTED"
# What writes checkpoints begins so too, and ends a page of its own words with the system's.
FULL_DISK = os.strerror(errno.ENOSPC)
UNUSABLE = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EEXIST,
        errno.ENAMETOOLONG,
    }
)


def describe_error(error: BaseException) -> str:
    """An error as the ledger keeps it."""
    if isinstance(error, HarborError):
        return str(error)
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        return (
            "It was stopped from outside. Start it again, and it continues from there."
        )
    if isinstance(error, BaseExceptionGroup):
        return error.message
    if _is_unusable_place(error):
        return _told_of_place(error)
    first = (
        [FULL_DISK] if _wrote_no_more(error) else str(error).strip().splitlines()[:1]
    )
    told = ": ".join([type(error).__name__, *first]).rstrip(".")
    return f"{told}. {_what_to_do(error)}."


def is_expected(error: BaseException) -> bool:
    """Whether a sentence says enough of an error: it is no fault of the program.

    So it is with every error of `forecaster.errors`, with a full disk, with a database
    that went away, with a place that cannot be used, and with a group of such.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(is_expected(each) for each in error.exceptions)
    known = isinstance(error, HarborError) or _is_unusable_place(error)
    return known or _is_full_disk(error) or _is_lost_database(error)


def _what_to_do(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "Give the machine more memory, or stop what else runs on it"
    if _is_full_disk(error):
        return "Make room under HARBOR_HOME and where the database lies, then start it again"
    if str(error).startswith(FULL_DEVICE):
        return "See 'Out of device memory' in deploy/RUNBOOK.md, then start it again"
    if _is_lost_database(error):
        return "Check the database with 'harbor doctor', then try again"
    return UNEXPECTED


def _is_unusable_place(error: BaseException) -> bool:
    """Whether a file or folder is of the wrong kind or closed to this user."""
    return (
        isinstance(error, OSError)
        and error.errno in UNUSABLE
        and error.filename is not None
    )


def _told_of_place(error: BaseException) -> str:
    assert isinstance(error, OSError)
    return (
        f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}. Name another "
        "place, or let this user in, then start it again."
    )


def _is_full_disk(error: BaseException) -> bool:
    cause = _of_driver(error)
    if isinstance(cause, OSError):
        return cause.errno == errno.ENOSPC
    return isinstance(cause, DiskFull) or _wrote_no_more(error)


def _wrote_no_more(error: BaseException) -> bool:
    """Whether a checkpoint met a full disk; it is told as an error of a value."""
    return str(error).startswith(FULL_DEVICE) and FULL_DISK in str(error)


def _is_lost_database(error: BaseException) -> bool:
    lost = (psycopg.OperationalError, psycopg.InterfaceError, PendingRollbackError)
    return isinstance(_of_driver(error), lost)


def _of_driver(error: BaseException) -> BaseException | None:
    """What SQLAlchemy has wrapped; COPY goes past it, and raises the driver's own."""
    return error.orig if isinstance(error, DBAPIError) else error
