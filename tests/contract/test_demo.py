"""`harbor demo` as a person runs it: from nothing to pages, Ctrl-C, and again."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psycopg
import pytest

from pipelines.database.embedded import cluster
from tests.ports import free_port

pytestmark = pytest.mark.db

ROOT = Path(__file__).parents[2]
SMALL = ("--depots", "3", "--days", "70")
PATIENCE_S = 300


@pytest.fixture(scope="module")
def home():
    """A folder with a space in its name, which the server's account may enter."""
    top = Path(tempfile.mkdtemp(prefix="harbor demo "))
    top.chmod(0o755)
    yield top / "var"
    shutil.rmtree(top)


def demo(home, *arguments):
    return [sys.executable, "-m", "pipelines", "demo", *SMALL, *arguments], {
        **os.environ,
        "HARBOR_HOME": str(home),
    }


def is_healthy(port):
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/_stcore/health"
        ) as answer:
            return answer.read() == b"ok"
    except OSError:
        return False


def test_from_nothing_to_the_scores(home):
    command, environment = demo(home, "--no-serve")
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for stage in ("Inventing", "Loading", "Training", "Hindcasting", "Ready"):
        assert stage in done.stderr
    assert list((home / "artefacts").glob("*.npz"))


def test_again_it_goes_on_serves_and_ctrl_c_stops_everything(home):
    port = free_port()
    command, environment = demo(home, "--port", str(port))
    started = time.monotonic()
    process = subprocess.Popen(
        command, env=environment, cwd=ROOT, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    while not is_healthy(port):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() - started < PATIENCE_S
        time.sleep(0.2)
    # As a terminal does: to every process of the foreground group.
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert "already" in output
    assert "Traceback" not in output
    assert not is_healthy(port)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(cluster.address(cluster.locate(home)))
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_own_files_are_refused_beside_the_invented_ones(home):
    """From the command line and from the inbox, however good they are."""
    own = home.with_name("own.csv")
    own.write_text("depot_id,date,orders\nMINE,2026-01-01,5\n")
    _, environment = demo(home)
    inbox = home / "inbox" / "own.csv"
    shutil.copy(own, inbox)
    for command in (("ingest", str(own)), ("nightly",)):
        done = subprocess.run(
            [sys.executable, "-m", "pipelines", *command],
            env={**environment, "HARBOR_SETTLE_SECONDS": "0"},
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert "holds the 3 invented depots of 'harbor demo'" in done.stderr
        assert "export HARBOR_HOME" in done.stderr
    inbox.unlink()


def test_another_fleet_in_the_same_place_is_refused(home):
    command, environment = demo(home, "--no-serve", "--seed", "7")
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "invented with other options" in done.stderr
