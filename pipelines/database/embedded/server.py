"""The server of one data directory: made, configured, started, stopped."""

import errno
import os
import re
import shutil
from pathlib import Path
from subprocess import CompletedProcess

import structlog

from forecaster.errors import DatabaseError
from pipelines.database.embedded.binaries import (
    MAJOR,
    make_private_directory,
    programs,
    run,
)
from pipelines.database.embedded.cluster import OWNER, Cluster, answers, takes_queries
from pipelines.database.embedded.stale_pidfile import (
    PATIENCE_S,
    STOP_PATIENCE_S,
    forget_dead_server,
)

log = structlog.get_logger()

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
      DatabaseError: it does not come up; the message says why.
    """
    make_private_directory(cluster.directory, cluster.account)
    if not (cluster.data / "PG_VERSION").exists():
        _make_cluster(cluster)
    _refuse_other_version(cluster)
    make_private_directory(cluster.sockets, cluster.account)
    forget_dead_server(cluster)
    if answers(cluster):
        return
    _configure(cluster)
    _turn_over(cluster.log)
    written = cluster.log.stat().st_size if cluster.log.exists() else 0
    pg_ctl = programs(cluster.account) / "pg_ctl"
    options = ["--wait", f"--timeout={PATIENCE_S}", f"--log={cluster.log}"]
    done = run(
        [pg_ctl, "start", "-D", cluster.data, *options],
        cluster.account,
        timeout=PATIENCE_S + 30,
    )
    if done.returncode != 0 and not answers(cluster):
        said = cluster.log.read_bytes()[written:] if cluster.log.exists() else b""
        raise _failure(cluster, "does not start", said.decode(errors="replace"), done)


def stop(cluster: Cluster) -> None:
    """Stops the server and waits until it has written everything down.

    One that does not answer recovers from a crash; asked to stop then, PostgreSQL 18 may
    wait for itself for ever. It is ended at once: the next start recovers it again.
    """
    if takes_queries(cluster) and _stopped(cluster, "fast"):
        return
    log.warning("database_stopped_at_once", folder=str(cluster.directory))
    _stopped(cluster, "immediate")


def _stopped(cluster: Cluster, mode: str) -> bool:
    pg_ctl = programs(cluster.account) / "pg_ctl"
    options = ["-m", mode, "--wait", f"--timeout={STOP_PATIENCE_S}"]
    done = run([pg_ctl, "stop", "-D", cluster.data, *options], cluster.account)
    return done.returncode == 0


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
        raise _failure(cluster, "cannot be made", "", done)
    making.rename(cluster.data)


def _refuse_other_version(cluster: Cluster) -> None:
    found = (cluster.data / "PG_VERSION").read_text().strip()
    if found != str(MAJOR):
        raise DatabaseError(
            f"The database in {cluster.directory} was made by PostgreSQL {found}, and "
            f"this program brings {MAJOR}. Dump it with the release that made it and "
            "load it into a new HARBOR_HOME."
        )


def _configure(cluster: Cluster) -> None:
    quoted = str(cluster.sockets).replace("'", "''")
    conf = cluster.data / "postgresql.auto.conf"
    conf.write_text(CONFIGURATION.format(sockets=quoted))


def _turn_over(log: Path) -> None:
    """Puts a long log aside, in the place of the one before it."""
    if log.exists() and log.stat().st_size > MOST_LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))


def _failure(
    cluster: Cluster, what: str, logged: str, done: CompletedProcess[str]
) -> DatabaseError:
    """What went wrong in one sentence, out of the server's log and its program's words."""
    where = f"The embedded Postgres in {cluster.directory} {what}"
    lines = f"{logged}\n{done.stdout}".strip().splitlines()
    if any(os.strerror(errno.ENOSPC) in line for line in lines):
        return DatabaseError(
            f"{where}: its disk is full. Make room there, then start this again."
        )
    told = [line for line in lines if "FATAL:" in line or "error:" in line]
    why = (told or lines[-1:] or ["it says nothing"])[0]
    why = re.split(r"FATAL:|error:", why)[-1].strip().rstrip(".")
    return DatabaseError(f"{where}: {why}. {cluster.log} has the whole of it.")
