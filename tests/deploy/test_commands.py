"""What deploy/ tells somebody to run is there, with the options it is given."""

import pytest
import typer

from pipelines.cli import app
from tests.deploy.commands import documented_commands


def test_there_are_commands_to_check():
    """So that a pattern that finds nothing does not pass for files without faults."""
    found = [" ".join(words) for words in documented_commands()]
    for wanted in (
        "db upgrade",
        "schedule run",
        "schedule show",
        "dashboard --address 0.0.0.0 --insecure",
        "backfill run --from 2026-03-01 --to 2026-03-31",
    ):
        assert wanted in found


@pytest.mark.parametrize("words", documented_commands(), ids=" ".join)
def test_every_documented_command_exists_with_its_options(words):
    command, rest = typer.main.get_command(app), list(words)
    while hasattr(command, "commands"):
        assert rest, f"{' '.join(words)} is a group of commands"
        assert rest[0] in command.commands, f"there is no 'harbor {' '.join(words)}'"
        command = command.commands[rest.pop(0)]
    known = {option for each in command.params for option in each.opts}
    asked = {word.split("=")[0] for word in rest if word.startswith("--")}
    assert asked <= known
