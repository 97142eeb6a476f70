"""The dashboard's connection: read only, bounded, and told in sentences."""

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


def test_a_question_that_takes_too_long_is_told_in_a_sentence(seeded, monkeypatch):
    monkeypatch.setattr(database, "READ_ONLY", "-c statement_timeout=20ms")
    st.cache_resource.clear()
    with pytest.raises(DatabaseError, match="needed more than 15 seconds"):
        database.read("select pg_sleep(5)")


def test_a_database_that_does_not_answer_is_told_without_its_address(
    dashboard, monkeypatch
):
    monkeypatch.setenv("HARBOR_DATABASE_URL", "postgresql://u:secret@127.0.0.1:9/x")
    with pytest.raises(DatabaseError, match="does not answer") as error:
        queries.freshness()
    assert "secret" not in str(error.value)


def test_an_address_that_is_none_is_told_without_repeating_it(dashboard, monkeypatch):
    monkeypatch.setenv("HARBOR_DATABASE_URL", "secret nonsense")
    with pytest.raises(DatabaseError, match="not an address") as error:
        queries.freshness()
    assert "secret" not in str(error.value)


def test_tables_that_are_not_there_ask_for_the_upgrade(dashboard):
    with pytest.raises(DatabaseError, match="harbor db upgrade"):
        database.read("select * from no_such_table")


def test_a_column_that_is_not_there_asks_for_the_upgrade(dashboard):
    with pytest.raises(DatabaseError, match="different releases"):
        database.read("select no_such_column from depots")


def test_a_user_who_may_not_read_a_table_is_told_what_to_grant(dashboard):
    with database.engine().connect() as connection:
        connection.execute(sa.text("set local role pg_monitor"))
        with pytest.raises(sa.exc.ProgrammingError) as refused:
            connection.execute(sa.text("select * from depots"))
    told = database.database_error(refused.value)
    assert "does not let the dashboard's user" in str(told)
    assert "grant the user the role harbor_dashboard" in str(told)


def test_a_mistake_of_ours_keeps_its_traceback(dashboard):
    with pytest.raises(sa.exc.ProgrammingError):
        database.read("selct 1")


def test_without_a_database_the_command_to_start_is_named(dashboard, monkeypatch):
    monkeypatch.delenv("HARBOR_DATABASE_URL")
    with pytest.raises(DatabaseError, match="start it with `harbor dashboard`"):
        queries.freshness()


def test_all_that_one_snapshot_reads_is_of_one_moment(seeded, clean_engine):
    """What commits between two of its statements is seen by neither."""
    count = "select count(*) as n from depots"
    with database.snapshot() as look:
        before = look(count).iloc[0]["n"]
        with clean_engine.begin() as connection:
            add_depot(connection, "newcomer")
        assert look(count).iloc[0]["n"] == before
    assert database.read(count).iloc[0]["n"] == before + 1
