"""One data directory of PostgreSQL: where it lies, whose it is, how it is reached."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg

from forecaster.errors import DatabaseError
from pipelines.database.embedded import outside
from pipelines.database.embedded.binaries import Account, may_enter, server_account

OWNER = "harbor"
# The kernel's limit on a socket's path is 107 bytes, and the file's name takes 14.
LONGEST_SOCKET_DIRECTORY = 90


@dataclass(frozen=True)
class Cluster:
    """A place on disk and the account that owns it."""

    directory: Path
    account: Account

    @property
    def data(self) -> Path:
        """PGDATA."""
        return self.directory / "data"

    @property
    def log(self) -> Path:
        """The server's own log."""
        return self.directory / "server.log"

    @property
    def sockets(self) -> Path:
        """Folder of the server's socket.

        A path too long for the kernel is replaced by one in /tmp, named after the
        directory's inode: a moved cluster keeps it, a copied one gets another.
        """
        inside = self.directory / "socket"
        if len(os.fsencode(inside)) <= LONGEST_SOCKET_DIRECTORY:
            return inside
        found = self.directory.stat()
        return Path("/tmp", f"harbor-{found.st_dev:x}-{found.st_ino:x}")  # noqa: S108 - its owner is checked


def locate(home: Path) -> Cluster:
    """Finds the cluster of this home, or chooses a place for a new one.

    It lies in the home itself unless this is root and the server's account cannot enter
    there; then in a folder of ours that the home's `postgres.json` names.

    Raises:
      DatabaseError: it is another user's, another home's, or cannot be reached.
    """
    directory = home / "postgres"
    if not (directory / "data").exists():
        directory = outside.place(home) or directory
    data = directory / "data"
    if not data.exists():
        return Cluster(directory, server_account())
    owner = data.stat()
    account = Account(owner.st_uid, owner.st_gid)
    if not account.is_me and os.geteuid() != 0:
        raise DatabaseError(
            f"The database in {directory} belongs to another user of this machine "
            f"(uid {account.uid}). Run as that user, or choose another HARBOR_HOME."
        )
    if account.uid == 0:
        raise DatabaseError(
            f"The database in {directory} belongs to root, as whom Postgres does not run; "
            "it was copied without its owner. Give it back with 'chown -R postgres "
            f"{directory}' (or 'nobody')."
        )
    if not may_enter(directory, account):
        raise DatabaseError(
            f"The database in {directory} belongs to the account with uid {account.uid}, "
            "which may not enter the folders above it. Move HARBOR_HOME to where it may, "
            "or open them with 'chmod o+x'."
        )
    return Cluster(directory, account)


def address(cluster: Cluster, database: str = OWNER) -> str:
    """The URL of a database in the cluster, by its socket."""
    quoted = quote(str(cluster.sockets), safe="/")
    return f"postgresql://{OWNER}@/{database}?host={quoted}"


def takes_queries(cluster: Cluster) -> bool:
    """Whether any server takes queries at the cluster's socket."""
    try:
        with psycopg.connect(address(cluster, "postgres"), connect_timeout=5) as link:
            link.execute("select 1")
    except psycopg.OperationalError:
        return False
    return True


def answers(cluster: Cluster) -> bool:
    """Whether the server of this very directory takes queries now.

    A server of another home may listen where ours should, and a copied home has the same
    files: only ours sees a file that is made in the directory now.
    """
    if not cluster.data.exists():
        return False
    mark = cluster.data / f"mark-{secrets.token_hex(8)}"
    try:
        with psycopg.connect(address(cluster, "postgres"), connect_timeout=5) as link:
            mark.touch()
            seen = link.execute(
                "select (pg_stat_file(%s, true)).size is not null", [mark.name]
            ).fetchone()
    except psycopg.OperationalError:
        return False
    finally:
        mark.unlink(missing_ok=True)
    return seen == (True,)
