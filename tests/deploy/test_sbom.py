"""`make sbom`: the bill of materials names every locked package."""

import importlib.util
import json
import re
import sys

from tests.deploy.tools import ROOT, run, skip_or_fail

LOCK = ROOT / "requirements.lock"


def test_the_bill_names_every_locked_package_with_its_hashes(tmp_path):
    if importlib.util.find_spec("cyclonedx_py") is None:
        skip_or_fail("needs cyclonedx-bom: pip install -r tests/deploy/tools.lock")
    bill = tmp_path / "sbom.json"
    done = run(
        *(sys.executable, "-m", "cyclonedx_py", "requirements"),
        *("--pyproject", ROOT / "pyproject.toml", "--output-reproducible"),
        *("--output-file", bill, LOCK),
    )
    assert done.returncode == 0, done.stderr
    components = json.loads(bill.read_text())["components"]
    text = LOCK.read_text()
    pinned = re.findall(r"^([a-z0-9._-]+)(?:\[.*?\])?==([^\s;]+)", text, re.M)
    assert sorted((each["name"], each["version"]) for each in components) == sorted(
        pinned
    )
    hashes = {
        one["content"]
        for each in components
        for reference in each["externalReferences"]
        for one in reference["hashes"]
    }
    assert hashes == set(re.findall(r"sha256:(\w+)", text))
