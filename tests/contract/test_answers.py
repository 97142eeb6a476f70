"""`deploy/docs/json.md` shows what every command prints with --json, as the code has it."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from tests.answers import ANSWERS, describe_type, page
from tests.contract.test_cli import COMMANDS

PAGE = Path(__file__).parents[2] / "deploy" / "docs" / "json.md"


def test_every_command_has_a_type_of_its_answer():
    assert {f"harbor {name}" for name in ANSWERS} == set(COMMANDS)


def test_the_page_shows_the_types_of_the_code():
    """To write it again: the head of the page, and below it what `page()` gives."""
    head, _, _ = PAGE.read_text().partition("| command | answer |")
    assert PAGE.read_text() == head + page(), "write the tables of page() into the page"


def test_types_are_told_in_words():
    assert describe_type(dict[str, list[int | None]]) == (
        "object of list of whole number or null by name"
    )


def test_an_answer_that_lacks_a_key_is_no_answer():
    with pytest.raises(ValidationError, match="restored"):
        TypeAdapter(ANSWERS["files withdraw"]).validate_python(
            {"files": [], "removed": 1, "depots": 0}
        )
