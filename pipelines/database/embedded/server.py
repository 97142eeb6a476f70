"""Creates, configures, starts and stops the server of one data directory."""

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
from pipelines.database.embedded.cluster import (
    OWNER,
    Cluster,
    is_running,
)
from pipelines.database.embedded.stale_pidfile import (
    START_TIMEOUT_S,
    STOP_TIMEOUT_S,
    remove_stale_pidfile,
)

log = structlog.get_logger()

MAX_LOG_BYTES = 8 * 2**20
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
    """Starts the server, and creates the cluster if there is none.

    Waits for crash recovery, which may take minutes.

    Raises:
      DatabaseError: the server does not start; the message gives the reason.
    """
    make_private_directory(cluster.directory, cluster.account)
    if not (cluster.data / "PG_VERSION").exists():
        _create_cluster(cluster)
    _refuse_other_version(cluster)
    make_private_directory(cluster.sockets, cluster.account)
    remove_stale_pidfile(cluster)
    if is_running(cluster):
        return
    _configure(cluster)
    _rotate_log(cluster.log)
    written = cluster.log.stat().st_size if cluster.log.exists() else 0
    pg_ctl = programs(cluster.account) / "pg_ctl"
    options = ["--wait", f"--timeout={START_TIMEOUT_S}", f"--log={cluster.log}"]
    finished = run(
        [pg_ctl, "start", "-D", cluster.data, *options],
        cluster.account,
        timeout=START_TIMEOUT_S + 30,
    )
    if finished.returncode != 0 and not is_running(cluster):
        logged = cluster.log.read_bytes()[written:] if cluster.log.exists() else b""
        raise _failure(
            cluster, "does not start", logged.decode(errors="replace"), finished
        )


def stop(cluster: Cluster) -> None:
    """Stops the server and waits until it has shut down.

    A server that does not answer is in crash recovery, where a fast shutdown of PostgreSQL 18
    may hang. It is stopped in immediate mode instead, and the next start recovers it again.
    """
    if is_running(cluster) and _stopped(cluster, "fast"):
        return
    log.warning("database_stopped_immediately", folder=str(cluster.directory))
    _stopped(cluster, "immediate")


def _stopped(cluster: Cluster, mode: str) -> bool:
    pg_ctl = programs(cluster.account) / "pg_ctl"
    options = ["-m", mode, "--wait", f"--timeout={STOP_TIMEOUT_S}"]
    finished = run([pg_ctl, "stop", "-D", cluster.data, *options], cluster.account)
    return finished.returncode == 0


def _create_cluster(cluster: Cluster) -> None:
    initdb = programs(cluster.account) / "initdb"
    locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    # Created under another name, then renamed: an interrupted initdb leaves no half cluster.
    staging_folder = cluster.directory / "data.making"
    shutil.rmtree(staging_folder, ignore_errors=True)
    options = [f"--pgdata={staging_folder}", f"--username={OWNER}", "--auth=trust"]
    finished = run([initdb, *options, "--encoding=UTF8", *locale], cluster.account)
    if finished.returncode != 0:
        raise _failure(cluster, "cannot be made", "", finished)
    staging_folder.rename(cluster.data)


def _refuse_other_version(cluster: Cluster) -> None:
    version = (cluster.data / "PG_VERSION").read_text().strip()
    if version != str(MAJOR):
        raise DatabaseError(
            f"The database in {cluster.directory} was made by PostgreSQL {version}, and "
            f"this program brings {MAJOR}. Dump it with the release that made it and "
            "load it into a new HARBOR_HOME."
        )


def _configure(cluster: Cluster) -> None:
    quoted = str(cluster.sockets).replace("'", "''")
    conf = cluster.data / "postgresql.auto.conf"
    conf.write_text(CONFIGURATION.format(sockets=quoted))


def _rotate_log(log: Path) -> None:
    """Renames a log over `MAX_LOG_BYTES` to `server.log.1`, replacing the previous one."""
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))


def _failure(
    cluster: Cluster, what: str, logged: str, finished: CompletedProcess[str]
) -> DatabaseError:
    """Returns the error in one sentence, from the server's log or the program's output."""
    where = f"The embedded Postgres in {cluster.directory} {what}"
    lines = f"{logged}\n{finished.stdout}".strip().splitlines()
    if any(os.strerror(errno.ENOSPC) in line for line in lines):
        return DatabaseError(
            f"{where}: its disk is full. Make room there, then start this again."
        )
    errors = [line for line in lines if "FATAL:" in line or "error:" in line]
    cause = (errors or lines[-1:] or ["it says nothing"])[0]
    cause = re.split(r"FATAL:|error:", cause)[-1].strip().rstrip(".")
    return DatabaseError(f"{where}: {cause}. {cluster.log} has the details.")
