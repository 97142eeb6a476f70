"""Describes an error in one sentence, with what to do about it."""

import errno
import os
from typing import TypeGuard

import psycopg
from psycopg.errors import DiskFull
from sqlalchemy.exc import DBAPIError, PendingRollbackError

from forecaster.errors import DatabaseError, HarborError

UNEXPECTED = (
    "This is unexpected. Try again; if it fails again, report it with what 'harbor "
    "runs show' says of the run"
)


# The prefix of XLA's out-of-memory errors; their type is in jaxlib, which is optional.
FULL_DEVICE = "RESOURCE_EXHAUSTED"
# A checkpoint write on a full disk raises with the same prefix and ends with this message.
FULL_DISK = os.strerror(errno.ENOSPC)
FULL_DISK_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
UNUSABLE_PATH_ERRNOS = frozenset(
    {
        errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST,
        errno.ENAMETOOLONG,
    }
)  # fmt: skip


def describe_error(error: BaseException) -> str:
    """Returns the message for an error, as stored with the run.

    If the database was lost because its disk is full, the message reports the full disk.
    """
    if isinstance(error, DatabaseError) or _is_lost_database(error):
        error = _full_disk_behind(error) or error
    if isinstance(error, HarborError):
        return str(error)
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        return (
            "It was stopped from outside. Start it again, and it continues from there."
        )
    if _is_unusable_path(error):
        return (
            f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}. Name another "
            "place, or let this user in, then start it again."
        )
    first = str(error).strip().splitlines()[:1]
    if _is_full_checkpoint_disk(error):
        first = [FULL_DISK]
    kind = "The disk is full" if is_full_disk(error) else type(error).__name__
    message = ": ".join([kind, *first]).rstrip(".")
    return f"{message}. {_advice(error)}."


def is_expected(error: BaseException) -> bool:
    """Whether an error is not the program's fault, so that it needs no traceback.

    Expected errors are those of `forecaster.errors`, a full disk, a lost database and an
    unusable path.
    """
    is_foreseen = isinstance(error, HarborError) or _is_unusable_path(error)
    return is_foreseen or _is_lost_database(error) or is_full_disk(error)


def _advice(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "Give the machine more memory, or stop other programs on it"
    if is_full_disk(error):
        return (
            "Make room under HARBOR_HOME, where the database lies, and where a file was to be "
            "written, then start it again"
        )
    if str(error).startswith(FULL_DEVICE):
        return "See 'Out of device memory' in deploy/RUNBOOK.md, then start it again"
    if _is_lost_database(error):
        return "Check the database with 'harbor doctor', then try again"
    return UNEXPECTED


def _is_unusable_path(error: BaseException) -> TypeGuard[OSError]:
    """Whether a file or folder is of the wrong type or not accessible to this user."""
    return (
        isinstance(error, OSError)
        and error.errno in UNUSABLE_PATH_ERRNOS
        and error.filename is not None
    )


def is_full_disk(error: BaseException) -> bool:
    """Whether space ran out: on the disk, in a quota, or under a limit on file size."""
    cause = _driver_error(error)
    if isinstance(cause, OSError):
        return cause.errno in FULL_DISK_ERRNOS
    return isinstance(cause, DiskFull) or _is_full_checkpoint_disk(error)


def _full_disk_behind(error: BaseException | None) -> BaseException | None:
    """Returns the first full-disk error in an error's chain of causes and contexts, or None."""
    while error is not None and not is_full_disk(error):
        error = error.__cause__ or error.__context__
    return error


def _is_full_checkpoint_disk(error: BaseException) -> bool:
    """Whether the error, a ValueError, was raised by a checkpoint write on a full disk."""
    return str(error).startswith(FULL_DEVICE) and FULL_DISK in str(error)


def _is_lost_database(error: BaseException) -> bool:
    lost = (psycopg.OperationalError, psycopg.InterfaceError, PendingRollbackError)
    return isinstance(_driver_error(error), lost)


def _driver_error(error: BaseException) -> BaseException | None:
    """The driver's error, which SQLAlchemy wraps; COPY raises it unwrapped."""
    return error.orig if isinstance(error, DBAPIError) else error
