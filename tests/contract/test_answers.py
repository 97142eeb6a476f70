"""`deploy/docs/json.md` shows what every command prints with --json, as the code has it."""

from pathlib import Path

from tests.answers import ANSWERS, page
from tests.contract.test_cli import COMMANDS

PAGE = Path(__file__).parents[2] / "deploy" / "docs" / "json.md"


def test_every_command_has_a_type_of_its_answer():
    assert {f"harbor {name}" for name in ANSWERS} == set(COMMANDS)


def test_the_page_shows_the_types_of_the_code():
    """To write it again: the head of the page, and below it what `page()` gives."""
    head, _, _ = PAGE.read_text().partition("| command | answer |")
    assert PAGE.read_text() == head + page(), "write the tables of page() into the page"
