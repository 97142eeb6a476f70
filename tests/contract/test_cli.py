"""Every command has help with an example, is in the README, and ends as it says."""

import re
from pathlib import Path

import pytest
import typer.main

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
        "backtest --against prophet",
        "backfill --from 2026-01-02 --to 2026-01-01",
        "backfill --from 1/2/26 --to x",
        "ingest . --column depot_id",
        "dashboard --port 70000",
        "watch --port 70000",
        "demo --port 70000",
    ],
)
def test_wrong_usage_ends_with_2(arguments):
    assert harbor(*arguments.split()).returncode == 2


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("here", "harbor: HARBOR_DATABASE_URL is not the address"),
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
