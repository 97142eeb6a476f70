"""Fixtures of all tests: a migrated Postgres, sample data, random numbers; no user settings."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex

import psycopg
import pytest
import sqlalchemy as sa
import structlog
from hypothesis import settings
from sqlalchemy.dialects.postgresql import REGCLASS

# How long an example takes is the machine's business: no property has a deadline.
settings.register_profile("harbor", deadline=None)
settings.load_profile("harbor")
# Before any test imports JAX: the suite runs on the CPU, whatever the machine has.
os.environ["JAX_PLATFORMS"] = "cpu"
# A test's networks are small: to optimise their programs takes longer than to run them.
# tests/deploy/test_demo.py has them compiled as commands do.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1",
)
# As every command does; workers beside each other leave no core for a second thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Hundreds of loads, each of which would start a parser; those that want one say so.
TEST_ENVIRONMENT = {"HARBOR_PARSER_MEMORY_MIB": "0", "HARBOR_SETTLE_SECONDS": "0"}
TEST_VARIABLES = {
    "HARBOR_SAMPLE_DATA",
    "HARBOR_REQUIRE_BROWSER",
    "HARBOR_REQUIRE_TOOLS",
}
for name in [name for name in os.environ if name.startswith("HARBOR_")]:
    if name not in TEST_VARIABLES:
        del os.environ[name]
os.environ.update(TEST_ENVIRONMENT)

from jaxtyping import install_import_hook

import tests.typecheck

# The shapes that signatures state are checked in every test.
install_import_hook("forecaster", f"{tests.typecheck.__name__}.checked")

from pipelines.database import embedded, migrate, roles
from pipelines.schema import metadata

TEST_DATABASE = "test_harbor"
# The tests' own server need not outlive a power cut; every commit is as visible as ever.
WITHOUT_DISK = (
    "alter system set fsync = off",
    "alter system set synchronous_commit = off",
    "alter system set full_page_writes = off",
    "select pg_reload_conf()",
)


def _is_used(table: sa.Table) -> sa.ColumnElement[bool]:
    """Whether a table has rows, or had some that took a number."""
    has_rows = sa.select(table).exists()
    numbered = table.autoincrement_column
    if numbered is None:
        return has_rows
    sequence = sa.func.pg_get_serial_sequence(table.name, numbered.name)
    last = sa.func.pg_sequence_last_value(sa.cast(sequence, REGCLASS))
    return has_rows | last.is_not(None)


USED_TABLES = sa.union_all(
    *(
        sa.select(sa.literal(table.name)).where(_is_used(table))
        for table in metadata.sorted_tables
    )
)
"""Names of those that a test has left rows or numbers in: to truncate all takes longer."""

OPT_IN_MARKERS = {
    "faults": "the whole matrix of faults, several minutes; only with -m faults",
    "soak": "a month of nights, minutes; only with -m soak",
    "image": "builds the images and starts them, minutes; only with -m image",
}


def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers of opt-in tests."""
    for marker, description in OPT_IN_MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {description}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Marks what asks for the database, and deselects opt-in tests that no -m selects."""
    for item in items:
        if "database_url" in getattr(item, "fixturenames", ()):
            item.add_marker("db")
    unselected = [name for name in OPT_IN_MARKERS if name not in config.option.markexpr]
    deselected = [
        item
        for item in items
        if any(item.get_closest_marker(name) for name in unselected)
    ]
    items[:] = [item for item in items if item not in deselected]
    config.hook.pytest_deselected(items=deselected)


@pytest.fixture(scope="session", autouse=True)
def kept_programs(request: pytest.FixtureRequest) -> Iterator[None]:
    """What XLA compiles is kept beside pytest's own cache, for other workers and other runs.

    In this process alone: what a test starts has the program's cache, or none.
    """
    if not hasattr(request.config, "cache") or "jax" not in sys.modules:
        yield
        return
    from forecaster.model.compile_stats import persistent_cache
    from pipelines.training.jax_runtime import cpu_fingerprint

    folder = request.config.cache.mkdir("jax") / cpu_fingerprint()
    # Of any size: to look for the oldest one at each program takes longer than it saves.
    with persistent_cache(folder, max_bytes=-1):
        yield


@pytest.fixture
def no_kept_programs() -> Iterator[None]:
    """As in a process that has no cache of programs, for tests of that cache itself."""
    import jax

    from forecaster.model.compile_stats import CACHE_DIR, CACHE_SIZE, _configure

    kept = {name: getattr(jax.config, name) for name in (CACHE_DIR, CACHE_SIZE)}
    _configure({CACHE_DIR: None, CACHE_SIZE: -1})
    yield
    _configure(kept)


@pytest.fixture(scope="session")
def database_url() -> Iterator[str]:
    """A fresh database named test_… on an embedded server of the tests' own."""
    home = Path(tempfile.mkdtemp(prefix="harbor-tests-"))
    home.chmod(0o755)  # as root, the server's account must be able to enter
    try:
        with embedded.running(home) as url:
            with psycopg.connect(url, autocommit=True) as link:
                for statement in WITHOUT_DISK:
                    link.execute(statement)
                link.execute(f"create database {TEST_DATABASE}")
            yield url.replace("@/harbor?", f"@/{TEST_DATABASE}?")
    finally:
        shutil.rmtree(home)


