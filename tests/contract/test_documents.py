"""Commands, options, targets and files that the documents name exist."""

import re
import secrets
import textwrap

import pytest
import typer.main

from forecaster.errors import ConfigError
from pipelines.cli import app
from pipelines.settings import login
from tests.contract.test_cli import COMMANDS
from tests.pages import ROOT, blocks, pages, words_of

ROOT_COMMAND = typer.main.get_command(app)
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in pages()}
# What starts the program somewhere: Compose, systemd, Kubernetes, the images.
STARTERS = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in sorted((ROOT / "deploy").rglob("*"))
    if path.suffix in {".yml", ".yaml", ".service"} or path.name == "Dockerfile"
}
# A word that stands for what its reader puts there, or ends the command.
ENDS = re.compile(r"[A-Z\[…<|&;>·(]|\.\.\.")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def commands_in(text):
    """Every `harbor …` in code, as words after `harbor`."""
    for block in blocks(text):
        for line in block.replace("\\\n", " ").splitlines():
            for match in re.finditer(r"(?<![\w./@:=-])harbor (?=[a-z])(.*)", line):
                # A sentence that the program prints has its commands in quotes.
                quoted = line[: match.start()].endswith("'")
                words = match[1].partition("'")[0] if quoted else match[1]
                yield words_of(words) or words.split()


def commands_started_in(text):
    """As a line of words, or as a list of them."""
    code = re.sub("#.*", "", text)
    for match in re.findall(
        r"(?<=[\s/])harbor +([a-z].*)", re.sub(r'[][",]', " ", code)
    ):
        yield match.split()


def problem_of(words):
    """Names the first part of a command line that does not exist; None if all exist."""
    command, words = ROOT_COMMAND, list(words)
    while hasattr(command, "commands"):
        if not words or ENDS.match(words[0]):
            return None  # a group, named as such
        name = words.pop(0).rstrip(",.;:")
        if name not in command.commands:
            return f"there is no command {name!r}"
        command = command.commands[name]
    valid_options = {name for each in command.params for name in (*each.opts, "--help")}
    for word in words:
        if word in {"|", "||", "&&", ";", ">", "<", "·"} or word.startswith("2>"):
            break
        option = re.match(r"\[?(--[a-z0-9-]+)", word)
        if option and option[1] not in valid_options:
            return f"{command.name} has no option {option[1]}"
    return None


def test_every_command_that_a_page_names_or_a_file_starts_exists():
    wrong = [
        f"{name}: harbor {' '.join(words)}: {problem}"
        for texts, find in ((PAGES, commands_in), (STARTERS, commands_started_in))
        for name, text in texts.items()
        for words in find(text)
        if (problem := problem_of(words))
    ]
    assert not wrong, wrong


def test_what_starts_the_program_is_found():
    """So that a pattern that finds nothing does not pass for files without faults."""
    started = {
        " ".join(w) for text in STARTERS.values() for w in commands_started_in(text)
    }
    assert len(started) >= 10
    assert {"schedule run", "db upgrade", "nightly & night=$!"} <= started


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("backfil --to DAY", "no command 'backfil'"),
        ("models shown VERSION", "no command 'shown'"),
        ("ingest orders.csv --colum a=b", "no option --colum"),
        ("ingest orders.csv --column a=b", None),
        ("models", None),
        ("models show VERSION", None),
    ],
)
def test_a_command_that_does_not_exist_is_seen(line, expected):
    (words,) = commands_in(f"`harbor {line}`")
    problem = problem_of(words)
    assert problem == expected or expected in problem


def test_every_option_says_what_it_is_for():
    for name, command in COMMANDS.items():
        for option in command.params:
            if option.param_type_name != "argument":
                assert option.help, f"{name} {option.opts[0]}"
            elif option.metavar is None:
                assert len(option.name) > 2, f"{name} {option.name}"


def test_every_file_that_a_page_links_to_is_there():
    for name, text in PAGES.items():
        for link in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
            is_file = not re.match(r"[a-z]+:", link)
            assert not is_file or ((ROOT / name).parent / link).exists(), (name, link)


def test_every_make_target_that_a_page_names_is_there():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {
        target
        for text in PAGES.values()
        for block in blocks(text)
        for target in re.findall(r"(?:^|`|&& |\$ )make ([a-z][a-z-]+)", block, re.M)
    }
    assert named - targets == set()


def test_every_page_for_a_task_is_in_the_readme():
    readme = PAGES["README.md"]
    tasks = sorted(each for each in PAGES if each.startswith("deploy/docs/"))
    assert tasks
    assert [each for each in tasks if each not in readme] == []


def test_the_login_that_a_page_shows_is_one_once_its_secret_is_a_secret(tmp_path):
    [example] = re.findall(
        r"```toml\n(.*?)```", PAGES["deploy/docs/login.md"], re.DOTALL
    )
    (tmp_path / login.FILE).touch(0o600)
    (tmp_path / login.FILE).write_text(textwrap.dedent(example))
    with pytest.raises(ConfigError, match=r"cookie_secret in login\.toml has"):
        login.read_rule(tmp_path)
    complete = example.replace(
        "32 or more random characters", secrets.token_urlsafe(32)
    )
    (tmp_path / login.FILE).write_text(textwrap.dedent(complete))
    rule = login.read_rule(tmp_path)
    assert rule is not None
    assert (rule.domains, rule.emails) == ({"example.com"}, {"partner@example.org"})
