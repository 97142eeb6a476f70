"""A database of another release is refused with a sentence, by every command."""

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import ProgrammingError

from forecaster.errors import DatabaseError
from pipelines.database.engine import connect
from pipelines.runs.ledger import recorded
from tests.contract.test_cli import commands
from tests.pipelines.in_process import harbor
from tests.pipelines.make import query
from tests.ports import free_port

# What a command needs besides its options, to come as far as the database.
ARGUMENTS = {
    "harbor ingest": ["/nowhere.csv"],
    "harbor backfill": ["--from", "2024-02-01", "--to", "2024-02-02"],
    "harbor backup create": ["/nowhere"],
    "harbor events withdraw": ["1", "--reason", "a test"],
    "harbor scores export": ["scores.csv"],
    "harbor dashboard": ["--port", str(free_port())],
}
# They look at no table, or say what is wrong with the tables among other things.
NEED_NO_TABLES = {
    "harbor db url",
    "harbor db status",
    "harbor doctor",
    "harbor tpu-check",
    "harbor watch",
    "harbor notifications test",
    "harbor backup restore",
}


@pytest.fixture(scope="module")
def ahead(new_database):
    """The address of a database of a release to come."""
    made = new_database()
    with made.begin() as connection:
        connection.execute(sa.text("create table alembic_version (version_num text)"))
        connection.execute(sa.text("insert into alembic_version values ('9999')"))
    return address(made)


def address(engine):
    return engine.url.render_as_string(hide_password=False)


def test_every_command_says_so_where_the_database_is_ahead(ahead, tmp_path):
    for name, command in commands():
        if name not in NEED_NO_TABLES:
            words = [*name.split()[1:], *(ARGUMENTS.get(name) or required(command))]
            done = harbor(*words, HARBOR_DATABASE_URL=ahead, HARBOR_HOME=str(tmp_path))
            assert done.returncode == 1, name
            assert "9999, which this older program does not know" in done.stderr, name
            assert "Install the newer release" in done.stderr, name


def test_a_database_of_an_unreleased_schema_says_what_to_do(
    new_database, migrated, tmp_path
):
    """Its revision is this program's: tables change without a migration until 0.1.0."""
    old = new_database(migrated)
    with old.begin() as connection:
        connection.execute(sa.text("alter table runs drop column metrics"))
        connection.execute(sa.text("alter table depots drop column vans"))
    places = {"HARBOR_DATABASE_URL": address(old), "HARBOR_HOME": str(tmp_path)}
    for words in (["depots", "list"], ["db", "check"], ["doctor"]):
        done = harbor(*words, **places)
        assert done.returncode == 1, words
        told = " ".join((done.stdout + done.stderr).split())
        assert "set HARBOR_HOME to a new folder" in told, words
        if words == ["db", "check"]:
            assert "add_column runs metrics" in told
            assert "<" not in told, "no objects of Python"


def test_a_mistake_of_the_program_is_not_said_to_be_one_of_the_database(
    new_database, migrated
):
    statement = sa.text("select nothing from depots")
    made = connect(address(new_database(migrated)))

    def in_a_run():
        with recorded(made, "demand") as run, run.engine.begin() as connection:
            connection.execute(statement)

    with pytest.raises(ProgrammingError, match="nothing"):
        in_a_run()
    query(made, "alter table depots drop column vans")
    with pytest.raises(DatabaseError, match=r"vans.*set HARBOR_HOME to a new folder"):
        in_a_run()
    made.dispose()


def required(command):
    """A value for each argument that has none."""
    return [
        "1"
        for each in command.params
        if each.required and not each.opts[0].startswith("-")
    ]
