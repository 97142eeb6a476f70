"""Ctrl-C, full disks and places that cannot be: one sentence, and an exit code that says so."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import sqlalchemy as sa

from pipelines.database import embedded
from pipelines.schema import files, runs
from tests.pipelines.faults import faults
from tests.pipelines.faults.test_faults import fill_inbox
from tests.pipelines.in_process import harbor
from tests.pipelines.make import count, scalar
from tests.ports import free_port

pytestmark = pytest.mark.db


def test_ctrl_c_in_a_load_says_what_was_kept(clean_engine, database_url, tmp_path):
    fill_inbox(tmp_path)
    load = ("ingest", str(tmp_path / "inbox"))
    victim = faults.start("mid-COPY", tmp_path, database_url, *load)
    with victim.process:
        victim.reach_point()
        victim.process.send_signal(signal.SIGINT)
        status, output = victim.end()
    assert status == 130, output
    assert "harbor: Stopped. Files before the current one are kept" in output
    assert "Traceback" not in output
    assert count(clean_engine, files) == 1
    assert scalar(clean_engine, sa.select(runs.c.state)) == "failed"
    assert harbor(*load, HARBOR_DATABASE_URL=database_url).returncode == 0


@pytest.mark.parametrize(
    ("command", "work", "message"),
    [
        ("train", "pipelines.demand.counting.default_origin",
         "Stopped. No model was recorded. The same command continues from the last checkpoint."),
        ("nightly", "pipelines.nightly.run.run_nightly",
         "Stopped. Finished steps are kept. 'harbor nightly' continues from there."),
        ("depots list", "pipelines.store.depots.known_depots", "Stopped."),
    ],
)  # fmt: skip
def test_ctrl_c_elsewhere_says_what_was_kept(
    command, work, message, engine, database_url, monkeypatch, tmp_path
):
    monkeypatch.setattr(work, Mock(side_effect=KeyboardInterrupt))
    places = {"HARBOR_DATABASE_URL": database_url, "HARBOR_HOME": str(tmp_path)}
    done = harbor(*command.split(), **places)
    assert (done.returncode, done.stderr) == (130, f"harbor: {message}\n")


@pytest.mark.parametrize("home", ["/dev/null", "/dev/null/below"])
def test_a_home_that_is_no_folder_is_refused(home):
    done = harbor("runs", "list", HARBOR_HOME=home)
    assert done.returncode == 1
    assert done.stderr.startswith(f"harbor: HARBOR_HOME is '{home}': /dev/null is no")
    assert done.stderr.count("\n") == 1


def test_a_backup_to_a_place_that_cannot_be_is_refused(engine, database_url):
    done = harbor("backup", "create", "/dev/null/x", HARBOR_DATABASE_URL=database_url)
    assert done.returncode == 1
    assert done.stderr.startswith("harbor: /dev/null/x cannot be used: Not a directory")
    assert done.stderr.count("\n") == 1


def test_a_disk_that_is_full_at_the_start_is_told():
    with faults.small_disk(20) as disk:
        done = harbor("runs", "list", HARBOR_HOME=str(disk / "new"))
        assert done.returncode == 1
        assert "cannot be made: its disk is full. Make room" in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_disk_that_became_full_is_told_at_the_next_start():
    with faults.small_disk(160) as disk:
        with embedded.running(disk / "home"):
            pass
        faults.fill(disk)
        done = harbor("runs", "list", HARBOR_HOME=str(disk / "home"))
        assert done.returncode == 1
        assert "its disk is full. Make room" in done.stderr
        assert done.stderr.count("\n") == 1


def children(pid):
    process_ids = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:  # it has ended meanwhile
            continue
        if f"PPid:\t{pid}\n" in text:
            process_ids.append(int(status.parent.name))
    return process_ids


def test_a_dashboard_whose_server_was_killed_ends_as_a_failure(engine, database_url):
    dashboard = subprocess.Popen(
        [sys.executable, "-m", "pipelines", "dashboard", "--port", str(free_port())],
        env={**os.environ, "HARBOR_DATABASE_URL": database_url},
        cwd=faults.ROOT, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with dashboard:
        assert dashboard.stderr is not None
        output = dashboard.stderr.readline()
        assert output.startswith("Dashboard: http://127.0.0.1:")
        while not (process_ids := children(dashboard.pid)):
            assert dashboard.poll() is None
        os.kill(process_ids[0], signal.SIGKILL)
        assert "ended (signal SIGKILL)" in dashboard.communicate()[1]
    assert dashboard.returncode == 1
