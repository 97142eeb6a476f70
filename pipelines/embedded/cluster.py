"""One data directory of PostgreSQL: where it lies, whose it is, how it is reached."""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import psycopg

from forecaster.errors import DatabaseError
from pipelines.embedded.binaries import (
    SYSTEM_HOME,
    Account,
    make_open_directory,
    may_enter,
    server_account,
)

OWNER = "harbor"


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
    def socket_note(self) -> Path:
        """Says where the socket of the last start lies."""
        return self.directory / "socket.txt"


def locate(home: Path) -> Cluster:
    """Finds the cluster of this home, or chooses a place for a new one.

    It lies in the home itself unless this is root and the server's account cannot enter
    there; then in a folder of ours that the home's `postgres.json` names.
    """
    note = home / "postgres.json"
    if note.is_file():
        directory = Path(json.loads(note.read_text())["directory"])
    else:
        directory = _new_place(home)
        staged = note.with_suffix(".tmp")
        staged.write_text(json.dumps({"directory": str(directory)}))
        staged.replace(note)
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
    return Cluster(directory, account)


def _new_place(home: Path) -> Path:
    account = server_account()
    if may_enter(home, account):
        return home / "postgres"
    make_open_directory(SYSTEM_HOME)
    return SYSTEM_HOME / f"cluster-{secrets.token_hex(6)}"


def address(cluster: Cluster, database: str = OWNER) -> str:
    """The URL of a database in the cluster, by the socket of the last start."""
    sockets = cluster.socket_note.read_text().strip()
    quoted = sockets.replace("%", "%25").replace(" ", "%20").replace("&", "%26")
    return f"postgresql://{OWNER}@/{database}?host={quoted}"


def answers(cluster: Cluster) -> bool:
    """Whether a server of this cluster takes queries now."""
    if not cluster.socket_note.exists():
        return False
    try:
        with psycopg.connect(address(cluster, "postgres"), connect_timeout=5) as link:
            link.execute("select 1")
    except psycopg.OperationalError:
        return False
    return True
