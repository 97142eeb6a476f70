"""Every JSON answer that a test has a command print is held against its type."""

from types import SimpleNamespace

import pytest
from pydantic import TypeAdapter

from pipelines.cli import console
from tests.answers import ANSWERS, current_command


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
