"""Faults in the middle of a night, and ways for a test to cause them."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
import sqlalchemy as sa

from pipelines.database.embedded import server
from pipelines.database.embedded.binaries import Account, programs, run
from pipelines.database.embedded.cluster import Cluster
from tests.pipelines.faults.victim import invent_training
from tests.pipelines.in_process import CommandResult, harbor

ROOT = Path(__file__).parents[3]
PATIENCE_S = 400
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
            # It may have ended meanwhile.
            with suppress(BrokenPipeError):
                self.process.stdin.write("\n")  # type: ignore[union-attr]
                self.process.stdin.flush()  # type: ignore[union-attr]

    def end(self) -> tuple[int, str]:
        """Its exit status, and what it said to people."""
        try:
            _, said = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, said


def start(point: str, home: Path, url: str | None, *arguments: str) -> Victim:
    """Starts `harbor` with a point in it; without a URL on the home's own database."""
    return start_module("tests.pipelines.faults.victim", home, url, point, *arguments)


def start_module(module: str, home: Path, url: str | None, *arguments: str) -> Victim:
    """Starts a module that may stop at a point."""
    environment = {
        **os.environ,
        "HARBOR_HOME": str(home),
        # The files were written whole a moment ago.
        "HARBOR_SETTLE_SECONDS": "0",
        "PGAPPNAME": NAME,
    }
    if url is not None:
        environment["HARBOR_DATABASE_URL"] = url
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT, env=environment, text=True, **pipes,
    )  # fmt: skip
    return Victim(process, url or "")


def unharmed(home: Path, url: str, *arguments: str) -> CommandResult:
    """`harbor` that nothing happens to, with an invented training, in this process."""
    places = {"HARBOR_HOME": str(home), "HARBOR_DATABASE_URL": url}
    with pytest.MonkeyPatch.context() as patch:
        invent_training(patch.setattr)
        return harbor(*arguments, **places)


def kill(victim: Victim) -> None:
    victim.process.kill()


def terminate(victim: Victim) -> None:
    victim.process.send_signal(signal.SIGTERM)
    victim.go_on()


def end_sessions(victim: Victim) -> None:
    """Ends every session of the victim, that of its lock included."""
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
    server.start(cluster)
    victim.go_on()


def cluster_of(url: str) -> Cluster:
    """The embedded cluster behind a URL."""
    (sockets,) = parse_qs(urlsplit(url).query)["host"]
    directory = Path(sockets).parent
    owner = (directory / "data").stat()
    return Cluster(directory, Account(owner.st_uid, owner.st_gid))


@contextmanager
def small_disk(size_mb: int) -> Iterator[Path]:
    """A file system of its own, or a skip where this user may mount none."""
    place = Path(tempfile.mkdtemp(prefix="harbor-disk-"))
    options = f"size={size_mb}m,mode=0755"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs 'mount', to have a small disk")
    if done.returncode != 0:
        place.rmdir()
        pytest.skip(f"needs to mount a small disk: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
        place.rmdir()


def fill(disk: Path) -> Path:
    """Takes all the room that is left; the file is to be removed again."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"0" * (1 << 20))
    with filler.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"0")
    return filler


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
    "forecasts": "select depot_id, origin_on, target_on, model_version, p10, p50, p90, point, "
    "is_live from forecasts",
    "shown": "select origin_on, model_version, is_live from shown_forecast",
    "scores": "select depot_id, origin_on, target_on, model_version, p50, point from scores",
}


def tables(engine: sa.Engine) -> dict[str, list[str]]:
    """Everything a night makes, without numbers and moments of its own."""
    with engine.connect() as connection:
        return {
            name: sorted(str(tuple(row)) for row in connection.execute(sa.text(query)))
            for name, query in TABLES.items()
        }
