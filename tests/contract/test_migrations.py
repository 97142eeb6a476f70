"""The migrations lead up to the schema, and come back down."""

import pytest
import sqlalchemy as sa

from forecaster.errors import DatabaseError
from pipelines.database import migrate, schema_version
from pipelines.schema import metadata

NAME, MIGRATED = "test_migrations", "test_migrated"


def create(engine, name, template="template1"):
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as link:
        link.execute(sa.text(f"drop database if exists {name}"))
        link.execute(sa.text(f"create database {name} template {template}"))


@pytest.fixture
def empty_engine(database_url, engine):
    """A database of its own, without tables."""
    create(engine, NAME)
    fresh = sa.create_engine(database_url.replace("test_harbor", NAME))
    yield fresh
    fresh.dispose()


@pytest.fixture(scope="module")
def migrated(database_url, engine):
    """The name of a database that the migrations have led up."""
    create(engine, MIGRATED)
    made = sa.create_engine(database_url.replace("test_harbor", MIGRATED))
    migrate.upgrade(made)
    made.dispose()
    return MIGRATED


@pytest.fixture
def migrated_engine(migrated, database_url, engine):
    """A copy of it."""
    create(engine, NAME, migrated)
    fresh = sa.create_engine(database_url.replace("test_harbor", NAME))
    yield fresh
    fresh.dispose()


def test_up_check_down_and_up_again(empty_engine):
    migrate.upgrade(empty_engine)
    migrate.check(empty_engine)
    migrate.downgrade(empty_engine, "base")
    assert sa.inspect(empty_engine).get_table_names() == ["alembic_version"]
    migrate.upgrade(empty_engine)
    assert set(metadata.tables) <= set(sa.inspect(empty_engine).get_table_names())


def test_a_table_nobody_migrated_is_found(migrated_engine):
    with migrated_engine.begin() as connection:
        connection.execute(sa.text("alter table depots drop column vans"))
    with pytest.raises(DatabaseError, match=r"'vans'.*set HARBOR_HOME to a new folder"):
        migrate.check(migrated_engine)


def test_a_database_without_tables_says_how_to_make_them(empty_engine):
    with pytest.raises(DatabaseError, match=r"schema none.*'harbor db upgrade'"):
        schema_version.require_current(empty_engine)
