"""The server of one data directory: made, configured, started, stopped."""

import os
import shutil
import tempfile
from pathlib import Path

from forecaster.errors import DatabaseError
from pipelines.embedded.binaries import MAJOR, Account, programs, run
from pipelines.embedded.cluster import OWNER, Cluster, answers
from pipelines.embedded.remains import PATIENCE_S, forget_dead_server

# The kernel's limit on a socket's path is 107 bytes, and the file's name takes 14.
LONGEST_SOCKET_DIRECTORY = 90
MOST_LOG_BYTES = 8 * 2**20
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
    sockets = _socket_directory(cluster)
    forget_dead_server(cluster, sockets)
    _configure(cluster, sockets)
    _turn_over(cluster.log)
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


def _turn_over(log: Path) -> None:
    """Puts a long log aside, in the place of the one before it."""
    if log.exists() and log.stat().st_size > MOST_LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))


def _last_lines(text: str, count: int = 3) -> str:
    return " / ".join(text.strip().splitlines()[-count:])
