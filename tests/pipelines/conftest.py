"""Commands on the test database, whose JSON answers are held against their types."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import TypeAdapter

from pipelines.cli import console
from pipelines.settings import Settings
from tests.answers import ANSWERS, current_command
from tests.pipelines import in_process
from tests.pipelines.in_process import CommandResult


@pytest.fixture(scope="session", autouse=True)
def answers_are_checked():
    """Fails a command whose answer lacks a key, or has one of another type."""
    plain = console.json

    def dumps(value, **options):
        text = plain.dumps(value, **options)
        command = current_command()
        if command in ANSWERS:
            TypeAdapter(ANSWERS[command]).validate_json(text)
        return text

    console.json = SimpleNamespace(dumps=dumps)
    yield
    console.json = plain


@pytest.fixture
def harbor(database_url: str, tmp_path: Path) -> Callable[..., CommandResult]:
    """Runs a command in this process, on the test database, with the test's folder as home."""
    places = {"HARBOR_DATABASE_URL": database_url, "HARBOR_HOME": str(tmp_path)}
    return partial(in_process.harbor, **places)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The default settings, with the test's folder as home."""
    return Settings(home=tmp_path)
