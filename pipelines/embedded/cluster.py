"""One data directory of PostgreSQL: where it lies, made, configured, started, stopped."""

import json
import os
import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

from forecaster.errors import DatabaseError
from pipelines.embedded.binaries import (
    MAJOR,
    SYSTEM_HOME,
    Account,
    make_open_directory,
    may_enter,
    programs,
    run,
    server_account,
)

OWNER = "harbor"
# The kernel's limit on a socket's path is 107 bytes, and the file's name takes 14.
LONGEST_SOCKET_DIRECTORY = 90
PATIENCE_S = 300

CONFIGURATION = """\
# Written at every start.
listen_addresses = ''
unix_socket_directories = '{sockets}'
unix_socket_permissions = 0700
max_connections = 60
shared_buffers = 256MB
work_mem = 32MB
maintenance_work_mem = 256MB
max_wal_size = 4GB
wal_compression = on
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
"""


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


def start(cluster: Cluster) -> None:
    """Starts the server, making the cluster first where there is none.

    A server left by a crash recovers here; that may take minutes and is waited for.

    Raises:
      DatabaseError: it does not come up; the end of its log is in the message.
    """
    _make_directory(cluster.directory, cluster.account)
    if not (cluster.data / "PG_VERSION").exists():
        _make_cluster(cluster)
    _refuse_other_version(cluster)
    _forget_dead_server(cluster)
    _configure(cluster, _socket_directory(cluster))
    pg_ctl = programs(cluster.account) / "pg_ctl"
    options = ["--wait", f"--timeout={PATIENCE_S}", f"--log={cluster.log}"]
    done = run(
        [pg_ctl, "start", "-D", cluster.data, *options],
        cluster.account,
        timeout=PATIENCE_S + 30,
    )
    if done.returncode != 0 and not answers(cluster):
        log = cluster.log.read_text(errors="replace") if cluster.log.exists() else ""
        raise DatabaseError(
            f"The embedded Postgres in {cluster.directory} did not start: "
            f"{_last_lines(log or done.stdout)}"
        )


def stop(cluster: Cluster) -> None:
    """Stops the server and waits until it has written everything down."""
    pg_ctl = programs(cluster.account) / "pg_ctl"
    run([pg_ctl, "stop", "-D", cluster.data, "-m", "fast", "-w"], cluster.account)


def _make_directory(directory: Path, account: Account) -> None:
    if directory.exists():
        return
    directory.mkdir(parents=True, mode=0o700)
    if not account.is_me:
        os.chown(directory, account.uid, account.gid)


def _make_cluster(cluster: Cluster) -> None:
    initdb = programs(cluster.account) / "initdb"
    locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    # Made aside and renamed, so that a making that was stopped is not taken for whole.
    making = cluster.directory / "data.making"
    shutil.rmtree(making, ignore_errors=True)
    done = run(
        [initdb, "-D", making, "-U", OWNER, "-E", "UTF8", *locale, "-A", "trust"],
        cluster.account,
    )
    if done.returncode != 0:
        raise DatabaseError(
            f"A database could not be made in {cluster.directory}: "
            f"{_last_lines(done.stdout)}"
        )
    making.rename(cluster.data)


def _refuse_other_version(cluster: Cluster) -> None:
    found = (cluster.data / "PG_VERSION").read_text().strip()
    if found != str(MAJOR):
        raise DatabaseError(
            f"The database in {cluster.directory} was made by PostgreSQL {found}, and "
            f"this program brings {MAJOR}. Dump it with the release that made it and "
            "load it into a new HARBOR_HOME."
        )


def _forget_dead_server(cluster: Cluster) -> None:
    """Removes the pid file of a server that a crash ended, if its number misleads.

    Another program may carry the number now, or the dead process may wait for a parent
    that never asks. Everything that still works in the data directory is waited for.
    """
    pid_file = cluster.data / "postmaster.pid"
    if not pid_file.exists():
        return
    said = pid_file.read_text().split()
    if said and _lives_on(cluster, int(said[0])):
        return
    deadline = time.monotonic() + PATIENCE_S
    while _works_in(cluster.data) and time.monotonic() < deadline:
        time.sleep(0.1)
    pid_file.unlink()
    for left in _socket_directory(cluster).glob(".s.PGSQL.*"):
        left.unlink()


def _lives_on(cluster: Cluster, pid: int) -> bool:
    """Whether that server goes on; one that does not answer yet, or dies, is awaited."""
    deadline = time.monotonic() + PATIENCE_S
    while _is_postgres(pid) and not answers(cluster) and time.monotonic() < deadline:
        time.sleep(0.1)
    return _is_postgres(pid)


def _is_postgres(pid: int) -> bool:
    """Whether a living server has that number; where /proc is not, Postgres judges."""
    if not Path("/proc/self").exists():
        return True
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return "Name:\tpostgres" in status and "State:\tZ" not in status


def _works_in(data: Path) -> bool:
    """Whether any process has the data directory as its own."""
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if link.readlink() == data:
                return True
        except OSError:  # it ended meanwhile, or is another user's
            continue
    return False


def _socket_directory(cluster: Cluster) -> Path:
    directory = cluster.directory / "socket"
    if len(os.fsencode(directory)) <= LONGEST_SOCKET_DIRECTORY:
        _make_directory(directory, cluster.account)
        return directory
    if cluster.socket_note.exists():
        noted = Path(cluster.socket_note.read_text().strip())
        if noted.is_dir() and noted.stat().st_uid == cluster.account.uid:
            return noted
    short = Path(tempfile.mkdtemp(prefix="harbor-", dir="/tmp"))
    os.chown(short, cluster.account.uid, cluster.account.gid)
    return short


def _configure(cluster: Cluster, sockets: Path) -> None:
    quoted = str(sockets).replace("'", "''")
    conf = cluster.data / "postgresql.auto.conf"
    conf.write_text(CONFIGURATION.format(sockets=quoted))
    cluster.socket_note.write_text(str(sockets))


def _last_lines(text: str, count: int = 3) -> str:
    return " / ".join(text.strip().splitlines()[-count:])
