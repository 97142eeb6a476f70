"""The units are ones that systemd takes, run what there is, and may do little."""

import re
import shutil
from pathlib import Path

import pytest

from tests.deploy.tools import DEPLOY, find_tool, run

UNITS = DEPLOY / "systemd"
SERVICES = sorted(path.name for path in UNITS.glob("*.service"))
EVERY = sorted(path.name for path in UNITS.glob("harbor-*.*") if path.is_file())
PROGRAM = "/opt/harbor/bin/harbor"
MOST_EXPOSED = 20
"""Tenths, of 100; a service without any hardening has 96."""


@pytest.fixture
def root(tmp_path):
    """A root folder as RUNBOOK.md has it; the program itself is empty."""
    find_tool("systemd-analyze", "systemd")
    own = Path("lib/systemd/system")
    shutil.copytree("/" / own, tmp_path / own, symlinks=True)
    shutil.copytree(UNITS, tmp_path / "etc/systemd/system")
    program = tmp_path / PROGRAM.lstrip("/")
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    return tmp_path


def lines(name):
    text = (UNITS / name).read_text()
    return [line for line in text.splitlines() if "=" in line and line[0] != "#"]


def analyze(root, *words):
    return run("systemd-analyze", f"--root={root}", *words)


def test_systemd_has_no_complaint_and_would_have_one(root):
    done = analyze(root, "verify", *EVERY)
    assert (done.returncode, done.stderr) == (0, "")
    unit = root / "etc/systemd/system/harbor-watch.service"
    unit.write_text(unit.read_text().replace("Restart=", "Restrat="))
    assert "Unknown key 'Restrat'" in analyze(root, "verify", unit.name).stderr


def test_a_service_is_little_exposed_and_would_be_without_what_hardens_it(root):
    words = ["security", "--offline=true", "--no-pager", f"--threshold={MOST_EXPOSED}"]
    hardened = analyze(root, *words, *SERVICES)
    assert hardened.returncode == 0, hardened.stdout[-200:]
    shutil.rmtree(root / "etc/systemd/system/harbor-.service.d")
    assert analyze(root, *words, "harbor-watch.service").returncode != 0


def test_a_service_has_an_account_a_limit_and_our_program():
    for name in SERVICES:
        words = dict(line.split("=", 1) for line in lines(name))
        assert words["User"] in {"harbor", "harbor_dashboard"}
        assert re.fullmatch(r"\d+[MG]", words["MemoryMax"])
        assert words["ExecStart"].startswith(f"{PROGRAM} ")


def test_what_hardens_them_outranks_no_account():
    """A drop-in comes after the unit, so a User in it would be everybody's."""
    assert not [
        line for line in lines("harbor-.service.d/hardened.conf") if "User=" in line
    ]


def test_only_what_trains_may_make_code_while_it_runs():
    free = {
        name for name in SERVICES if "MemoryDenyWriteExecute=yes" not in lines(name)
    }
    assert free == {"harbor-scheduler.service", "harbor-nightly.service"}


def test_the_pages_are_served_to_this_machine_alone():
    unit_lines = lines("harbor-dashboard.service")
    assert "IPAddressDeny=any" in unit_lines
    assert any("--address 127.0.0.1" in line for line in unit_lines)
    assert not any("--insecure" in line for name in SERVICES for line in lines(name))


def test_two_clocks_do_not_run_side_by_side():
    assert "Conflicts=harbor-scheduler.service" in lines("harbor-nightly.timer")
    assert "Conflicts=harbor-nightly.timer" in lines("harbor-scheduler.service")


@pytest.mark.parametrize("name", ["scheduler", "dashboard", "watch"])
def test_a_database_that_is_away_at_boot_stops_no_service_for_good(name):
    """A failed required unit would stop them for good."""
    unit_lines = lines(f"harbor-{name}.service")
    assert {"Wants=harbor-migrate.service", "After=harbor-migrate.service"} <= {
        *unit_lines
    }
    assert not [
        line for line in unit_lines if line.startswith(("Requires=", "BindsTo="))
    ]
    assert {"Restart=always", "SuccessExitStatus=143"} <= {*unit_lines}
    assert "Restart=on-failure" in lines("harbor-migrate.service")
