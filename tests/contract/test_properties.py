"""No property test may fail because the machine was busy."""

import ast
from pathlib import Path

from hypothesis import settings

TESTS = Path(__file__).parents[1]


def test_no_property_has_a_deadline():
    assert settings().deadline is None


def test_no_test_sets_one_of_its_own():
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "settings":
                assert "deadline" not in {each.arg for each in node.keywords}, path
