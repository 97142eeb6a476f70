"""Help texts and shell completion, which must not wait for what they do not need."""

import os
import subprocess
import sys

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from forecaster import naive_forecasts
from pipelines.cli.backtest import NAIVE_FORECASTS
from pipelines.cli.models import SCORE_SEGMENTS
from pipelines.database import schema_version
from pipelines.settings import CHECKOUT
from pipelines.store import accuracy
from tests.pipelines.make import record_model
from tests.processes import run_python

LIBRARIES = {
    "alembic", "numpy", "pandas", "psycopg", "pyarrow", "pydantic_settings", "sqlalchemy",
    "structlog", "jax", "streamlit",
}  # fmt: skip
MAX_MODULES = 550
"""468 on 2026-11-22, most of them of Typer, Rich and Pydantic, which Typer reads options with."""
HELPED = """
import sys
from pipelines.cli import main
for command in sys.argv[1:]:
    sys.argv = ["harbor", *command.split()]
    try:
        main()
    except SystemExit:
        print("MODULES", len(sys.modules), *sys.modules)
"""
HELP_TEXTS = (
    "--help", "--version", "ingest -h", "models", "models list -h", "backfill --help",
    "backtest --help", "doctor --help",
)  # fmt: skip


def printed_by(*commands, **environment):
    """What one process prints that runs these commands."""
    command = [sys.executable, "-c", HELPED, *commands]
    variables = os.environ | environment
    return subprocess.check_output(command, text=True, env=variables)


def imported_by(*commands, **environment):
    """Number and names of the modules that one process has imported after each command."""
    lines = printed_by(*commands, **environment).splitlines()
    return [line.split()[1:] for line in lines if line.startswith("MODULES ")]


@pytest.fixture(scope="module")
def imported():
    """What is imported after each of the help texts, printed one after the other."""
    return dict(zip(HELP_TEXTS, imported_by(*HELP_TEXTS), strict=True))


@pytest.mark.parametrize("command", HELP_TEXTS)
def test_a_help_text_imports_no_library_of_the_work_itself(imported, command):
    count, *names = imported[command]
    assert LIBRARIES & {*names} == set()
    assert int(count) < MAX_MODULES


def test_listing_models_imports_no_migrations_and_no_arrays(clean_engine, database_url):
    with clean_engine.begin() as connection:
        record_model(connection, "v1", "champion", scores={"network_share": 0.3})
    [names] = imported_by("models list", HARBOR_DATABASE_URL=database_url)
    assert "pipelines.store.models" in names
    assert not {"alembic", "holidays", "numpy", "pandas", "pyarrow"} & {*names}


def test_a_command_gives_products_one_thread_before_numpy_is_imported():
    """Threads of products would wait for those of the forecast; the environment may say more."""
    code = """
import os, sys
from contextlib import suppress
from pipelines.cli import command_group
class NumPyComes:
    def find_spec(self, name, *_):
        if name == "numpy":
            print(os.environ["OPENBLAS_NUM_THREADS"])
            raise ModuleNotFoundError
sys.meta_path.insert(0, NumPyComes())
app = command_group.CommandGroup("test", "A group.")
@app.command("products")
def products() -> None:
    with suppress(ModuleNotFoundError):
        import numpy
del os.environ["OPENBLAS_NUM_THREADS"]
app([], standalone_mode=False)
os.environ["OPENBLAS_NUM_THREADS"] = "3"
app([], standalone_mode=False)
"""
    assert run_python(code).stdout.split() == ["1", "3"]


def test_the_shell_completes_commands_without_the_libraries():
    typed = {"COMP_WORDS": "harbor mod", "COMP_CWORD": "1"}
    printed = printed_by("", _HARBOR_COMPLETE="complete_bash", **typed)
    suggestions, _, names = printed.partition("MODULES ")
    assert suggestions.split() == ["models"]
    assert LIBRARIES & {*names.split()} == set()


def test_help_names_the_choices_that_the_work_has():
    assert tuple(naive_forecasts.NAIVE_FORECASTS) == NAIVE_FORECASTS
    assert tuple(accuracy.SEGMENTS) == SCORE_SEGMENTS


def test_the_schema_of_this_release_is_the_head_that_alembic_finds(engine):
    config = Config()
    config.set_main_option("script_location", str(CHECKOUT / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    status = schema_version.status(engine)
    assert status.head == scripts.get_current_head()
    assert status.known == {each.revision for each in scripts.walk_revisions()}
    assert status.revision == status.head
