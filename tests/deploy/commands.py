"""Every `harbor …` that deploy/ has somebody, or something, run."""

import json
import re
import shlex

import yaml

from tests.deploy.tools import DEPLOY

FLAT = {"pg_isready", "python", "wget"}
"""What health checks run that is not ours."""


def documented_commands():
    """The words after `harbor`, each command once, in order."""
    every = [
        *_of_the_runbook(),
        *_of_compose(),
        *_of_the_dockerfile(),
        *_of_systemd(),
        *_of_kubernetes(),
    ]
    return sorted({tuple(words[words[0] == "harbor" :]) for words in every})


def _of_the_runbook():
    """In backticks, or at the head of a line, by itself or inside something else."""
    text = (DEPLOY / "RUNBOOK.md").read_text()
    inside = r"(?:docker compose (?:exec|run) (?:-T |--rm )?\w+ |kubectl [\w/ -]+ -- )"
    typed = re.findall(rf"(?:`|^{inside}?)harbor ([^`…\n]+?)(?: *#.*|`|$)", text, re.M)
    return [shlex.split(line) for line in typed]


def _of_compose():
    services = yaml.safe_load((DEPLOY / "compose.yml").read_text())["services"]
    for service in services.values():
        command = service.get("command", "")
        if isinstance(command, str) and command:
            yield shlex.split(command)
        test = service.get("healthcheck", {}).get("test", ["", "wget"])[1:]
        if test[0] not in FLAT:
            yield test


def _of_the_dockerfile():
    text = (DEPLOY / "Dockerfile").read_text()
    return map(json.loads, re.findall(r"^CMD (.+)$", text, re.M))


def _of_systemd():
    for unit in sorted((DEPLOY / "systemd").glob("*.service")):
        started = re.findall(r"^ExecStart=\S*/(harbor .+)$", unit.read_text(), re.M)
        assert started, f"{unit.name} starts nothing of ours"
        yield from map(shlex.split, started)


def _of_kubernetes():
    """From the files themselves, so that no kubectl is needed."""
    for path in sorted((DEPLOY / "kubernetes").rglob("*.yaml")):
        text = path.read_text()
        for listed in re.findall(r"command: (\[harbor.*\])$", text, re.M):
            yield yaml.safe_load(listed)
        for line in re.findall(r"^ +- (harbor [^|\n]+)", text, re.M):
            yield shlex.split(line)
