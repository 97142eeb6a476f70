"""Locks that count the users of the embedded server: the first starts it, the last stops it.

Two files in the home are locked with flock, which the kernel releases even when a
process is killed: every user holds `postgres.users` shared, and holds `postgres.door` exclusively
while it starts or stops using the server.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psycopg

from pipelines.database.embedded import cluster as clusters
from pipelines.database.embedded import server
from pipelines.database.embedded.cluster import Cluster


@contextmanager
def running(home: Path) -> Iterator[str]:
    """Yields the URL of the embedded database; its server runs while any process uses it.

    The home is created if it does not exist.

    Raises:
      DatabaseError: the server does not start; the message gives the reason.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (
        (home / "postgres.users").open("a") as users,
        (home / "postgres.door").open("a") as entry_lock,
    ):
        with _holding(entry_lock):
            fcntl.flock(users, fcntl.LOCK_SH)
            cluster = clusters.locate(home)
            if not clusters.is_running(cluster):
                server.start(cluster)
            _ensure_database(cluster)
        try:
            yield clusters.address(cluster)
        finally:
            with _holding(entry_lock):
                if _home_is_in_place(users) and _is_last_user(users):
                    server.stop(cluster)


@contextmanager
def _holding(entry_lock: IO[str]) -> Iterator[None]:
    fcntl.flock(entry_lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(entry_lock, fcntl.LOCK_UN)


def _home_is_in_place(users: IO[str]) -> bool:
    """Whether the home is still at its path; if it moved, users at the new path stop the server."""
    try:
        return os.path.samestat(Path(users.name).stat(), os.fstat(users.fileno()))
    except FileNotFoundError:
        return False


def _is_last_user(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # another user is left
        return False
    return True


def _ensure_database(cluster: Cluster) -> None:
    with psycopg.connect(
        clusters.address(cluster, "postgres"), autocommit=True
    ) as connection:
        known = connection.execute(
            "select 1 from pg_database where datname = %s", [clusters.OWNER]
        ).fetchone()
        if known is None:
            connection.execute(f"create database {clusters.OWNER}")
