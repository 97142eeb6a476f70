"""Runs pg_dump, pg_restore and psql, which come with the embedded server."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from psycopg.conninfo import make_conninfo

from forecaster.errors import DatabaseError
from pipelines.database.embedded.binaries import Account, programs
from pipelines.pruning import RESTORE_PREFIX
from pipelines.settings import child_environment

# How long pg_dump waits for the locks of a migration that runs at the same time.
LOCK_TIMEOUT_MS = 30_000
# pg_restore writes this line into every script, but servers before 17 reject it.
UNKNOWN_BEFORE_17 = b"SET transaction_timeout = 0;\n"
SCRIPT_HEAD_BYTES = 4096


def dump(url: sa.URL, schema: str, snapshot: str, target: Path) -> None:
    """Dumps a schema, as seen by a snapshot that another session has exported.

    Owners and privileges are left out: `roles` grants the privileges after a restore.

    Raises:
      DatabaseError: pg_dump failed.
    """
    target.touch(mode=0o600)
    options = ["--format=custom", "--compress=gzip:1", "--no-owner", "--no-privileges"]
    pattern = '"' + schema.replace('"', '""') + '"'
    options += [f"--schema={pattern}", f"--snapshot={snapshot}", f"--file={target}"]
    options += [f"--lock-wait-timeout={LOCK_TIMEOUT_MS}", f"--dbname={address(url)}"]
    _run("pg_dump", options, url)


def load(
    url: sa.URL, schema: str, dump: Path, *, before: str, after: str, scratch: Path
) -> None:
    """Restores a dump in one transaction, between two SQL scripts.

    `before` drops the existing tables; `after` fails if a row count is wrong. `scratch` is a folder
    with room for the dump as plain text, which is several times larger.

    Raises:
      DatabaseError: a program or statement failed; the database is unchanged.
    """
    with tempfile.TemporaryDirectory(prefix=RESTORE_PREFIX, dir=scratch) as folder:
        scripts = [Path(folder, name) for name in ("before", "dump", "after")]
        scripts[0].write_text(before)
        options = ["--no-owner", "--no-privileges", f"--schema={schema}"]
        _run("pg_restore", [*options, f"--file={scripts[1]}", str(dump)])
        with scripts[1].open("r+b") as file:
            head = file.read(SCRIPT_HEAD_BYTES)
            file.seek(0)
            blank = b"\n".rjust(len(UNKNOWN_BEFORE_17))
            file.write(head.replace(UNKNOWN_BEFORE_17, blank, 1))
        scripts[2].write_text(after)
        options = ["--no-psqlrc", "--quiet", "--output=/dev/null"]
        options += ["--single-transaction", "--set=ON_ERROR_STOP=1"]
        options += [f"--file={script}" for script in scripts]
        _run("psql", [*options, f"--dbname={address(url)}"], url)


def address(url: sa.URL) -> str:
    """Connection string without the password, which process lists would show."""
    parts = _connect_args(url)
    parts.pop("password", None)
    return make_conninfo(**parts)


def _connect_args(url: sa.URL) -> dict[str, Any]:
    """Libpq's parameters, as every other command has them: hosts and password of a query, too."""
    return dict(url.get_dialect()().create_connect_args(url)[1])


def _run(program: str, options: list[str], url: sa.URL | None = None) -> None:
    secret = _connect_args(url).get("password") if url is not None else None
    password = {"PGPASSWORD": str(secret)} if secret else {}
    finished = subprocess.run(  # noqa: S603 - PostgreSQL's own program, no shell
        [programs(Account(os.geteuid(), os.getegid())) / program, *options],
        env=child_environment(**password),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        lines = finished.stderr.strip().splitlines() or ["it gave no reason"]
        errors = [line for line in lines if "ERROR" in line or "error:" in line]
        reason = [*errors, lines[-1]][0].strip().rstrip(".")
        raise DatabaseError(
            f"{program} failed: {reason}. The database is as it was. Correct the cause, "
            "and try again."
        )
