"""The server of one data directory: made, configured, started, stopped."""

import shutil
from pathlib import Path

import structlog

from forecaster.errors import DatabaseError
from pipelines.embedded.binaries import MAJOR, make_private_directory, programs, run
from pipelines.embedded.cluster import OWNER, Cluster, answers
from pipelines.embedded.remains import (
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
      DatabaseError: it does not come up; the end of its log is in the message.
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
    """Stops the server and waits until it has written everything down.

    One that does not answer recovers from a crash; asked to stop then, PostgreSQL 18 may
    wait for itself for ever. It is ended at once: the next start recovers it again.
    """
    if answers(cluster) and _stopped(cluster, "fast"):
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


def _configure(cluster: Cluster) -> None:
    quoted = str(cluster.sockets).replace("'", "''")
    conf = cluster.data / "postgresql.auto.conf"
    conf.write_text(CONFIGURATION.format(sockets=quoted))


def _turn_over(log: Path) -> None:
    """Puts a long log aside, in the place of the one before it."""
    if log.exists() and log.stat().st_size > MOST_LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))


def _last_lines(text: str, count: int = 3) -> str:
    return " / ".join(text.strip().splitlines()[-count:])
