"""Who uses the embedded server now: the first one in starts it, the last one out stops it.

Two files in the home are locked with flock, which the kernel releases even when a
process is killed: `postgres.users` is held shared by every user, `postgres.door` is held
alone while somebody comes in or goes out.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psycopg

from pipelines.embedded import cluster as clusters
from pipelines.embedded import server
from pipelines.embedded.cluster import Cluster


@contextmanager
def running(home: Path) -> Iterator[str]:
    """The URL of the embedded database, which runs as long as anybody is inside.

    Args:
      home: HARBOR_HOME; made if it is not there.

    Raises:
      DatabaseError: the server does not start; the message says why.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / "postgres.users").open("a") as users:
        with _door(home):
            fcntl.flock(users, fcntl.LOCK_SH)
            cluster = clusters.locate(home)
            if not clusters.answers(cluster):
                server.start(cluster)
            _ensure_database(cluster)
        try:
            yield clusters.address(cluster)
        finally:
            with _door(home):
                _leave(cluster, users)


@contextmanager
def _door(home: Path) -> Iterator[None]:
    with (home / "postgres.door").open("a") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        yield


def _leave(cluster: Cluster, users: IO[str]) -> None:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # somebody else is still inside
        return
    server.stop(cluster)


def _ensure_database(cluster: Cluster) -> None:
    with psycopg.connect(
        clusters.address(cluster, "postgres"), autocommit=True
    ) as link:
        known = link.execute(
            "select 1 from pg_database where datname = %s", [clusters.OWNER]
        ).fetchone()
        if known is None:
            link.execute(f"create database {clusters.OWNER}")
