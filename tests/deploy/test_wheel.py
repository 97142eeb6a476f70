"""The wheel that `python -m build` makes works where there is no checkout."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.ports import free_port

pytestmark = pytest.mark.db

ROOT = Path(__file__).parents[2]
PACKAGES = ("forecaster", "pipelines", "dashboard", "migrations")
NO_DATA = {".png"}
PATIENCE_S = 120
NOTEBOOK = """
import sys
import pandas as pd
from forecaster import forecast, load

days = pd.date_range("2026-01-01", periods=60)
orders = pd.DataFrame({"depot_id": "A", "date": days, "orders": 80 + 5 * days.dayofweek})
print(forecast(load(sys.argv[1]), orders).to_csv(index=False))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from nothing but what git would hand on, by way of the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, source / package, ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        folder,
        source,
    ]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(
    scope="module",
    params=[
        "dependencies of these tests",
        pytest.param("dependencies from the index", marks=pytest.mark.image),
    ],
)
def installed(request, wheel):
    """An environment with the wheel, and a home for its user."""
    folder = Path(tempfile.mkdtemp(prefix="harbor wheel "))
    folder.chmod(0o755)  # as root, the server's account must be able to enter
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    options, what = ["--no-deps", "--no-index"], str(wheel)
    if request.param == "dependencies from the index":
        options, what = [], f"{wheel}[all]"
    else:
        site = sysconfig.get_path("purelib", vars={"base": str(environment)})
        (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, what], check=True)
    (folder / "home").mkdir()
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HARBOR_", "XDG_", "PYTHON", "VIRTUAL_ENV"))
    }
    yield SimpleNamespace(
        python=python,
        bin=environment / "bin",
        home=folder / "home",
        variables={**variables, "HOME": str(folder / "home")},
    )
    shutil.rmtree(folder)


def run(installed, *words):
    done = subprocess.run(
        [installed.bin / words[0], *words[1:]],
        env=installed.variables, cwd=installed.home, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def test_every_file_of_the_packages_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        inside = {*archive.namelist()}
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix not in NO_DATA
    }
    assert expected - inside == set()
    assert not [name for name in inside if name.startswith("tests")]


def test_the_program_is_that_of_the_wheel(installed):
    for program in ("harbor", "harbor-fleet"):
        assert "forecast" in run(installed, program, "--help").stdout
    where = run(
        installed, "python", "-c", "import pipelines; print(pipelines.__file__)"
    )
    assert where.stdout.startswith(str(installed.bin.parent))


def test_a_demo_its_pages_and_a_notebook(installed):
    """In one story, because the demo in it is what takes time."""
    run(installed, "harbor", "demo", "--depots", "2", "--days", "70", "--no-serve")
    # Away from a checkout, all of it lies in the user's data directory.
    data = installed.home / ".local" / "share" / "harbor-fleet"
    models = json.loads(run(installed, "harbor", "models", "list", "--json").stdout)
    (champion,) = [each["filename"] for each in models if each["role"] == "champion"]
    path = data / "artefacts" / champion
    notebook = run(installed, "python", "-c", NOTEBOOK, str(path))
    assert notebook.stdout.count("\nA,2026-03-01,") == 7

    port = free_port()
    server = subprocess.Popen(
        [installed.bin / "harbor", "dashboard", "--port", str(port)],
        env=installed.variables, cwd=installed.home, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert answer(f"http://127.0.0.1:{port}/first-page") == 200
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(PATIENCE_S)


def answer(url):
    """The status of a page once there is a server."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answered:
                return answered.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
