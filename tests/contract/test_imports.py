"""Who may import whom, and what is there without JAX."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JAX = {"jax", "jaxlib", "flax", "optax", "orbax"}
JAX_FLOOR = {
    "model",
    "losses",
    "train",
    "fitting",
    "checkpoint",
    "compiling",
    "devices",
    "hosts",
    "profiling",
    "export",
    "learning",
    "tpu",
}
OTHER_ROOMS = {"pipelines", "dashboard", "migrations"}

FORBIDDEN = {
    "forecaster": OTHER_ROOMS | {"sqlalchemy", "streamlit", "os.environ", "psycopg"},
    "dashboard": JAX | {"migrations"},
    "dashboard/views": {"sqlalchemy", "pipelines", "forecaster", "pandas", "numpy"},
    "migrations": {"forecaster", "dashboard", "streamlit"} | JAX,
    "pipelines/store": {"dashboard", "streamlit", "forecaster"} | JAX,
}


def imported(source: str) -> set[str]:
    """Every module named in an import, and every package above it."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {
                node.module,
                *(f"{node.module}.{alias.name}" for alias in node.names),
            }
    return {
        ".".join(name.split(".")[: n + 1])
        for name in names
        for n in range(name.count(".") + 1)
    }


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_keeps_to_itself(room):
    paths = sorted((ROOT / room).rglob("*.py"))
    assert paths, f"{room} is empty"
    for path in paths:
        trespass = imported(path.read_text()) & FORBIDDEN[room]
        assert not trespass, f"{path} imports {', '.join(sorted(trespass))}"


def test_the_numpy_floor_never_imports_the_jax_floor():
    above = JAX | {f"forecaster.{name}" for name in JAX_FLOOR}
    for path in (ROOT / "forecaster").glob("*.py"):
        if path.stem not in JAX_FLOOR:
            trespass = imported(path.read_text()) & above
            assert not trespass, f"{path} imports {', '.join(sorted(trespass))}"


def test_the_dashboard_takes_settings_and_schema_only_from_the_pipelines():
    allowed = {"pipelines", "pipelines.settings", "pipelines.schema"}
    for path in (ROOT / "dashboard").rglob("*.py"):
        modules = {
            name
            for name in imported(path.read_text())
            if name.startswith("pipelines") and not name.split(".")[-1][0].isupper()
        }
        strange = {
            name for name in modules if ".".join(name.split(".")[:2]) not in allowed
        }
        assert not strange, f"{path} imports {', '.join(sorted(strange))}"


def test_only_the_command_line_of_the_pipelines_knows_the_dashboard():
    """It starts the pages, and hands their statements to the watch."""
    paths = {*(ROOT / "pipelines").rglob("*.py")}
    paths -= {*(ROOT / "pipelines" / "cli").rglob("*.py")}
    assert paths
    for path in paths:
        assert "dashboard" not in imported(path.read_text()), path


def test_only_the_console_prints_with_rich():
    """It escapes what it is given; another door would have to think of that, too."""
    console = ROOT / "pipelines" / "cli" / "console.py"
    for room in ("forecaster", "pipelines", "dashboard"):
        for path in (ROOT / room).rglob("*.py"):
            prints = "rich" in imported(path.read_text())
            assert prints == (path == console), path


def test_only_settings_reads_the_environment():
    readers = {"environ", "getenv"}
    # The dashboard command hands its own environment on to its child, and the TPU's
    # compiler is told by its own that no TPU is here.
    names = ("settings/__init__.py", "cli/dashboard.py", "cli/tpu.py")
    allowed = {ROOT / "pipelines" / name for name in names}
    for room in ("forecaster", "pipelines", "dashboard"):
        for path in (ROOT / room).rglob("*.py"):
            names = {
                node.attr for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Attribute)
            }  # fmt: skip
            assert path in allowed or not names & readers, (
                f"{path} reads the environment"
            )


@pytest.mark.parametrize(
    "module",
    [
        "forecaster.inference.infer",
        "forecaster.backtest",
        "pipelines.forecasting.forecast",
        "pipelines.cli",
    ],
)
def test_serving_needs_no_jax(module):
    """Run with JAX made impossible to import, as on a host that has none."""
    code = f"""
import sys
class NoJax:
    def find_spec(self, name, *_):
        if name.split(".")[0] in {JAX!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoJax())
import {module}
print(sorted(sys.modules.keys() & {JAX!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_what_serves_imports_no_pandas():
    """It takes longer to import than everything that serves."""
    code = "import sys, forecaster.inference.infer; print('pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout.strip() == "False"
