"""The dashboard's connection: read-only, with time limits and clear errors."""

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

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


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("select pg_sleep(5)", DatabaseError, "needed more than 15 seconds"),
        ("select * from no_such_table", DatabaseError, "harbor db upgrade"),
        ("select no_such_column from depots", DatabaseError, "different releases"),
        ("selct 1", sa.exc.ProgrammingError, "syntax"),
    ],
)
def test_an_error_of_the_database_has_a_remedy_and_one_of_ours_its_traceback(
    dashboard, monkeypatch, statement, error, message
):
    monkeypatch.setattr(database, "READ_ONLY", "-c statement_timeout=1s")
    with pytest.raises(error, match=message):
        database.read(statement)


def test_an_invalid_address_is_reported_without_repeating_it(dashboard, monkeypatch):
    monkeypatch.setenv("HARBOR_DATABASE_URL", "secret nonsense")
    with pytest.raises(DatabaseError, match="not an address") as error:
        queries.freshness()
    assert "secret" not in str(error.value)


def test_a_missing_right_names_the_role_to_grant(dashboard):
    with database.engine().connect() as connection:
        connection.execute(sa.text("set local role pg_monitor"))
        with pytest.raises(sa.exc.ProgrammingError) as refused:
            connection.execute(sa.text("select * from depots"))
    message = database.database_error(refused.value)
    assert "does not let the dashboard's user" in str(message)
    assert "grant the user the role harbor_dashboard" in str(message)


def test_a_planner_is_told_when_to_try_again_and_the_log_what_to_check():
    away = sa.exc.OperationalError("select 1", {}, Exception("connection refused"))
    with capture_logs() as logs:
        message = str(database.database_error(away))
    assert message == (
        "The numbers cannot be read just now. Try again in a minute; if it stays, tell whoever "
        "runs Harbor Fleet."
    )
    assert logs[0]["reason"] == "connection refused"
    assert logs[0]["advice"] == "harbor doctor"


def test_all_reads_of_a_snapshot_see_the_same_state(seeded, clean_engine):
    """A commit between two statements of a snapshot is visible to neither."""
    count = "select count(*) as n from depots"
    with database.snapshot() as connection:
        before = database.select(connection, count).iloc[0]["n"]
        with clean_engine.begin() as writer:
            add_depot(writer, "newcomer")
        assert database.select(connection, count).iloc[0]["n"] == before
    assert database.read(count).iloc[0]["n"] == before + 1
