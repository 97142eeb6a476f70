"""Which package may import which, and what runs without JAX."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.processes import run_python

ROOT = Path(__file__).parents[2]
PACKAGES = ("forecaster", "pipelines", "dashboard", "migrations")
JAX = {"jax", "jaxlib", "flax", "optax", "orbax"}
OTHER_PACKAGES = {"pipelines", "dashboard", "migrations"}

FORBIDDEN = {
    "forecaster": OTHER_PACKAGES | {"sqlalchemy", "streamlit", "os.environ", "psycopg"},
    "forecaster/data": JAX | {"forecaster.model", "forecaster.inference"},
    "forecaster/inference": JAX | {"forecaster.model"},
    "dashboard": JAX | {"migrations", "forecaster.model"},
    "dashboard/views": {"sqlalchemy", "pipelines", "forecaster", "pandas", "numpy"},
    "dashboard/queries": {"dashboard.views", "dashboard.components", "dashboard.text"},
    # The pages are started by name.
    "pipelines": {"dashboard", "streamlit"},
    "migrations": {"forecaster", "dashboard", "streamlit"} | JAX,
    "pipelines/ingest/sources": {"pipelines.ingest.rows", "pipelines.ingest.load"},
    "pipelines/ingest/rows": {"pipelines.ingest.load", "pipelines.demand"},
    "pipelines/store": {"forecaster.model", "forecaster.inference"} | JAX,
    "pipelines/schema": {"forecaster", "pipelines.store", "pipelines.settings"},
}


@cache
def imported(source: str) -> set[str]:
    """Every name in an import, and every module and package above it."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {
        ".".join(name.split(".")[: n + 1])
        for name in names
        for n in range(name.count(".") + 1)
    }


def test_a_package_imports_only_what_it_may():
    for package, forbidden in FORBIDDEN.items():
        paths = sorted((ROOT / package).rglob("*.py"))
        assert paths, f"{package} is empty"
        for path in paths:
            trespass = imported(path.read_text()) & forbidden
            assert not trespass, f"{path} imports {', '.join(sorted(trespass))}"


def test_only_the_model_folder_of_the_forecaster_imports_jax():
    for path in (ROOT / "forecaster").glob("*.py"):
        trespass = imported(path.read_text()) & (JAX | {"forecaster.model"})
        assert not trespass, f"{path} imports {', '.join(sorted(trespass))}"


def folder_of(module):
    """`pipelines.store` of `pipelines.store.runs`; a module of a package stands for itself."""
    return ".".join(module.split(".")[:2])


def test_no_two_folders_import_each_other():
    """Nor do several in a circle: taken away one by one, the leaves leave nothing."""
    arrows = defaultdict(set)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            arrows[folder_of(module)] |= {
                folder_of(name)
                for name in imported(path.read_text())
                if name.split(".")[0] in PACKAGES and "." in name
            } - {folder_of(module)}
    assert len(arrows) > 20
    while leaves := [name for name in arrows if not arrows[name] & arrows.keys()]:
        for name in leaves:
            del arrows[name]
    assert not arrows, f"these import each other in a circle: {sorted(arrows)}"


def test_the_migrations_take_the_schema_only_from_the_pipelines():
    """The engine is handed to them, so that only the settings say where the database is."""
    for path in (ROOT / "migrations").rglob("*.py"):
        names = {name for name in imported(path.read_text()) if "pipelines" in name}
        assert {folder_of(name) for name in names} <= {"pipelines", "pipelines.schema"}


def test_the_dashboard_takes_settings_schema_and_plan_only_from_the_pipelines():
    own = ("settings", "schema", "planning")
    allowed = {"pipelines", *(f"pipelines.{each}" for each in own)}
    for path in (ROOT / "dashboard").rglob("*.py"):
        every = imported(path.read_text())
        names = {name for name in every if name.startswith("pipelines")}
        forbidden = {folder_of(name) for name in names} - allowed
        assert not forbidden, f"{path} imports {', '.join(sorted(forbidden))}"


def test_only_the_console_prints_with_rich():
    """It escapes what it is given; another door would have to think of that, too."""
    console = ROOT / "pipelines" / "cli" / "console.py"
    for package in ("forecaster", "pipelines", "dashboard"):
        for path in (ROOT / package).rglob("*.py"):
            prints = "rich" in imported(path.read_text())
            assert prints == (path == console), path


def test_only_settings_reads_the_environment():
    readers = {"environ", "getenv"}
    # The dashboard command hands its own environment on to its child, and the TPU's
    # compiler is told by its own that no TPU is here.
    names = ("settings/__init__.py", "cli/dashboard.py", "cli/tpu.py")
    allowed = {ROOT / "pipelines" / name for name in names}
    for package in ("forecaster", "pipelines", "dashboard"):
        for path in (ROOT / package).rglob("*.py"):
            nodes = ast.walk(ast.parse(path.read_text()))
            names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
            assert path in allowed or not names & readers, path


def test_serving_needs_no_jax_the_pipelines_no_streamlit_and_inference_no_pandas():
    code = """
import sys
import forecaster.inference.infer
assert "pandas" not in sys.modules, "it takes longer to import than all that serves"
import forecaster.backtest, pipelines.forecasting.forecast, pipelines.cli
import pipelines.cli.dashboard
import pipelines.monitoring.server, pipelines.monitoring.watcher
"""
    run_python(code, JAX | {"streamlit"})
