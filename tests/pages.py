"""The pages for people, read as a machine reads them: fenced blocks and their commands.

A `console` block is a transcript: lines after `$ ` are typed, what follows is printed. What
is typed ends with its here-document, if it opens one. `[exit 3]` stands where a command
ends with something other than 0.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HERE_DOCUMENT = re.compile(r"<<'(\w+)'")
VERSION = re.compile(r"\b\d{8}-[0-9a-f]{8}\b")
# Scores, seconds and intervals hang on the processor; counts and sentences do not.
NUMBER = re.compile(r"[-+−]?\d[\d.,]*(e[-+]\d+)?")
FITTING_COMMANDS = (
    "harbor train", "harbor forecast", "harbor backtest", "harbor explain",
)  # fmt: skip


@dataclass
class Command:
    """One command of a transcript, and its output."""

    line: str
    output: str


def pages() -> list[Path]:
    """Every page in Markdown, of the repository and nothing beneath it that is not."""
    inside = (path for folder in ROOT.iterdir() for path in _markdown(folder))
    return sorted(inside)


def transcripts(text: str) -> Iterator[list[Command]]:
    """The `console` blocks of a page."""
    for kind, block in FENCE.findall(text):
        if kind == "console":
            yield _commands_of(block)


def blocks(text: str) -> Iterator[str]:
    """The code of a page: every fenced block, then every span between backticks."""
    yield from (block for _, block in FENCE.findall(text))
    yield from re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


def with_output(text: str, printed: list[str]) -> str:
    """The page with the output of its commands, in their order."""
    waiting = iter(printed)

    def fill(match: re.Match[str]) -> str:
        if match[1] != "console":
            return match[0]
        lines = []
        for command in _commands_of(match[2]):
            lines += [f"$ {command.line}", next(waiting)]
        body = "\n".join(line.rstrip("\n") for line in lines if line)
        return f"```console\n{body}\n```"

    return FENCE.sub(fill, text)


def comparable(command: str, printed: str) -> str:
    """The output without what differs between machines: times, versions, fitted numbers."""
    text = VERSION.sub("VERSION", printed)
    text = re.sub(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", "TIMESTAMP", text)
    text = re.sub(r"\b\d+(\.\d+)? (s|min)\b", "TIME", text)
    text = re.sub(r"\b\d+ % of the network", "N % of the network", text)
    if command.startswith(FITTING_COMMANDS):
        text = NUMBER.sub("N", text)
    else:
        text = re.sub(r"\b\d+\.\d+\b", "N", text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def _markdown(path: Path) -> list[Path]:
    if path.name.startswith(".") or path.name in {"var", "build", "dist"}:
        return []
    return [path] if path.suffix == ".md" else list(path.rglob("*.md"))


def _commands_of(block: str) -> list[Command]:
    commands: list[Command] = []
    until = None
    for line in block.splitlines():
        if until is not None:
            commands[-1].line += f"\n{line}"
            until = None if line == until else until
        elif line.startswith("$ "):
            commands.append(Command(line[2:], ""))
            opened = HERE_DOCUMENT.search(line)
            until = opened[1] if opened else None
        else:
            commands[-1].output += f"{line}\n"
    return commands


def words_of(line: str) -> list[str]:
    """A command line in words, without its comment; empty where it is none."""
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return []
