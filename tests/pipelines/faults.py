"""What can happen to a night in the middle, and how a test makes it happen."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import parse_qs, urlsplit

import psycopg
import sqlalchemy as sa

from pipelines.embedded import cluster as clusters
from pipelines.embedded.binaries import Account, programs, run
from pipelines.embedded.cluster import Cluster

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120
NAME = "victim"


@dataclass
class Victim:
    """A night that has stopped at a point, or has run to its end."""

    process: subprocess.Popen[str]
    url: str

    def reach_point(self) -> None:
        """Waits until it stands there.

        Raises:
          AssertionError: it ended before.
        """
        out: IO[str] = self.process.stdout  # type: ignore[assignment]
        for line in out:
            if line == "here\n":
                return
        raise AssertionError(
            f"It never came to the point: {self.process.stderr.read()}"
        )  # type: ignore[union-attr]

    def go_on(self) -> None:
        """Lets it find out what has happened."""
        if self.process.poll() is None:
            try:
                self.process.stdin.write("\n")  # type: ignore[union-attr]
                self.process.stdin.flush()  # type: ignore[union-attr]
            except BrokenPipeError:  # it has ended meanwhile
                pass

    def end(self) -> tuple[int, str]:
        """Its exit status, and what it said to people."""
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said


def start(point: str, home: Path, url: str | None, *arguments: str) -> Victim:
    """Starts `harbor` with a point in it."""
    environment = {**os.environ, "HARBOR_HOME": str(home), "PGAPPNAME": NAME}
    if url is not None:
        environment["HARBOR_DATABASE_URL"] = url
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.pipelines.victim", point, *arguments],
        cwd=ROOT, env=environment, text=True, **pipes,
    )  # fmt: skip
    return Victim(process, url or "")


def kill(victim: Victim) -> None:
    victim.process.kill()


def terminate(victim: Victim) -> None:
    victim.process.send_signal(signal.SIGTERM)
    victim.go_on()


def end_sessions(victim: Victim) -> None:
    """Ends every session of the victim, that of its lock and its heartbeat included."""
    with psycopg.connect(victim.url, autocommit=True) as link:
        link.execute(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity "
            "where application_name = %s and pid <> pg_backend_pid()",
            [NAME],
        )
    victim.go_on()


def restart_postgres(victim: Victim) -> None:
    """As a power cut does: nothing is written down, and it recovers at its start."""
    cluster = cluster_of(victim.url)
    pg_ctl = programs(cluster.account) / "pg_ctl"
    stop = [pg_ctl, "stop", "-D", cluster.data, "-m", "immediate", "-w"]
    assert run(stop, cluster.account).returncode == 0
    clusters.start(cluster)
    victim.go_on()


def cluster_of(url: str) -> Cluster:
    """The embedded cluster behind a URL."""
    (sockets,) = parse_qs(urlsplit(url).query)["host"]
    directory = Path(sockets).parent
    owner = (directory / "data").stat()
    return Cluster(directory, Account(owner.st_uid, owner.st_gid))


FAULTS: dict[str, Callable[[Victim], None]] = {
    "SIGKILL": kill,
    "SIGTERM": terminate,
    "sessions ended": end_sessions,
    "Postgres restarted": restart_postgres,
}
STATUS = {"SIGKILL": -9, "SIGTERM": 143, "sessions ended": 1, "Postgres restarted": 1}

TABLES = {
    "depots": "select * from depots",
    "orders": "select order_id, depot_id, ordered_local from orders",
    "daily counts": "select depot_id, service_on, orders from daily_counts",
    "files": "select sha256, kind, accepted, unchanged, rejected from files",
    "quarantine": "select line, column_name, value, reason from quarantine",
    "demand": "select depot_id, service_on, version, orders from demand_versions",
    "models": "select version, role, sha256, trained_through from models",
    "forecasts": "select depot_id, origin_on, target_on, model_version, p10, p50, p90, "
    "is_live from forecasts",
    "scores": "select depot_id, origin_on, target_on, model_version, p50 from scores",
}


def tables(engine: sa.Engine) -> dict[str, list[str]]:
    """Everything a night makes, without numbers and moments of its own."""
    with engine.connect() as connection:
        return {
            name: sorted(str(tuple(row)) for row in connection.execute(sa.text(query)))
            for name, query in TABLES.items()
        }
