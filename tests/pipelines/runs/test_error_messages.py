"""Errors are described in one sentence with advice."""

import errno

import psycopg
import pytest
from psycopg.errors import (
    AdminShutdown,
    DiskFull,
    UndefinedColumn,
    UniqueViolation,
)
from sqlalchemy.exc import DBAPIError, OperationalError

from forecaster.errors import NoDataError
from pipelines.runs.error_messages import describe_error, is_expected
from pipelines.runs.locks import LostRunError

CHECKPOINT = (
    'RESOURCE_EXHAUSTED: Error opening "zarr" driver: Error writing "bias/.zarray" in '
    'OCDBT database at local file "judged/10/": Failed to write 187 bytes to file 13: '
    "No space left on device [tensorstore_spec='{}']"
)
"""As TensorStore says it (shortened), 2026-11-21."""


def raised_while_handling(error, before):
    """An error as it is after another, which it hides."""
    error.__context__ = before
    return error


def wrapped(error):
    return DBAPIError.instance("select 1", {}, error, psycopg.Error)


@pytest.mark.parametrize(
    ("error", "foreseen", "advice"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True, "Make room"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True, "Make room"),
        (OSError(errno.EFBIG, "File too large"), True, "Make room"),
        (DiskFull("could not extend file"), True, "Make room"),
        (wrapped(DiskFull("could not extend file")), True, "Make room"),
        (
            raised_while_handling(LostRunError(), DiskFull("could not write to file")),
            True,
            "The disk is full: could not write to file. Make room",
        ),
        (AdminShutdown("terminating connection"), True, "'harbor doctor'"),
        (wrapped(AdminShutdown("terminating connection")), True, "'harbor doctor'"),
        (OperationalError("select 1", {}, psycopg.OperationalError()), True, "doctor"),
        (wrapped(UniqueViolation("duplicate key")), False, "report it"),
        (
            wrapped(UndefinedColumn("column f.city does not exist")),
            False,
            "report it",
        ),
        (OSError(errno.EACCES, "Permission denied"), False, "report it"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "/a"), True, "/a cannot"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/a"),
            True,
            "let this user",
        ),
        (FileNotFoundError(errno.ENOENT, "No such file", "/a"), False, "report it"),
        (MemoryError(), False, "more memory"),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory"), False, "device memory"),
        (
            ValueError(CHECKPOINT),
            True,
            "The disk is full: No space left on device. Make room",
        ),
        (KeyError("depot"), False, "report it"),
        (NoDataError("There is none. Load it."), True, "Load it"),
        (SystemExit(143), False, "continues from there"),
    ],
)
def test_a_failure_says_what_to_do(error, foreseen, advice):
    assert is_expected(error) is foreseen
    told = describe_error(error)
    assert advice in told
    assert "\n" not in told
    assert told.endswith(".")
