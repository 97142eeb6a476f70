"""PostgreSQL's own programs, which come with the embedded server: dump and load."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa
from psycopg.conninfo import make_conninfo

from forecaster.errors import DatabaseError
from pipelines.database.embedded.binaries import Account, programs

# Dumps take a lock on every table; a migration at the same time is not waited for.
LOCK_WAIT_MS = 30_000
# Every script of pg_restore has it, and servers before 17 do not know it.
NOT_KNOWN_BY_ALL = b"SET transaction_timeout = 0;\n"
WHERE_KNOWN = """
select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout';
"""
HEAD_BYTES = 4096


def dump(url: sa.URL, schema: str, snapshot: str, target: Path) -> None:
    """Writes the tables of a schema down as one transaction sees them.

    Owners and rights are left out: `roles` gives them anew where it is restored.

    Args:
      url: Of the database.
      schema: The tables lie in.
      snapshot: That another session has exported, and keeps open.
      target: A file, readable by this user alone.

    Raises:
      DatabaseError: pg_dump failed; with its last sentence.
    """
    target.touch(mode=0o600)
    options = ["--format=custom", "--compress=gzip:1", "--no-owner", "--no-privileges"]
    options += [f"--schema={schema}", f"--snapshot={snapshot}", f"--file={target}"]
    options += [f"--lock-wait-timeout={LOCK_WAIT_MS}"]
    with _connection(url) as address:
        done = subprocess.run(  # noqa: S603 - PostgreSQL's own program, no shell
            [_program("pg_dump"), *options, f"--dbname={address}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise _failed("pg_dump", done.stderr)


def load(url: sa.URL, schema: str, source: Path, before: str, after: str) -> None:
    """Runs a dump's statements between two of ours, all of it or nothing.

    Args:
      url: Of the database.
      schema: Whose tables are in the dump.
      source: Written by `dump`.
      before: SQL that makes room.
      after: SQL that fails if not everything has come.

    Raises:
      DatabaseError: it failed, and the database is as it was.
    """
    options = ["--no-psqlrc", "--quiet", "--single-transaction", "--file=-"]
    options += ["--set=ON_ERROR_STOP=1", "--output=/dev/null"]
    with _connection(url) as address, tempfile.TemporaryFile("w+") as said:
        taker = subprocess.Popen(  # noqa: S603 - PostgreSQL's own program, no shell
            [_program("psql"), *options, f"--dbname={address}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        try:
            _feed(taker, schema, source, before, after)
        finally:
            # Ended before the end of what it reads, it commits nothing.
            taker.kill()
            taker.wait()
            with suppress(BrokenPipeError):
                taker.stdin.close()  # type: ignore[union-attr]
        said.seek(0)
        if taker.returncode != 0:
            raise _failed("psql", said.read())


def _feed(
    taker: subprocess.Popen[bytes], schema: str, source: Path, before: str, after: str
) -> None:
    pipe = taker.stdin
    assert pipe is not None
    try:
        pipe.write(f"{WHERE_KNOWN}{before}\n".encode())
        _copy_script(schema, source, taker)
        pipe.write(f"\n{after}\n".encode())
        pipe.close()
    except BrokenPipeError:
        pass  # it has stopped at an error, and says which
    taker.wait()


def _copy_script(schema: str, source: Path, taker: subprocess.Popen[bytes]) -> None:
    command = [_program("pg_restore"), "--no-owner", "--no-privileges", "--file=-"]
    command += [f"--schema={schema}", str(source)]
    with tempfile.TemporaryFile("w+") as said:
        giver = subprocess.Popen(  # noqa: S603 - PostgreSQL's own program, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said
        )
        with giver:
            assert giver.stdout is not None
            assert taker.stdin is not None
            head = giver.stdout.read(HEAD_BYTES)
            taker.stdin.write(head.replace(NOT_KNOWN_BY_ALL, b"", 1))
            shutil.copyfileobj(giver.stdout, taker.stdin)
        said.seek(0)
        if giver.returncode != 0:
            raise _failed("pg_restore", said.read())


@contextmanager
def _connection(url: sa.URL) -> Iterator[str]:
    """Says where the database is; the password is in a file, where no list shows it."""
    given = {
        **url.translate_connect_args(username="user", database="dbname"),
        **url.query,
    }
    password = given.pop("password", None)
    with tempfile.NamedTemporaryFile("w", prefix="harbor-") as file:
        if password is not None:
            quoted = str(password).replace("\\", "\\\\").replace(":", "\\:")
            file.write(f"*:*:*:*:{quoted}\n")
            file.flush()
            given["passfile"] = file.name
        yield make_conninfo(**{name: str(value) for name, value in given.items()})


def _program(name: str) -> str:
    return str(programs(Account(os.geteuid(), os.getegid())) / name)


def _failed(program: str, said: str) -> DatabaseError:
    lines = [line for line in said.splitlines() if line.strip()]
    told = next((line for line in lines if "ERROR" in line or "error:" in line), None)
    why = (told or " ".join(lines[-1:])).strip().rstrip(".")
    return DatabaseError(
        f"{program} failed: {why}. The database is as it was. Correct the cause, and "
        "try again."
    )
