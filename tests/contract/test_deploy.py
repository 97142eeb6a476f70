"""What runs the program elsewhere: images, compose file and runbook keep their word."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer
import yaml

from dashboard.serve import LOOPBACK
from pipelines.cli import app
from pipelines.secret_files import secret_names
from pipelines.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose.yml"
DOCKERFILE = DEPLOY / "Dockerfile"
SERVICES = yaml.safe_load(COMPOSE.read_text())["services"]
OURS = ("migrate", "scheduler", "dashboard")


def harbor_commands():
    """Every `harbor …` that somebody, or something, is told to run."""
    runbook = (DEPLOY / "RUNBOOK.md").read_text()
    typed = [
        *re.findall(
            r"(?:`|exec scheduler )harbor ([^`\n]+?)(?: *#.*|`|$)", runbook, re.M
        ),
        *(service["command"] for service in SERVICES.values() if "command" in service),
    ]
    listed = [
        *map(json.loads, re.findall(r"^CMD (.+)$", DOCKERFILE.read_text(), re.M)),
        *(
            each["healthcheck"]["test"][1:]
            for each in SERVICES.values()
            if "healthcheck" in each
        ),
    ]
    commands = [*(shlex.split(line) for line in typed), *listed]
    ours = [words for words in commands if words[0] not in {"pg_isready", "python"}]
    bare = {tuple(words[words[0] == "harbor" :]) for words in ours}
    return sorted(bare)


def stages():
    """Stages of the Dockerfile by name: what each is built from, and its lines."""
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    found, name = {}, None
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if starts := re.fullmatch(r"FROM (\S+) AS (\S+)", line):
            name = starts[2]
            found[name] = (starts[1], [])
        elif name and line.strip():
            found[name][1].append(line)
    return found


def lines_behind(target):
    """Lines of every stage that leaves something in an image, its own first."""
    found, waiting, seen = [], [target], set()
    while waiting:
        name = waiting.pop()
        if name in stages() and name not in seen:
            seen.add(name)
            base, lines = stages()[name]
            found += lines
            copied = re.findall(r"--from=(\S+)", "\n".join(lines))
            waiting += [base, *copied]
    return found


def installed_locks(target):
    return set(
        re.findall(r"pip install [^&]*-r (\S+)", "\n".join(lines_behind(target)))
    )


def test_there_are_commands_to_check():
    """So that a pattern that finds nothing does not pass for a runbook without faults."""
    found = [" ".join(words) for words in harbor_commands()]
    for wanted in (
        "db upgrade",
        "schedule run",
        "schedule show",
        "dashboard --address 0.0.0.0 --insecure",
        "backfill run --from 2026-03-01 --to 2026-03-31",
    ):
        assert wanted in found


@pytest.mark.parametrize("words", harbor_commands(), ids=" ".join)
def test_every_command_told_exists_with_its_options(words):
    command, rest = typer.main.get_command(app), list(words)
    while hasattr(command, "commands"):
        assert rest, f"{' '.join(words)} is a group of commands"
        assert rest[0] in command.commands, f"there is no 'harbor {' '.join(words)}'"
        command = command.commands[rest.pop(0)]
    known = {option for each in command.params for option in each.opts}
    asked = {word.split("=")[0] for word in rest if word.startswith("--")}
    assert asked <= known


@pytest.mark.parametrize("target", ["pipelines", "dashboard"])
def test_every_install_is_from_a_lock_with_hashes(target):
    installs = [line for line in lines_behind(target) if "pip install" in line]
    assert len(installs) >= 3
    for line in installs:
        from_lock = "--require-hashes --no-deps -r" in line
        own_wheel = line.endswith("--no-deps --no-index /wheels/*.whl")
        assert from_lock or own_wheel, line


def test_the_dashboards_image_has_no_jax():
    assert installed_locks("dashboard") == {"dashboard.lock", "build.lock"}
    names = re.findall(
        r"^([a-z0-9-]+)==", (DEPLOY / "dashboard.lock").read_text(), re.M
    )
    assert "streamlit" in names
    assert not {"jax", "jaxlib", "flax", "optax", "orbax-checkpoint"} & set(names)


def test_the_pipelines_image_can_train():
    assert "requirements.lock" in installed_locks("pipelines")


def test_what_builds_the_wheel_is_cut_out_of_the_lock_with_its_hashes(tmp_path):
    if shutil.which("awk") is None:
        pytest.skip("needs awk: apt-get install mawk")
    (script,) = re.findall(r"RUN (awk .*?) > build.lock", DOCKERFILE.read_text())
    done = subprocess.run(
        script, shell=True, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert re.findall(r"^(\S+)==", done.stdout, re.M) == ["setuptools"]
    assert done.stdout.count("--hash=sha256:") >= 2


@pytest.mark.parametrize("target", ["pipelines", "dashboard"])
def test_an_image_does_not_run_as_root(target):
    _, lines = stages()[target]
    users = [line for line in lines if line.startswith("USER")]
    assert users == ["USER 10001:10001"]
    assert lines.index(users[0]) < lines.index(lines[-1])
    assert "--uid 10001" in "\n".join(lines_behind(target))


def test_the_base_image_is_an_argument():
    bases = {base for base, _ in stages().values()} - set(stages())
    assert bases == {"${PYTHON_IMAGE}"}
    assert "ARG PYTHON_IMAGE=python:3." in DOCKERFILE.read_text()


def test_what_the_images_copy_is_let_through_and_nothing_private_is():
    allowed = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = re.findall(r"^COPY (?!--)(\S+) ", DOCKERFILE.read_text(), re.M)
    assert set(copied) == allowed
    assert all((ROOT / path).exists() for path in allowed)
    assert "*" in (ROOT / ".dockerignore").read_text().splitlines()


def test_postgres_18_keeps_its_data_in_the_volume():
    assert ":-postgres:18" in SERVICES["database"]["image"]
    assert SERVICES["database"]["volumes"] == ["database:/var/lib/postgresql"]


def test_no_password_is_written_down():
    text = COMPOSE.read_text() + (DEPLOY / ".env.example").read_text()
    passwords = re.findall(r"^ *(\w*PASSWORD\w*) ?[:=](.*)$", text, re.M)
    assert len(passwords) == 3
    for name, value in passwords:
        required = value.strip().startswith("${HARBOR_DATABASE_PASSWORD:?")
        assert required or value == "", f"{name} is{value}"
    assert not re.findall(r"://[^/\s@]+:[^/\s@]+@", text), "a password in a URL"


def test_what_a_site_fills_in_is_not_committed():
    ignored = (DEPLOY / ".gitignore").read_text().splitlines()
    assert {".env", "inbox/"} <= set(ignored)


def test_only_the_loopback_reaches_a_dashboard_without_a_login():
    published = {
        name: service["ports"]
        for name, service in SERVICES.items()
        if "ports" in service
    }
    assert list(published) == ["dashboard"]
    assert all(
        port.rsplit(":", 2)[0].startswith(LOOPBACK) for port in published["dashboard"]
    )
    assert "--insecure" in SERVICES["dashboard"]["command"].split()


@pytest.mark.parametrize("name", OURS)
def test_our_containers_can_do_little(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_only_the_scheduler_writes_models():
    homes = {
        name: volume
        for name in OURS
        for volume in SERVICES[name].get("volumes", [])
        if volume.startswith("home:")
    }
    assert homes == {
        "scheduler": "home:/var/lib/harbor",
        "dashboard": "home:/var/lib/harbor:ro",
    }


def test_nothing_of_ours_starts_before_the_tables_are_there():
    assert SERVICES["migrate"]["command"] == "harbor db upgrade"
    assert SERVICES["migrate"]["restart"] == "no"
    for name in ("scheduler", "dashboard"):
        assert SERVICES[name]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"}
        }
    assert set(SERVICES) - {
        name for name in SERVICES if "healthcheck" in SERVICES[name]
    } == {"migrate"}


def test_every_setting_given_is_one_that_is_read():
    given = {
        name.removeprefix("HARBOR_").lower()
        for service in OURS
        for name in SERVICES[service]["environment"]
        if name.startswith("HARBOR_")
    }
    assert given
    files = {f"{name}_file" for name in secret_names(Settings)}
    assert given <= set(Settings.model_fields) | files


def test_every_variable_of_the_compose_file_is_explained():
    asked = set(re.findall(r"\$\{(HARBOR_\w+)", COMPOSE.read_text()))
    told = set(re.findall(r"^(\w+)=", (DEPLOY / ".env.example").read_text(), re.M))
    assert asked == {name for name in told if name.startswith("HARBOR_")}


def test_compose_itself_accepts_the_file():
    tool = compose_tool()
    if tool is None:
        pytest.skip("needs Compose: apt-get install docker-compose")
    environment = {**os.environ, "HARBOR_DATABASE_PASSWORD": "of-this-test"}
    command = [*tool, "--file", str(COMPOSE), "config"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(yaml.safe_load(done.stdout)["services"]) == set(SERVICES)


def test_compose_refuses_to_start_without_a_password():
    tool = compose_tool()
    if tool is None:
        pytest.skip("needs Compose: apt-get install docker-compose")
    environment = {**os.environ, "HARBOR_DATABASE_PASSWORD": ""}
    command = [*tool, "--file", str(COMPOSE), "config"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "deploy/.env" in done.stderr


def compose_tool():
    """Compose v2, or the older program, or None."""
    if shutil.which("docker"):
        asked = subprocess.run(
            ["docker", "compose", "version"], capture_output=True, check=False
        )
        if asked.returncode == 0:
            return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else None