@pytest.fixture(scope="session")
def engine(database_url: str) -> Iterator[sa.Engine]:
    """An engine on the test database, brought up by the migrations, roles included."""
    engine = sa.create_engine(database_url)
    with engine.connect() as connection:
        name = connection.scalar(sa.text("select current_database()"))
    assert str(name).startswith("test"), f"{name} is not a test database"
    migrate.upgrade(engine)
    roles.ensure(engine)
    yield engine
    engine.dispose()


NewDatabase = Callable[..., sa.Engine]


@pytest.fixture(scope="module")
def new_database(database_url: str, engine: sa.Engine) -> Iterator[NewDatabase]:
    """Makes databases beside the test database, empty or as a template; they go with its server."""
    made = []

    def make(template: str = "template1") -> sa.Engine:
        name = f"test_{token_hex(6)}"
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as link:
            link.execute(sa.text(f"create database {name} template {template}"))
        made.append(sa.create_engine(database_url.replace(TEST_DATABASE, name)))
        return made[-1]

    yield make
    for each in made:
        each.dispose()


@pytest.fixture(scope="module")
def migrated(new_database: NewDatabase) -> str:
    """The name of a database that the migrations have led up, as a template."""
    made = new_database()
    migrate.upgrade(made)
    made.dispose()
    return str(made.url.database)


@pytest.fixture
def connection(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A connection whose transaction is rolled back after the test."""
    with engine.connect() as connection:
        transaction = connection.begin()
        yield connection
        transaction.rollback()


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """A command that a test runs in this process sets up logging for itself alone."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture
def clean_engine(engine: sa.Engine) -> Iterator[sa.Engine]:
    """For code that commits: every table is emptied after the test."""
    yield engine
    empty_tables(engine)


def empty_tables(engine: sa.Engine) -> None:
    """Truncates every table that has rows, or whose numbers have begun; few have."""
    with engine.begin() as connection:
        used = connection.scalars(USED_TABLES).all()
        if used:
            connection.execute(
                sa.text(f"truncate {', '.join(used)} restart identity cascade")
            )


@pytest.fixture
def sample_data() -> Path:
    """The folder of real data, or a skip that says how to name it."""
    path = os.environ.get("HARBOR_SAMPLE_DATA")
    if not path:
        pytest.skip("needs real data: set HARBOR_SAMPLE_DATA to the folder that has it")
    folder = Path(path).resolve()
    if not folder.is_dir():
        pytest.skip(f"needs real data: HARBOR_SAMPLE_DATA names no folder ({folder})")
    return folder


@pytest.fixture
def rng():
    """Random numbers that are the same in every run."""
    import numpy as np

    return np.random.default_rng(20260101)
