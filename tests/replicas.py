"""A streaming replica of the tests' Postgres."""

import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg
import sqlalchemy as sa

from pipelines.database.embedded import binaries

SECONDS = 30
# A vacuum that was being replayed when the replica paused would keep every reader waiting.
HAS_LOCKED_A_TABLE = """select exists (
    select from pg_locks where mode = 'AccessExclusiveLock' and granted)"""
IS_HELD_BACK = (
    f"select pg_get_wal_replay_pause_state() = 'paused' and not ({HAS_LOCKED_A_TABLE})"
)


@contextmanager
def replica_of(url):
    """Copies the server of a URL by pg_basebackup, and starts the copy as a hot standby.

    Yields:
      The URL of the same database on the replica.
    """
    account = binaries.server_account()
    programs = binaries.programs(account)
    folder = Path(tempfile.mkdtemp(prefix="harbor-replica-"))
    shutil.chown(folder, account.uid, account.gid)
    folder.chmod(0o755)
    data, main = folder / "data", sa.make_url(url)
    source = ["-h", main.query["host"], "-U", main.username, "-D", data]
    sockets = f"-c unix_socket_directories={folder}"
    start = ["-D", data, "-o", sockets, "-l", folder / "log", "-w", "start"]
    try:
        _done(
            binaries.run(
                [programs / "pg_basebackup", *source, "-R", "-c", "fast"], account
            )
        )
        _done(binaries.run([programs / "pg_ctl", *start], account))
        yield main.set(query={"host": str(folder)}).render_as_string(
            hide_password=False
        )
    finally:
        stop = ["-D", data, "-m", "immediate", "-w", "stop"]
        binaries.run([programs / "pg_ctl", *stop], account)
        shutil.rmtree(folder)


@contextmanager
def paused(url):
    """Holds back a replica: what the main database commits meanwhile is not seen there."""
    with psycopg.connect(plain(url), autocommit=True) as link:
        deadline = time.monotonic() + SECONDS
        link.execute("select pg_wal_replay_pause()")
        while link.execute(IS_HELD_BACK).fetchone() != (True,):
            assert time.monotonic() < deadline, "the replica does not pause"
            if link.execute(HAS_LOCKED_A_TABLE).fetchone() == (True,):
                link.execute("select pg_wal_replay_resume()")
            time.sleep(0.01)
            link.execute("select pg_wal_replay_pause()")
        try:
            yield
        finally:
            link.execute("select pg_wal_replay_resume()")


def catch_up(main_url, url):
    """Waits until the replica has replayed all that the main database has written."""
    with psycopg.connect(plain(main_url)) as link:
        # Flushed, or it would not be sent.
        (position,) = link.execute("select pg_switch_wal()::text").fetchone()
    deadline = time.monotonic() + SECONDS
    with psycopg.connect(plain(url), autocommit=True) as link:
        reached = "select pg_last_wal_replay_lsn() >= %s::pg_lsn"
        while link.execute(reached, (position,)).fetchone() != (True,):
            assert time.monotonic() < deadline, "the replica does not catch up"
            time.sleep(0.01)


def plain(url):
    """The URL as psycopg reads it."""
    return url.replace("postgresql+psycopg://", "postgresql://")


def _done(finished):
    assert finished.returncode == 0, finished.stdout[-2000:]
