"""The bill of materials has every package of the lock, and the form CycloneDX asks for."""

import json
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from deploy import sbom

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
LOCKS = sorted([LOCK, *(ROOT / "deploy").glob("*.lock")])


@pytest.fixture(scope="module")
def made():
    return sbom.document(LOCK.read_text(), "harbor-fleet", "1.0")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_package_of_a_lock_is_in_it_with_every_hash(lock):
    text = lock.read_text()
    made = sbom.document(text, "harbor-fleet", "1.0")
    pinned = re.findall(r"^([a-z0-9._-]+)(?:\[.*?\])?==([^\s;]+)", text, re.M)
    assert [(each["name"], each["version"]) for each in made["components"]] == pinned
    hashes = [one["content"] for each in made["components"] for one in each["hashes"]]
    assert hashes == re.findall(r"sha256:(\w+)", text)


def test_it_has_the_form_of_cyclonedx(made):
    assert made["bomFormat"] == "CycloneDX"
    assert made["specVersion"] == "1.6"
    assert made["version"] == 1
    uuid = r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    assert re.fullmatch(uuid, made["serialNumber"])
    refs = [each["bom-ref"] for each in made["components"]]
    assert len(refs) == len(set(refs)) > 100
    for each in made["components"]:
        assert each["type"] == "library"
        assert each["bom-ref"] == each["purl"]
        # As the purl specification has it for PyPI: small letters, no underscore.
        assert re.fullmatch(r"pkg:pypi/[a-z0-9.-]+@[A-Za-z0-9.%-]+", each["purl"])
        assert each["hashes"]
        for one in each["hashes"]:
            assert one["alg"] == "SHA-256"
            assert re.fullmatch("[0-9a-f]{64}", one["content"])


def test_who_wants_whom_names_only_what_is_there(made):
    known = {each["bom-ref"] for each in made["components"]} | {"harbor-fleet"}
    sources = [each["ref"] for each in made["dependencies"]]
    assert len(sources) == len(set(sources))
    assert set(sources) <= known
    wanted = {name for each in made["dependencies"] for name in each["dependsOn"]}
    # Nothing is locked that nobody wants.
    assert wanted == known - {"harbor-fleet"}
    [ours] = [each for each in made["dependencies"] if each["ref"] == "harbor-fleet"]
    assert any(name.startswith("pkg:pypi/numpy@") for name in ours["dependsOn"])


def test_what_is_installed_here_is_what_it_says(made):
    here = {
        re.sub(r"[-_.]+", "-", each.name).lower(): each.version
        for each in distributions()
    }
    told = {each["name"]: each["version"] for each in made["components"]}
    assert len(here.keys() & told.keys()) > 50
    assert {n: here[n] for n in here if n in told} == {
        n: told[n] for n in here if n in told
    }


def test_the_same_lock_gives_the_same_bytes_without_a_host_or_a_time():
    command = [sys.executable, str(ROOT / "deploy" / "sbom.py"), str(LOCK)]
    one, two = (
        subprocess.run(command, cwd="/", capture_output=True, check=True).stdout
        for _ in range(2)
    )
    assert one == two
    assert b"://" not in one
    assert b"timestamp" not in one
    assert json.loads(one)["metadata"]["component"]["name"] == "harbor-fleet"


def test_a_version_of_ones_own_is_quoted():
    lock = (
        f"torch==2.9.1+cpu ; sys_platform == 'linux' \\\n    --hash=sha256:{'a' * 64}\n"
    )
    [component] = sbom.document(lock, "x", "1")["components"]
    assert component["purl"] == "pkg:pypi/torch@2.9.1%2Bcpu"
    assert component["properties"] == [
        {"name": "harbor:only-where", "value": "sys_platform == 'linux'"}
    ]


@pytest.mark.parametrize(
    ("lock", "told"),
    [("numpy==2.4.0\n", "no hash, such as numpy"), ("numpy>=2\n", "Line 1 is 'numpy>=2'")],
)  # fmt: skip
def test_what_is_no_lock_is_refused(lock, told):
    with pytest.raises(ValueError, match=told):
        sbom.document(lock, "x", "1")
