"""The dashboard's connection: read-only, with time limits and clear errors."""

import pytest
import sqlalchemy as sa
import streamlit as st

from dashboard import queries
from dashboard.queries import database
from forecaster.errors import DatabaseError
from tests.pipelines.make import add_depot

pytestmark = pytest.mark.db


def test_the_dashboards_connection_can_only_read(seeded):
    with (
        pytest.raises(sa.exc.InternalError, match="read-only transaction"),
        database.engine().connect() as connection,
    ):
        connection.execute(sa.text("delete from scores"))


def test_a_slow_statement_is_an_error_with_a_remedy(seeded, monkeypatch):
    monkeypatch.setattr(database, "READ_ONLY", "-c statement_timeout=20ms")
    st.cache_resource.clear()
    with pytest.raises(DatabaseError, match="needed more than 15 seconds"):
        database.read("select pg_sleep(5)")


def test_an_unreachable_database_is_reported_without_its_address(
    dashboard, monkeypatch
):
    monkeypatch.setenv("HARBOR_DATABASE_URL", "postgresql://u:secret@127.0.0.1:9/x")
    with pytest.raises(DatabaseError, match="does not answer") as error:
        queries.freshness()
    assert "secret" not in str(error.value)


def test_an_invalid_address_is_reported_without_repeating_it(dashboard, monkeypatch):
    monkeypatch.setenv("HARBOR_DATABASE_URL", "secret nonsense")
    with pytest.raises(DatabaseError, match="not an address") as error:
        queries.freshness()
    assert "secret" not in str(error.value)


def test_missing_tables_ask_for_the_upgrade(dashboard):
    with pytest.raises(DatabaseError, match="harbor db upgrade"):
        database.read("select * from no_such_table")


def test_a_missing_column_asks_for_the_upgrade(dashboard):
    with pytest.raises(DatabaseError, match="different releases"):
        database.read("select no_such_column from depots")


def test_a_missing_right_names_the_role_to_grant(dashboard):
    with database.engine().connect() as connection:
        connection.execute(sa.text("set local role pg_monitor"))
        with pytest.raises(sa.exc.ProgrammingError) as refused:
            connection.execute(sa.text("select * from depots"))
    message = database.database_error(refused.value)
    assert "does not let the dashboard's user" in str(message)
    assert "grant the user the role harbor_dashboard" in str(message)


def test_a_programming_error_keeps_its_traceback(dashboard):
    with pytest.raises(sa.exc.ProgrammingError):
        database.read("selct 1")


def test_without_a_database_the_error_names_the_command(dashboard, monkeypatch):
    monkeypatch.delenv("HARBOR_DATABASE_URL")
    with pytest.raises(DatabaseError, match="start it with `harbor dashboard`"):
        queries.freshness()


def test_all_reads_of_a_snapshot_see_the_same_state(seeded, clean_engine):
    """A commit between two of its statements is visible to neither."""
    count = "select count(*) as n from depots"
    with database.snapshot() as connection:
        before = database.select(connection, count).iloc[0]["n"]
        with clean_engine.begin() as writer:
            add_depot(writer, "newcomer")
        assert database.select(connection, count).iloc[0]["n"] == before
    assert database.read(count).iloc[0]["n"] == before + 1
