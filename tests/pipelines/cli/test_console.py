"""Whatever a value holds, a terminal shows it and obeys none of it."""

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pipelines.cli import console
from pipelines.cli.logs import configure_logs

WIDE = 1000
HOSTILE = [
    pytest.param("[/] n/a", "[/] n/a", id="a closing tag"),
    pytest.param("depot [/x]", "depot [/x]", id="a closing tag of a style"),
    pytest.param("orders[final].csv", "orders[final].csv", id="an opening tag"),
    pytest.param("[red]12", "[red]12", id="a colour"),
    pytest.param(":truck:", ":truck:", id="the name of an emoji"),
    pytest.param("a\\[b]", "a\\[b]", id="an escaped tag"),
    pytest.param("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m", id="an escape sequence"),
    pytest.param("\x9b2J", r"\x9b2J", id="an escape sequence in one character"),
    pytest.param("12\r99", r"12\r99", id="a return"),
    pytest.param("a\tb\a", r"a\tb\x07", id="a tab and a bell"),
    pytest.param("abc\u202efdp.exe", r"abc\u202efdp.exe", id="a turned direction"),
    pytest.param("caf\udce9.csv", r"caf\udce9.csv", id="a name that is not UTF-8"),
    pytest.param("Café · 北 🚚", "Café · 北 🚚", id="letters of the world"),
]


@pytest.fixture(scope="module")
def terminal_of_all():
    """The output of a terminal with colours."""
    received = io.StringIO()
    test_console = Console(
        file=received, force_terminal=True, color_system="truecolor", width=WIDE,
        highlight=False,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "stderr_console", test_console)
        patch.setattr(console, "stdout_console", test_console)
        yield received


@pytest.fixture
def terminal(terminal_of_all):
    """The same, without what earlier tests have printed."""
    clear(terminal_of_all)
    return terminal_of_all


def clear(received):
    received.seek(0)
    received.truncate()


@pytest.mark.parametrize(("value", "expected"), HOSTILE)
def test_a_value_is_shown_as_it_is_with_its_controls_made_visible(
    terminal, value, expected
):
    """In tables and their titles, sentences for people, lines for machines, and progress."""
    console.show_table(value, (value,), [(value,)])
    console.echo(value)
    console.show_line(value)
    with console.progress(value, 1):
        pass
    styled = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    lines = [line.rstrip() for line in styled.splitlines()]
    assert lines[:5] == [expected] * 5
    assert expected in "".join(lines[5:])


def test_dates_and_times_of_json_are_iso_8601(capsys):
    at = datetime(2026, 11, 28, 21, 37, 32, 5, UTC)
    console.show_json({"at": at, "on": at.date(), "path": Path("a")})
    assert json.loads(capsys.readouterr().out) == {
        "at": "2026-11-28T21:37:32.000005+00:00", "on": "2026-11-28", "path": "a",
    }  # fmt: skip


def test_a_sentence_may_have_several_lines(terminal):
    console.echo("one\ntwo")
    assert terminal.getvalue() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("value", "expected"), [*HOSTILE, pytest.param("a\nb", r"a\nb", id="a line end")]
)
def test_so_is_a_line_of_the_log(capsys, value, expected):
    configure_logs()
    structlog.get_logger().warning("file", path=value)
    structlog.reset_defaults()
    line = capsys.readouterr().err
    assert expected in line
    assert line.count("\n") == 1


@given(st.text(st.characters(codec=None, exclude_characters=" "), max_size=60))
def test_any_text_in_a_cell_comes_out_as_it_went_in_and_moves_nothing(
    terminal_of_all, text
):
    clear(terminal_of_all)
    console.show_table("", ("value",), [(text,)])
    row = terminal_of_all.getvalue().splitlines()[1].rstrip(" ")
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", row)
    escaped = [each.encode("unicode_escape").decode() for each in text]
    cells = [
        each if each in row else code for each, code in zip(text, escaped, strict=True)
    ]
    assert row == "".join(cells)
