"""Every command has help with an example, is in the README, and ends as it says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from pipelines.cli import app

ROOT = Path(__file__).parents[2]


def commands(group=None, path=("harbor",)):
    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_with_an_example(name):
    assert re.search(rf"Example: `.*{name}", COMMANDS[name].help or "", re.DOTALL)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_answers_machines_too(name):
    assert any("--json" in option.opts for option in COMMANDS[name].params)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_on_the_page_of_commands(name):
    assert name in (ROOT / "deploy" / "docs" / "commands.md").read_text()


def harbor(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "pipelines", *arguments],
        env={**os.environ, **environment},
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("train", "--no-such-option"), id="unknown option"),
        pytest.param(("backtest", "--against", "prophet"), id="unknown baseline"),
        pytest.param(
            ("backfill", "run", "--from", "2026-01-02", "--to", "2026-01-01"),
            id="swapped",
        ),
        pytest.param(("backfill", "run", "--from", "1/2/26", "--to", "x"), id="no day"),
        pytest.param(("ingest", ".", "--column", "depot_id"), id="half a mapping"),
        pytest.param(("dashboard", "--port", "70000"), id="no port, dashboard"),
        pytest.param(("watch", "--port", "70000"), id="no port, watch"),
        pytest.param(("demo", "--port", "70000"), id="no port, demo"),
    ],
)
def test_wrong_usage_ends_with_2(arguments):
    done = harbor(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_an_address_that_is_none_is_one_sentence():
    done = harbor("runs", "list", HARBOR_DATABASE_URL="here")
    assert done.returncode == 1
    assert done.stderr.startswith("harbor: HARBOR_DATABASE_URL is no address")


def test_help_is_quick_to_load_and_needs_no_database():
    done = harbor("--help", HARBOR_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert done.returncode == 0
    assert "backtest" in done.stdout


def test_a_database_that_does_not_answer_is_one_sentence_without_its_password():
    url = "postgresql://someone:s3cret@127.0.0.1:1/none"
    done = harbor("runs", "list", HARBOR_DATABASE_URL=url)
    assert done.returncode == 1
    assert done.stderr.startswith("harbor: The database does not answer")
    assert "s3cret" not in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.db
def test_a_foreseen_failure_is_one_sentence_and_an_exit_code(database_url, engine):
    done = harbor("runs", "show", "123456", HARBOR_DATABASE_URL=database_url)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "harbor: There is no run 123456. See 'harbor runs list'.\n"


@pytest.mark.db
def test_json_is_all_that_goes_to_stdout(database_url, engine):
    for arguments in (
        ("db", "upgrade"),
        ("db", "status"),
        ("db", "check"),
        ("db", "url"),
        ("runs", "list"),
        ("models", "list"),
        ("schedule", "show"),
    ):
        done = harbor(*arguments, "--json", HARBOR_DATABASE_URL=database_url)
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)


@pytest.mark.db
def test_another_address_is_refused_without_insecure(database_url, engine):
    done = harbor("dashboard", "--address", "0.0.0.0", HARBOR_DATABASE_URL=database_url)
    assert done.returncode == 1
    assert "--insecure" in done.stderr
