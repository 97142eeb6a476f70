"""One Dockerfile, three images: from locks with hashes, as nobody, without surprises."""

import re
import subprocess
import tomllib

import pytest

from tests.deploy.tools import DEPLOY, ROOT, tool

DOCKERFILE = DEPLOY / "Dockerfile"
JAX = {"jax", "jaxlib", "flax", "optax", "orbax-checkpoint"}
LOCKS = {
    "pipelines": {"pipelines.lock"},
    "train": {"train.lock"},
    "dashboard": {"dashboard.lock"},
}
TARGETS = sorted(LOCKS)


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
    lines = "\n".join(lines_behind(target))
    return set(re.findall(r"pip install [^&|]*-r (\S+)", lines))


def pins(path):
    """What a lock installs, as name and version."""
    found = re.findall(r"^([a-z0-9-]+)==([^\s;\\]+)", path.read_text(), re.M)
    assert found, f"{path.name} pins nothing"
    return dict(found)


@pytest.mark.parametrize("target", TARGETS)
def test_every_install_is_from_a_lock_with_hashes(target):
    installs = [line for line in lines_behind(target) if "pip install" in line]
    assert len(installs) >= 3
    for line in installs:
        from_lock = "--require-hashes --no-deps -r" in line
        own_wheel = line.endswith("--no-deps --no-index /wheels/*.whl")
        assert from_lock or own_wheel, line


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_is_made_of_its_own_lock(target):
    accelerators = {'"$ACCELERATOR.lock"'} if target == "train" else set()
    assert installed_locks(target) == LOCKS[target] | {"build.lock"} | accelerators


def test_only_what_trains_has_jax():
    assert set(pins(DEPLOY / "train.lock")) >= JAX
    for name in ("pipelines.lock", "dashboard.lock"):
        assert not JAX & set(pins(DEPLOY / name))
    assert "streamlit" in pins(DEPLOY / "dashboard.lock")
    assert "streamlit" not in pins(DEPLOY / "pipelines.lock")


@pytest.mark.parametrize(("accelerator", "has"), [("gpu", "cuda"), ("tpu", "libtpu")])
def test_an_accelerator_adds_to_the_jax_that_was_tested(accelerator, has):
    added = pins(DEPLOY / f"{accelerator}.lock")
    assert any(has in name for name in added)
    tested = pins(DEPLOY / "train.lock")
    both = set(added) & set(tested)
    assert {"jax", "jaxlib", "numpy"} <= both
    assert {name: added[name] for name in both} == {name: tested[name] for name in both}


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_has_what_the_tests_ran_with(target):
    tested = pins(ROOT / "requirements.lock")
    (lock,) = LOCKS[target]
    assert pins(DEPLOY / lock).items() <= tested.items()


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_has_all_that_the_program_names(target):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"].get(target, [])
    named = re.findall(
        r"^([\w-]+)", "\n".join([*project["dependencies"], *extra]), re.M
    )
    (lock,) = LOCKS[target]
    assert not set(named) - set(pins(DEPLOY / lock)), "say 'make lock'"


def test_what_builds_the_wheel_is_cut_out_of_the_lock_with_its_hashes():
    tool("awk", "mawk")
    (script,) = re.findall(r"RUN (awk .*?) > build.lock", DOCKERFILE.read_text())
    done = subprocess.run(
        script, shell=True, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert re.findall(r"^(\S+)==", done.stdout, re.M) == ["setuptools"]
    assert done.stdout.count("--hash=sha256:") >= 2


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_does_not_run_as_root(target):
    _, lines = stages()[target]
    users = [line for line in lines if line.startswith("USER")]
    assert users == ["USER 10001:10001"]
    assert lines.index(users[0]) < lines.index(lines[-1])
    assert "--uid 10001" in "\n".join(lines_behind(target))


def test_the_base_image_is_an_argument_and_no_moving_tag():
    bases = {base for base, _ in stages().values()} - set(stages())
    assert bases == {"${PYTHON_IMAGE}"}
    assert "ARG PYTHON_IMAGE=python:3." in DOCKERFILE.read_text()
    assert "latest" not in DOCKERFILE.read_text()


def test_what_the_images_copy_is_let_through_and_nothing_private_is():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--)(\S+) ", DOCKERFILE.read_text(), re.M)
    assert set(copied) == allowed
    assert all((ROOT / path).exists() for path in allowed)
    assert "*" in lines
