"""The pages under axe-core, which looks for what keeps people out."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.db]

VERSION = "4.10.3"
PATHS = (
    "/",
    "/depot?depot=LON-03&scenario=promotion",
    "/plan",
    "/plan?city=Rotterdam&form=vans",
    "/accuracy",
    "/models",
    "/pipeline",
)
# What there is to see is the same in the dark, only its colours are not.
RULES = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
    "dark": {"type": "rule", "values": ["color-contrast"]},
}
LOOK = """rules => axe.run(document, {runOnly: rules})
    .then(found => found.violations.flatMap(rule =>
        rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 120)}`)))"""
# Streamlit follows the scheme without loading again.
HAS_COLOURS = """scheme => {
    const app = document.querySelector('[data-testid=stApp]');
    const rgb = getComputedStyle(app).backgroundColor.match(/[0-9.]+/g).slice(0, 3);
    return (Math.max(...rgb) < 128) === (scheme === 'dark'); }"""
PATIENCE_S = 60


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """axe-core's script: the file AXE_CORE names, or the one npm brings."""
    named = os.environ.get("AXE_CORE")
    if named:
        return Path(named).read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs axe-core: install npm, or set AXE_CORE to its axe.min.js")
    folder = tmp_path_factory.mktemp("axe")
    try:
        done = subprocess.run(
            [npm, "pack", f"axe-core@{VERSION}"], cwd=folder, timeout=PATIENCE_S,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        pytest.skip(f"needs axe-core: npm brought none in {PATIENCE_S} s; set AXE_CORE")
    if done.returncode != 0:
        pytest.skip(f"needs axe-core: npm says {done.stderr.splitlines()[:1]}")
    with tarfile.open(folder / f"axe-core-{VERSION}.tgz") as pack:
        script = pack.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


@pytest.fixture(scope="module")
def fleet(axe, serve_fleet):
    return serve_fleet()


@pytest.mark.parametrize("path", PATHS)
def test_a_page_has_no_accessibility_violations(fleet, visit, axe, path):
    window = visit(fleet)
    window.page.emulate_media(color_scheme="light")
    window.to(path)
    window.page.evaluate(axe)
    for scheme, rules in RULES.items():
        window.page.emulate_media(color_scheme=scheme)
        window.page.wait_for_function(HAS_COLOURS, arg=scheme)
        window.settled()
        assert window.page.evaluate(LOOK, rules) == [], scheme
