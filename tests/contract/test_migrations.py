"""The migrations lead to the schema."""

import pytest
import sqlalchemy as sa

from forecaster.errors import DatabaseError
from pipelines.database import migrate, schema_version
from pipelines.schema import metadata


def test_an_upgrade_makes_the_tables_of_the_schema_and_may_be_repeated(new_database):
    empty_engine = new_database()
    for _ in range(2):
        migrate.upgrade(empty_engine)
        migrate.check(empty_engine)
    assert set(metadata.tables) <= set(sa.inspect(empty_engine).get_table_names())


def test_a_table_nobody_migrated_is_found(new_database, migrated):
    migrated_engine = new_database(migrated)
    with migrated_engine.begin() as connection:
        connection.execute(sa.text("alter table depots drop column vans"))
    with pytest.raises(
        DatabaseError, match=r"depots vans.*set HARBOR_HOME to a new folder"
    ):
        migrate.check(migrated_engine)


def test_a_database_without_tables_says_how_to_make_them(new_database):
    with pytest.raises(DatabaseError, match=r"schema none.*'harbor db upgrade'"):
        schema_version.require_current(new_database())
