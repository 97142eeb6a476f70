"""What every test may ask for: a migrated Postgres, and nothing of the user's own."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from hypothesis import settings

# How long an example takes is the machine's business: no property has a deadline.
settings.register_profile("harbor", deadline=None)
settings.load_profile("harbor")
# Before any test imports JAX: the suite runs on the CPU, whatever the machine has.
os.environ["JAX_PLATFORMS"] = "cpu"
# Hundreds of loads, each of which would start a parser; those that want one say so.
PARSED_HERE = {"HARBOR_PARSER_MEMORY_MIB": "0", "HARBOR_SETTLE_SECONDS": "0"}
OF_THE_TESTS = {"HARBOR_SAMPLE_DATA", "HARBOR_REQUIRE_BROWSER", "HARBOR_REQUIRE_TOOLS"}
for name in [name for name in os.environ if name.startswith("HARBOR_")]:
    if name not in OF_THE_TESTS:
        del os.environ[name]
os.environ.update(PARSED_HERE)

from jaxtyping import install_import_hook

import tests.typecheck

# The shapes that signatures state are checked in every test.
install_import_hook("forecaster", f"{tests.typecheck.__name__}.checked")

from pipelines.database import embedded, migrate, roles
from pipelines.schema import metadata

TEST_DATABASE = "test_harbor"


ON_REQUEST = {
    "faults": "the whole matrix of faults, several minutes; only with -m faults",
    "soak": "a month of nights, minutes; only with -m soak",
    "image": "builds the images and starts them, minutes; only with -m image",
}


def pytest_configure(config: pytest.Config) -> None:
    """Names the markers of what runs only when it is asked for."""
    for marker, says in ON_REQUEST.items():
        config.addinivalue_line("markers", f"{marker}: {says}")


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leaves out what runs only when it is asked for, unless it is."""
    unasked = [name for name in ON_REQUEST if name not in config.option.markexpr]
    left_out = [
        item for item in items if any(item.get_closest_marker(name) for name in unasked)
    ]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def database_url() -> Iterator[str]:
    """A fresh database named test_… on an embedded server of the tests' own."""
    home = Path(tempfile.mkdtemp(prefix="harbor-tests-"))
    home.chmod(0o755)  # as root, the server's account must be able to enter
    try:
        with embedded.running(home) as url:
            with psycopg.connect(url, autocommit=True) as link:
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


@pytest.fixture
def connection(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A connection whose transaction is rolled back after the test."""
    with engine.connect() as connection:
        transaction = connection.begin()
        yield connection
        transaction.rollback()


@pytest.fixture
def clean_engine(engine: sa.Engine) -> Iterator[sa.Engine]:
    """For code that commits: every table is emptied after the test."""
    yield engine
    empty_tables(engine)


def empty_tables(engine: sa.Engine) -> None:
    """Takes every row out of every table."""
    tables = ", ".join(table.name for table in metadata.sorted_tables)
    with engine.begin() as connection:
        connection.execute(sa.text(f"truncate {tables} restart identity cascade"))


@pytest.fixture
def sample_data() -> Path:
    """The folder of real data, or a skip that says how to name it."""
    named = os.environ.get("HARBOR_SAMPLE_DATA")
    if not named:
        pytest.skip("needs real data: set HARBOR_SAMPLE_DATA to the folder that has it")
    folder = Path(named).resolve()
    if not folder.is_dir():
        pytest.skip(f"needs real data: HARBOR_SAMPLE_DATA names no folder ({folder})")
    return folder


@pytest.fixture
def rng():
    """Random numbers that are the same in every run."""
    import numpy as np

    return np.random.default_rng(20260101)
