"""A database that is away is waited for with a line; one that refuses us is one sentence."""

import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from forecaster.errors import DatabaseError
from pipelines.cli import doctor_findings
from pipelines.database import migrate, schema_version
from pipelines.database.engine import connect
from pipelines.settings import Settings
from tests.pipelines.faults.faults import cluster_of
from tests.pipelines.make import query, scalar

pytestmark = pytest.mark.db


def never(_seconds):
    raise AssertionError("it was waited for")


@pytest.fixture
def guarded(database_url, engine):
    """A user whom the server asks for a password."""
    rules = cluster_of(database_url).data / "pg_hba.conf"
    before = rules.read_text()
    with psycopg.connect(database_url, autocommit=True) as link:
        link.execute("create role guarded login password 'right'")
        rules.write_text(f"local all guarded scram-sha-256\n{before}")
        link.execute("select pg_reload_conf()")
        yield database_url.replace("harbor@", "guarded:{}@")
        rules.write_text(before)
        link.execute("select pg_reload_conf()")
        link.execute("drop role guarded")


def test_a_wrong_password_is_one_sentence_without_it(guarded):
    with pytest.raises(DatabaseError) as refused:
        connect(guarded.format("wr0ng"), 60, never)
    told = str(refused.value)
    assert re.match(
        r"The database refuses the connection: password authentication failed", told
    )
    assert "user and password in HARBOR_DATABASE_URL" in told
    assert "wr0ng" not in told
    connect(guarded.format("right")).dispose()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("/test_harbor?", "/nowhere?", r'database "nowhere" does not exist.*createdb'),
        ("harbor@", "nobody@", r'role "nobody" does not exist. Create the user'),
    ],
)
def test_a_missing_user_or_database_is_named(
    database_url, tmp_path, before, after, told
):
    url = database_url.replace(before, after)
    with pytest.raises(DatabaseError, match=told):
        connect(url, 60, never)
    settings = Settings(home=tmp_path, database_url=url)
    (found,) = doctor_findings._database(settings)
    assert not found.ok
    assert re.search(told, found.message)


def test_a_server_that_does_not_answer_is_waited_for(database_url, engine, tmp_path):
    (sockets,) = parse_qs(urlsplit(database_url).query)["host"]
    away = Path(tmp_path, "sockets")
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            away.symlink_to(sockets)

    with capture_logs() as logs:
        found = connect(database_url.replace(sockets, str(away)), 60, wait)
    assert scalar(found, "select 1") == 1
    found.dispose()
    assert len(waits) == 3
    assert [line["waiting_s"] for line in logs] == [60, 58, 56]
    assert all("No such file" in line["reason"] for line in logs)


@pytest.mark.parametrize(("timeout_s", "waits"), [(0, 0), (5, 3)])
def test_waiting_ends_after_the_timeout(tmp_path, timeout_s, waits):
    waited = []
    with pytest.raises(DatabaseError, match=r"does not answer.*that the server runs\."):
        connect(f"postgresql://harbor@/x?host={tmp_path}", timeout_s, waited.append)
    assert len(waited) == waits
    assert sum(waited) == pytest.approx(timeout_s, abs=0.5)


def test_a_newer_schema_is_named_by_doctor_and_not_upgraded(
    engine, database_url, tmp_path
):
    settings = Settings(home=tmp_path, database_url=database_url)
    set_to = sa.text("update alembic_version set version_num = :revision")
    now = schema_version.status(engine).revision
    query(engine, set_to, revision="9999")
    try:
        (finding,) = doctor_findings._database(settings)
        with pytest.raises(DatabaseError, match=r"older program.*newer release"):
            migrate.upgrade(engine)
        assert schema_version.status(engine).revision == "9999"
    finally:
        query(engine, set_to, revision=now)
    assert not finding.ok
    assert re.search("older program.*newer release", finding.message)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "not the address of a Postgres"),
        ("mysql://a:s3cret@b/c", "not the address of a Postgres"),
        ("postgresql://a:s3cret@b:port/c", "not the address of a Postgres"),
        ("postgresql://a:sec@s3cret@127.0.0.1:1/c", "Write it as %40"),
        ("postgresql://a:s3cret@127.0.0.1:1/c?nosuch=1", 'option "nosuch"'),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_password(url, message):
    with pytest.raises(DatabaseError, match=message) as refused:
        connect(url, 60, never)
    assert "s3cret" not in str(refused.value)


def test_a_role_that_may_not_log_in_is_not_to_be_created(database_url, engine):
    user = sa.make_url(database_url).set(username="without_login")
    with engine.begin() as connection:
        connection.execute(sa.text("create role without_login nologin"))
    try:
        with pytest.raises(DatabaseError, match="let it log in"):
            connect(user.render_as_string(hide_password=False), 60)
    finally:
        query(engine, sa.text("drop role without_login"))


def test_the_time_of_an_attempt_counts_as_waiting(tmp_path, monkeypatch):
    """A server that takes the connection and says nothing holds an attempt for two minutes."""
    clock = SimpleNamespace(monotonic=iter([0.0, 130.0]).__next__)
    monkeypatch.setattr("pipelines.database.engine.time", clock)
    with pytest.raises(DatabaseError, match="does not answer"):
        connect(f"postgresql://harbor@/x?host={tmp_path}", 90, never)
