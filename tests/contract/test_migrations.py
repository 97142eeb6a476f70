"""The migrations lead up to the schema, and come back down."""

import pytest
import sqlalchemy as sa

from forecaster.errors import DatabaseError
from pipelines.database import migrate, schema_version
from pipelines.schema import metadata

pytestmark = pytest.mark.db


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


def test_files_of_signals_go_with_their_kind(migrated_engine):
    add_file = """
        insert into files (path, sha256, options_sha256, kind, size_bytes, accepted,
                           unchanged, rejected, ignored_columns)
        values (:name, :name, '', :name, 1, 1, 0, 0, '{}') returning file_id
    """
    with migrated_engine.begin() as connection:
        daily, signals = (
            connection.scalar(sa.text(add_file), {"name": name})
            for name in ("daily", "signals")
        )
        rows = {"daily": daily, "signals": signals}
        for statement in (
            "insert into file_repeats values (:signals, :daily)",
            "insert into quarantine (file_id, reason, raw) values (:signals, 'x', '{}')",
        ):
            connection.execute(sa.text(statement), rows)
    migrate.downgrade(migrated_engine, "0001_initial")
    with migrated_engine.connect() as connection:
        kinds = connection.scalars(sa.text("select kind from files")).all()
    assert kinds == ["daily"]


FORECAST_OF_0004 = """
    insert into depots (depot_id, name, city, timezone, country, is_complete)
    values ('A', 'A', 'B', 'UTC', 'NL', true);
    insert into models (version, trained_through, data_watermark, filename, sha256, seed, role)
    values ('v', '2026-01-01', '', '', '', 0, 'champion');
    insert into forecasts (depot_id, origin_on, target_on, model_version, p10, p50, p90,
                           basis, is_live, made_at)
    values ('A', '2026-01-01', '2026-01-02', 'v', 10, 20, 40, 'model', true, now());
    insert into scores (depot_id, origin_on, target_on, model_version, p10, p50, p90, actual,
                        is_live)
    values ('A', '2026-01-01', '2026-01-02', 'v', 10, 20, 40, 30, true);
    delete from scores_due;
"""


def locked(connection):
    """The number that a planner locks, and that which it is compared with."""
    change = '[{"depot_id": "A", "target_on": "2026-01-02", "action": "lock"}]'
    connection.execute(
        sa.text("select add_overrides(cast(:change as jsonb), 'as it is', 'Anna')"),
        {"change": change},
    )
    return connection.scalar(sa.text("select to_jsonb(o) from overrides o"))


def test_the_point_of_old_forecasts_is_their_median(migrated_engine):
    """And they are not scored again; a planner locks what is shown, before and after."""
    migrate.downgrade(migrated_engine, "0004_scores_due")
    with migrated_engine.begin() as connection:
        connection.execute(sa.text(FORECAST_OF_0004))
    migrate.upgrade(migrated_engine)
    with migrated_engine.begin() as connection:
        for table in ("forecasts", "scores"):
            assert connection.scalar(sa.text(f"select point from {table}")) == 20
        assert connection.scalar(sa.text("select count(*) from scores_due")) == 0
        connection.execute(sa.text("update forecasts set point = 15"))
        override = locked(connection)
    assert (override["orders"], override["point"]) == (15, 15)
    migrate.downgrade(migrated_engine, "0004_scores_due")
    with migrated_engine.begin() as connection:
        assert connection.scalar(sa.text("select p50 from overrides")) == 15
        connection.execute(sa.text("truncate overrides"))
        assert locked(connection)["p50"] == 20


def test_overrides_are_kept_by_the_column_that_says_what_an_undo_restores(
    migrated_engine,
):
    with migrated_engine.begin() as connection:
        connection.execute(
            sa.text(
                FORECAST_OF_0004.replace("p10,", "p10, point,").replace(
                    "10, 20", "10, 20, 20"
                )
            )
        )
        before = locked(connection)
    migrate.downgrade(migrated_engine, "0005_point")
    migrate.upgrade(migrated_engine)
    with migrated_engine.connect() as connection:
        after = connection.scalar(sa.text("select to_jsonb(o) from overrides o"))
    assert after == before


def test_a_table_nobody_migrated_is_found(migrated_engine):
    with migrated_engine.begin() as connection:
        connection.execute(sa.text("alter table depots drop column vans"))
    with pytest.raises(DatabaseError, match="vans"):
        migrate.check(migrated_engine)


def test_a_database_without_tables_says_how_to_make_them(empty_engine):
    with pytest.raises(DatabaseError, match=r"schema none.*'harbor db upgrade'"):
        schema_version.require_current(empty_engine)


def test_a_database_ahead_of_the_program_asks_for_the_newer_release(migrated_engine):
    with migrated_engine.begin() as connection:
        connection.execute(sa.text("update alembic_version set version_num = '9999'"))
    with pytest.raises(DatabaseError, match=r"9999.*newer release"):
        schema_version.require_current(migrated_engine)
