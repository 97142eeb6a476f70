"""Who uses the embedded server now: the first one in starts it, the last one out stops it.

Two files in the home are locked with flock, which the kernel releases even when a
process is killed: `postgres.users` is held shared by every user, `postgres.door` is held
alone while somebody comes in or goes out.
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
    """The URL of the embedded database, which runs as long as anybody is inside.

    Args:
      home: HARBOR_HOME; made if it is not there.

    Raises:
      DatabaseError: the server does not start; the message says why.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (
        (home / "postgres.users").open("a") as users,
        (home / "postgres.door").open("a") as door,
    ):
        with _locked(door):
            fcntl.flock(users, fcntl.LOCK_SH)
            cluster = clusters.locate(home)
            if not clusters.answers(cluster):
                server.start(cluster)
            _ensure_database(cluster)
        try:
            yield clusters.address(cluster)
        finally:
            with _locked(door):
                if _is_there(users) and _is_last(users):
                    server.stop(cluster)


@contextmanager
def _locked(door: IO[str]) -> Iterator[None]:
    fcntl.flock(door, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(door, fcntl.LOCK_UN)


def _is_there(users: IO[str]) -> bool:
    """Whether the home is still where it was; who finds it elsewhere stops its server."""
    try:
        return os.path.samestat(Path(users.name).stat(), os.fstat(users.fileno()))
    except FileNotFoundError:
        return False


def _is_last(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # somebody else is still inside
        return False
    return True


def _ensure_database(cluster: Cluster) -> None:
    with psycopg.connect(
        clusters.address(cluster, "postgres"), autocommit=True
    ) as link:
        known = link.execute(
            "select 1 from pg_database where datname = %s", [clusters.OWNER]
        ).fetchone()
        if known is None:
            link.execute(f"create database {clusters.OWNER}")
