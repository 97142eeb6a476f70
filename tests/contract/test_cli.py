"""Every command has help with an example, is in the README, and ends as it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from pipelines.cli import app
from tests.pipelines.in_process import CommandResult, harbor

ROOT = Path(__file__).parents[2]


def commands(group=None, path=("harbor",)):
    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands())


def test_every_command_has_an_example_json_and_a_line_on_its_page():
    page = (ROOT / "deploy" / "docs" / "commands.md").read_text()
    for name, command in COMMANDS.items():
        assert re.search(rf"Example: `.*{name}", command.help or "", re.DOTALL), name
        assert any("--json" in option.opts for option in command.params), name
        assert name in page


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("backtest", "--against", "prophet"), id="unknown baseline"),
        pytest.param(
            ("backfill", "--from", "2026-01-02", "--to", "2026-01-01"),
            id="swapped",
        ),
        pytest.param(("backfill", "--from", "1/2/26", "--to", "x"), id="no day"),
        pytest.param(("ingest", ".", "--column", "depot_id"), id="half a mapping"),
        pytest.param(("dashboard", "--port", "70000"), id="no port, dashboard"),
        pytest.param(("watch", "--port", "70000"), id="no port, watch"),
        pytest.param(("demo", "--port", "70000"), id="no port, demo"),
    ],
)
def test_wrong_usage_ends_with_2(arguments):
    assert CliRunner().invoke(app, arguments).exit_code == 2


def test_help_needs_no_database():
    url = "postgresql://nobody@127.0.0.1:1/none"
    done = subprocess.run(
        [sys.executable, "-m", "pipelines", "--help"],
        env={**os.environ, "HARBOR_DATABASE_URL": url},
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "backtest" in done.stdout


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("here", "harbor: HARBOR_DATABASE_URL is no address"),
        (
            "postgresql://someone:s3cret@127.0.0.1:1/none",
            "harbor: The database does not answer",
        ),
    ],
)
def test_a_database_that_is_not_there_is_one_sentence(url, message):
    done = harbor("runs", "list", HARBOR_DATABASE_URL=url)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert "s3cret" not in done.stderr


def test_a_foreseen_failure_is_one_sentence_and_an_exit_code(database_url, engine):
    done = harbor("runs", "show", "123456", HARBOR_DATABASE_URL=database_url)
    sentence = "harbor: There is no run 123456. See 'harbor runs list'.\n"
    assert done == CommandResult(1, "", sentence)
