"""One Dockerfile, three images: from locks with hashes, as nobody, without surprises."""

import re
import subprocess
import tomllib

import pytest

from tests.deploy.tools import DEPLOY, ROOT, find_tool

DOCKERFILE = DEPLOY / "Dockerfile"
JAX = {"jax", "jaxlib", "flax", "optax", "orbax-checkpoint"}
TARGETS = ("pipelines", "train", "dashboard")


def stages():
    """Stages of the Dockerfile by name: what each is built from, and its lines."""
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    stages, name = {}, None
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if starts := re.fullmatch(r"FROM (\S+) AS (\S+)", line):
            name = starts[2]
            stages[name] = (starts[1], [])
        elif name and line.strip():
            stages[name][1].append(line)
    return stages


def lines_behind(target):
    """Lines of every stage that leaves something in an image, its own first."""
    instructions, waiting, seen = [], [target], set()
    while waiting:
        name = waiting.pop()
        if name in stages() and name not in seen:
            seen.add(name)
            base, lines = stages()[name]
            instructions += lines
            copied = re.findall(r"--from=(\S+)", "\n".join(lines))
            waiting += [base, *copied]
    return instructions


def pins(path):
    """Versions that a lock pins, by package."""
    pins = re.findall(r"^([a-z0-9-]+)==([^\s;\\]+)", path.read_text(), re.M)
    assert pins, f"{path.name} pins nothing"
    return dict(pins)


def test_an_image_is_made_of_its_lock_alone_with_hashes():
    for target in TARGETS:
        installs = [line for line in lines_behind(target) if "pip install" in line]
        locks = {f"{target}.lock", "build.lock"}
        if target == "train":
            locks.add('"$ACCELERATOR.lock"')
        assert set(re.findall(r"-r (\S+)", "\n".join(installs))) == locks
        for line in installs:
            from_lock = "--require-hashes --no-deps -r" in line
            own_wheel = line.endswith("--no-deps --no-index /wheels/*.whl")
            assert from_lock or own_wheel, line


def test_an_image_has_all_that_the_program_names_as_the_tests_ran_with_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tested = pins(ROOT / "requirements.lock")
    for target in TARGETS:
        extra = project["optional-dependencies"].get(target, [])
        named = re.findall(
            r"^([\w-]+)", "\n".join([*project["dependencies"], *extra]), re.M
        )
        locked = pins(DEPLOY / f"{target}.lock")
        assert not set(named) - set(locked), "say 'make lock'"
        assert locked.items() <= tested.items()


def test_only_what_trains_has_jax_and_only_the_dashboard_streamlit():
    train, pipelines, dashboard = (
        set(pins(DEPLOY / f"{name}.lock"))
        for name in ("train", "pipelines", "dashboard")
    )
    assert train >= JAX
    assert not JAX & (pipelines | dashboard)
    assert "streamlit" in dashboard - pipelines


@pytest.mark.parametrize(("accelerator", "has"), [("gpu", "cuda"), ("tpu", "libtpu")])
def test_an_accelerator_adds_to_the_jax_that_was_tested(accelerator, has):
    added = pins(DEPLOY / f"{accelerator}.lock")
    assert any(has in name for name in added)
    tested = pins(DEPLOY / "train.lock")
    both = set(added) & set(tested)
    assert {"jax", "jaxlib", "numpy"} <= both
    assert {name: added[name] for name in both} == {name: tested[name] for name in both}


def test_what_builds_the_wheel_is_cut_out_of_the_lock_with_its_hashes():
    find_tool("awk", "mawk")
    (script,) = re.findall(r"RUN (awk .*?) > build.lock", DOCKERFILE.read_text())
    done = subprocess.run(
        script, shell=True, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert re.findall(r"^(\S+)==", done.stdout, re.M) == ["setuptools"]
    assert done.stdout.count("--hash=sha256:") >= 2


def test_an_image_runs_as_nobody_on_a_base_that_does_not_move():
    for target in TARGETS:
        _, lines = stages()[target]
        users = [line for line in lines if line.startswith("USER")]
        assert users == ["USER 10001:10001"]
        assert lines.index(users[0]) < lines.index(lines[-1])
    bases = {base for base, _ in stages().values()} - set(stages())
    assert bases == {"${PYTHON_IMAGE}"}
    assert "ARG PYTHON_IMAGE=python:3." in DOCKERFILE.read_text()


def test_what_the_images_copy_is_let_through_and_nothing_private_is():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--)(\S+) ", DOCKERFILE.read_text(), re.M)
    assert set(copied) == allowed
    assert all((ROOT / path).exists() for path in allowed)
    assert "*" in lines
