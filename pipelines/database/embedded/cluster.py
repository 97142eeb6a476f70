"""One data directory of PostgreSQL: its place, owner and URL."""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg

from forecaster.errors import DatabaseError
from pipelines.database.embedded.binaries import (
    SYSTEM_HOME,
    Account,
    make_open_directory,
    make_private_directory,
    may_enter,
    server_account,
)
from pipelines.whole_file import whole_file

OWNER = "harbor"
# The kernel's limit on a socket's path is 107 bytes, and the file's name takes 14.
MAX_SOCKET_DIRECTORY_BYTES = 90


@dataclass(frozen=True)
class Cluster:
    """The folder of a cluster and the account that owns it."""

    directory: Path
    account: Account

    @property
    def data(self) -> Path:
        """Data directory (PGDATA)."""
        return self.directory / "data"

    @property
    def log(self) -> Path:
        """Log file of the server."""
        return self.directory / "server.log"

    @property
    def sockets(self) -> Path:
        """Folder of the server's socket.

        A path too long for the kernel is replaced by one in /tmp, named after the
        directory's inode: a moved cluster keeps its inode, a copied one has another.
        """
        inside = self.directory / "socket"
        if len(os.fsencode(inside)) <= MAX_SOCKET_DIRECTORY_BYTES:
            return inside
        status = self.directory.stat()
        return Path("/tmp", f"harbor-{status.st_dev:x}-{status.st_ino:x}")  # noqa: S108 - its owner is checked


def locate(home: Path) -> Cluster:
    """Returns the cluster of a home, or the place for a new one.

    The cluster lies in the home, unless this runs as root and the server's account cannot enter
    the home; it then lies in the folder that the home's `postgres.json` names.

    Raises:
      DatabaseError: the cluster belongs to another user or home, or cannot be reached.
    """
    directory = home / "postgres"
    if not (directory / "data").exists():
        directory = _external_folder(home) or directory
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
            f"The database in {directory} belongs to root, but Postgres does not run as root; "
            "it was copied without its owner. Restore that with 'chown -R postgres "
            f"{directory}' (or 'nobody')."
        )
    if not may_enter(directory, account):
        raise DatabaseError(
            f"The database in {directory} belongs to the account with uid {account.uid}, "
            "which may not enter the folders above it. Move HARBOR_HOME to where it may, "
            "or open them with 'chmod o+x'."
        )
    return Cluster(directory, account)


def _external_folder(home: Path) -> Path | None:
    """Returns the folder of a cluster that root keeps outside its home; None if it is in the home.

    The home's `postgres.json` records the folder and the inode of the home: a home that was
    moved keeps its inode; a copy has another, and must not use the original's data.

    Raises:
      DatabaseError: the folder belongs to another home, or is gone.
    """
    note = home / "postgres.json"
    if note.is_file():
        return _recorded_folder(home, note)
    account = server_account()
    if may_enter(home, account):
        return None
    make_open_directory(SYSTEM_HOME)
    directory = SYSTEM_HOME / f"cluster-{secrets.token_hex(6)}"
    # Created before the note is written: a recorded folder that is missing counts as lost.
    make_private_directory(directory, account)
    _write_note(home, note, directory)
    return directory


def _recorded_folder(home: Path, note: Path) -> Path:
    recorded = json.loads(note.read_text())
    directory = Path(recorded["directory"])
    if not directory.exists():
        raise DatabaseError(
            f"The database of {home} lay in {directory}, which is gone or on another "
            f"machine. Put it back; or remove {note} to begin again, and bring a backup in "
            "with 'harbor backup restore'."
        )
    if "inode" not in recorded:
        _write_note(home, note, directory)
    elif recorded["inode"] != home.stat().st_ino:
        raise DatabaseError(
            f"{home} was copied, or moved to another disk, but its database lies outside "
            f"of it, in {directory}. If it was moved, take 'inode' out of {note}. If it "
            "was copied, that database is the original's: remove that file, and bring a "
            "backup of the original in with 'harbor backup restore'."
        )
    return directory


def _write_note(home: Path, note: Path, directory: Path) -> None:
    recorded = {"directory": str(directory), "inode": home.stat().st_ino}
    with whole_file(note) as staged:
        staged.write_text(json.dumps(recorded))


def address(cluster: Cluster, database: str = OWNER) -> str:
    """Returns the URL of a database in the cluster, by its socket."""
    quoted = quote(str(cluster.sockets), safe="/")
    return f"postgresql://{OWNER}@/{database}?host={quoted}"


def is_running(cluster: Cluster) -> bool:
    """Whether the server of this data directory answers queries.

    Another home's server may listen at the socket, and a copied home has the same files. So a
    mark file is created in the directory: only the directory's own server sees it.
    """
    if not cluster.data.exists():
        return False
    mark = cluster.data / f"mark-{secrets.token_hex(8)}"
    try:
        with psycopg.connect(
            address(cluster, "postgres"), connect_timeout=5
        ) as connection:
            mark.touch()
            sees_mark = connection.execute(
                "select (pg_stat_file(%s, true)).size is not null", [mark.name]
            ).fetchone()
    except psycopg.OperationalError:
        return False
    finally:
        mark.unlink(missing_ok=True)
    return sees_mark == (True,)
