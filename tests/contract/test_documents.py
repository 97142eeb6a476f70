"""What the documents tell people to type exists: commands, options, targets, files."""

import re
import secrets
import textwrap

import pytest
import typer.main

from dashboard.auth import login
from forecaster.errors import ConfigError
from pipelines.cli import app
from tests.pages import ROOT, blocks, pages, words_of

ROOT_COMMAND = typer.main.get_command(app)
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in pages()}
# A word that stands for what its reader puts there, or ends the command.
ENDS = re.compile(r"[A-Z\[…<|&;>·(]|\.\.\.")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def commands_in(text):
    """Every `harbor …` in code, as words after `harbor`."""
    for block in blocks(text):
        for line in block.replace("\\\n", " ").splitlines():
            for found in re.finditer(r"(?<![\w./@:=-])harbor (?=[a-z])(.*)", line):
                # A sentence that the program prints has its commands in quotes.
                quoted = line[: found.start()].endswith("'")
                said = found[1].partition("'")[0] if quoted else found[1]
                yield words_of(said) or said.split()


def wrong_with(words):
    """What of a command line does not exist; None where all does."""
    command, words = ROOT_COMMAND, list(words)
    while hasattr(command, "commands"):
        if not words or ENDS.match(words[0]):
            return None  # a group, named as such
        name = words.pop(0).rstrip(",.;:")
        if name not in command.commands:
            return f"there is no command {name!r}"
        command = command.commands[name]
    known = {name for each in command.params for name in (*each.opts, "--help")}
    for word in words:
        if word in {"|", "&&", ";", ">", "<", "·"} or word.startswith("2>"):
            break
        option = re.match(r"\[?(--[a-z0-9-]+)", word)
        if option and option[1] not in known:
            return f"{command.name} has no option {option[1]}"
    return None


@pytest.mark.parametrize("name", PAGES)
def test_every_command_that_a_page_names_exists(name):
    wrong = [
        f"harbor {' '.join(words)}: {said}"
        for words in commands_in(PAGES[name])
        if (said := wrong_with(words))
    ]
    assert not wrong, wrong


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("backfil run", "no command 'backfil'"),
        ("backfill runn --from 2026-01-01", "no command 'runn'"),
        ("ingest orders.csv --colum a=b", "no option --colum"),
        ("ingest orders.csv --column a=b", None),
        ("backfill status [ID] --watch", None),
        ("models", None),
        ("models show VERSION", None),
    ],
)
def test_a_command_that_does_not_exist_is_seen(line, said):
    (words,) = commands_in(f"`harbor {line}`")
    found = wrong_with(words)
    assert (said is None and found is None) or said in found


def test_a_command_in_a_printed_sentence_ends_with_its_quote():
    text = "```\nSee 'harbor quarantine list'. 'harbor forecast' writes.\n```"
    assert list(commands_in(text)) == [["quarantine", "list"]]


def test_prose_is_no_command():
    text = "the harbor master\n```\nharbor: a sentence\n./harbor x\n```\n"
    assert list(commands_in(text)) == []


def options():
    def within(group, path):
        for name, command in group.commands.items():
            here = f"{path} {name}"
            if hasattr(command, "commands"):
                yield from within(command, here)
                continue
            for each in command.params:
                yield pytest.param(each, id=f"{here} {each.opts[0]}")

    return within(ROOT_COMMAND, "harbor")


@pytest.mark.parametrize("option", list(options()))
def test_every_option_says_what_it_is_for(option):
    if option.param_type_name == "argument" and option.metavar is None:
        assert len(option.name) > 2
    else:
        assert option.help or option.param_type_name == "argument"


@pytest.mark.parametrize("name", PAGES)
def test_every_file_that_a_page_links_to_is_there(name):
    here = (ROOT / name).parent
    links = LINK.findall(re.sub(r"```.*?```", "", PAGES[name], flags=re.DOTALL))
    away = [
        each
        for each in links
        if not re.match(r"[a-z]+:", each) and not (here / each).exists()
    ]
    assert not away, away


def test_every_make_target_that_a_page_names_is_there():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {
        found
        for text in PAGES.values()
        for block in blocks(text)
        for found in re.findall(r"(?:^|`|&& |\$ )make ([a-z][a-z-]+)", block, re.M)
    }
    assert named - targets == set()


def test_every_page_for_a_task_is_in_the_readme():
    readme = PAGES["README.md"]
    tasks = sorted(each for each in PAGES if each.startswith("deploy/docs/"))
    assert tasks
    assert [each for each in tasks if each not in readme] == []


def test_the_login_that_a_page_shows_is_one_once_its_secret_is_a_secret(tmp_path):
    (shown,) = re.findall(
        r"```toml\n(.*?)```", PAGES["deploy/docs/login.md"], re.DOTALL
    )
    (tmp_path / login.FILE).touch(0o600)
    (tmp_path / login.FILE).write_text(textwrap.dedent(shown))
    with pytest.raises(ConfigError, match=r"cookie_secret in login\.toml has"):
        login.rule(tmp_path)
    whole = shown.replace("32 or more random characters", secrets.token_urlsafe(32))
    (tmp_path / login.FILE).write_text(textwrap.dedent(whole))
    rule = login.rule(tmp_path)
    assert rule is not None
    assert (rule.domains, rule.emails) == ({"example.com"}, {"partner@example.org"})
