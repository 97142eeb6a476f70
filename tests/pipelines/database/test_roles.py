"""The privileges of owner, writer and reader."""

from unittest.mock import Mock

import psycopg
import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from dashboard.queries import database
from forecaster.errors import DatabaseError
from pipelines.cli import dashboard as dashboard_command
from pipelines.cli.context import CommandContext, open_context
from pipelines.database import migrate, roles
from pipelines.database.roles import DASHBOARD, WRITER
from pipelines.schema import metadata
from pipelines.settings import Settings
from tests.pipelines.database.test_engine import cluster_of
from tests.pipelines.make import query, scalar

EVERY = [table.name for table in metadata.sorted_tables]
OVERRIDE_FUNCTION = "add_overrides(jsonb, text, text)"
FILLED = sorted(set(EVERY) - {"overrides", "city_settings", "van_decisions"})


@pytest.fixture(scope="module", autouse=True)
def _grants(engine):
    roles.ensure(engine)


@pytest.fixture
def as_role(database_url):
    """Connects as a role that has stepped down from the owner."""
    opened = []

    def connect(role):
        engine = sa.create_engine(database_url)
        roles.set_role_on_connect(engine, role)
        opened.append(engine)
        return engine.connect()

    yield connect
    for engine in opened:
        engine.dispose()


def refused(connection, statement):
    with (
        pytest.raises(sa.exc.DBAPIError, match=r"denied|must be owner"),
        connection.begin_nested(),
    ):
        connection.execute(sa.text(statement))


def test_the_dashboard_uses_the_same_reader():
    assert database.ROLE == DASHBOARD


def test_the_writer_changes_rows_of_every_table_of_the_pipelines(as_role):
    with as_role(WRITER) as connection:
        assert connection.scalar(sa.text("select current_user")) == WRITER
        for table in EVERY:
            connection.execute(sa.text(f"select * from {table} limit 1"))
        for table in FILLED:
            connection.execute(sa.text(f"delete from {table} where false"))
            same = f"insert into {table} overriding system value select * from {table}"
            connection.execute(sa.text(f"{same} where false"))
        connection.execute(sa.text("create temporary table mine (a int)"))
        connection.rollback()


OF_OWNERS = (
    "create table mine (a int)",
    "create schema mine",
    "create role mine",
    "alter role harbor createdb",
    "select * from pg_authid",
    "copy (select 1) to program 'true'",
    "copy (select 1) to '/tmp/of-a-test'",
    "update alembic_version set version_num = '0001'",
    f"alter function {OVERRIDE_FUNCTION} owner to current_user",
)
OF_TABLES = ("drop table {}", "truncate {}", "alter table {} add column mine int")


@pytest.mark.parametrize("role", [WRITER, DASHBOARD])
def test_neither_role_can_do_what_owners_and_superusers_can(as_role, role):
    of_tables = [each.format(table) for each in OF_TABLES for table in EVERY]
    with as_role(role) as connection:
        for statement in (*OF_OWNERS, *of_tables):
            refused(connection, statement)


def test_the_writer_cannot_change_what_planners_write(as_role):
    with as_role(WRITER) as connection:
        for statement in (
            "delete from overrides",
            "update overrides set orders = 1",
            "select add_overrides('[]', 'a', 'b')",
            "update city_settings set vans = 1",
            "select save_city_settings('A', 1, 1, 0.9, 1, '', 'b', null)",
            "select decide_vans('A', current_date, 'hire', 1, 0, '', 'b', null)",
            "select undo_changes('orders', '{1}', 'b')",
        ):
            refused(connection, statement)


def test_the_reader_can_neither_write_nor_fill_the_disk_nor_take_locks(as_role):
    writing = ("delete from {}", "insert into {} default values")
    with as_role(DASHBOARD) as connection:
        for statement in (
            *(each.format(table) for each in writing for table in EVERY),
            "create temporary table mine (a int)",
            "select lo_create(0)",
            "select lo_from_bytea(0, 'x')",
            "select pg_advisory_lock(1)",
            "select pg_try_advisory_xact_lock_shared(1, 1)",
            "select pg_advisory_unlock_all()",
            "set temp_file_limit = -1",
        ):
            refused(connection, statement)


@pytest.mark.parametrize(
    ("family", "of_the_writer"), [("^lo(_|read|write)", 0), ("^pg_.*advisory_", None)]
)
def test_every_function_of_the_family_is_revoked(connection, family, of_the_writer):
    asked = """
        select count(*) filter (where has_function_privilege(:role, oid, 'execute')),
               count(*)
        from pg_proc where pronamespace = 'pg_catalog'::regnamespace and proname ~ :family
    """
    found = {
        role: connection.execute(sa.text(asked), {"role": role, "family": family}).one()
        for role in (DASHBOARD, WRITER)
    }
    held, every = found[DASHBOARD]
    assert every > 10
    assert held == 0
    assert found[WRITER][0] == (every if of_the_writer is None else of_the_writer)


def test_the_reader_has_a_connection_limit(database_url, engine):
    """As the embedded server has it, where the pages log in as the reader."""
    roles.enable_trust_login(engine)
    url = database_url.replace("harbor@", f"{DASHBOARD}@")
    opened = []
    try:
        with pytest.raises(psycopg.OperationalError, match="too many connections"):
            opened.extend(psycopg.connect(url) for _ in range(60))
        assert len(opened) == 30
        assert opened[0].execute("show temp_file_limit").fetchone() == ("2GB",)
        assert scalar(engine, "select 1") == 1
    finally:
        for link in opened:
            link.close()
        with engine.begin() as connection:
            for role in (DASHBOARD, WRITER):
                connection.execute(sa.text(f"alter role {role} nologin"))


@pytest.fixture
def plain_owner(database_url, engine):
    """An engine on a database whose owner is no superuser, and one as a superuser."""
    name, owner = "test_plain", "test_plain_owner"
    url = database_url.replace("test_harbor", name)
    alone = engine.execution_options(isolation_level="AUTOCOMMIT")
    with alone.connect() as link:
        link.execute(sa.text(f"create role {owner} login"))
        link.execute(sa.text(f"create database {name} owner {owner}"))
    own = sa.create_engine(url.replace("harbor@", f"{owner}@"))
    above = sa.create_engine(url)
    yield own, above
    own.dispose()
    above.dispose()
    with alone.connect() as link:
        link.execute(sa.text(f"drop database {name} with (force)"))
        link.execute(sa.text(f"drop role {owner}"))


def test_a_superuser_revokes_public_privileges_for_a_plain_owner(plain_owner):
    own, above = plain_owner
    migrate.upgrade(own)
    _, reader, _ = roles.ensure(own)
    assert reader.too_much == ("temporary tables", "large objects", "advisory locks")
    with above.begin() as connection:
        roles.revoke_public_privileges(connection)
    assert roles.are_complete(roles.ensure(own))
    with own.connect() as connection:
        connection.execute(sa.text("create temporary table mine (a int)"))
        connection.execute(sa.text("select pg_advisory_xact_lock(1)"))


def test_excess_privileges_are_revoked(engine, as_role):
    with engine.begin() as connection:
        connection.execute(sa.text(f"grant delete on overrides to {WRITER}"))
        connection.execute(sa.text(f"grant truncate on orders to {DASHBOARD}"))
        connection.execute(sa.text(f"revoke select on scores from {DASHBOARD}"))
    assert not roles.are_complete(roles.role_grants(engine))
    roles.ensure(engine)
    assert roles.are_complete(roles.role_grants(engine))
    with as_role(WRITER) as connection:
        refused(connection, "delete from overrides")
    with as_role(DASHBOARD) as connection:
        refused(connection, "truncate orders")


@pytest.mark.parametrize("what", ["all tables in schema public", "score_totals"])
def test_a_role_without_grants_in_this_database_is_not_set(what, engine, as_role):
    """Roles are of the whole cluster: another database's are no use to this one."""
    query(engine, f"revoke all on {what} from {WRITER}")
    owner = engine.url.username
    with as_role(WRITER) as connection:
        assert connection.scalar(sa.text("select current_user")) == owner
    roles.ensure(engine)
    with as_role(WRITER) as connection:
        assert connection.scalar(sa.text("select current_user")) == WRITER


def test_only_the_owner_grants_privileges(as_role, database_url):
    engine = sa.create_engine(database_url)
    roles.set_role_on_connect(engine)
    with pytest.raises(DatabaseError, match="as the owner of the tables"):
        roles.ensure(engine)
    engine.dispose()


def test_a_pipeline_works_as_the_writer(database_url, engine, monkeypatch):
    monkeypatch.setenv("HARBOR_DATABASE_URL", database_url)
    with open_context() as context, context.engine.connect() as connection:
        assert connection.scalar(sa.text("select current_user")) == WRITER


def test_a_role_with_a_password_connects_and_no_log_has_it(engine, database_url):
    """Checked by the server, as one that listens to other machines would."""
    cluster = cluster_of(database_url)
    rules = cluster.data / "pg_hba.conf"
    before = rules.read_text()
    given = Settings(
        database_url=database_url,
        dashboard_password="r3ader's%",
        writer_password=SecretStr("wr1ter"),
    )
    try:
        with psycopg.connect(database_url, autocommit=True) as link:
            link.execute("alter system set log_statement = 'all'")
            rules.write_text(f"local all {DASHBOARD},{WRITER} scram-sha-256\n{before}")
            link.execute("select pg_reload_conf()")
        with_login = {
            each.role
            for each in roles.ensure_from_settings(engine, given)
            if each.has_login
        }
        assert with_login == {DASHBOARD, WRITER}
        for role, password in ((DASHBOARD, "r3ader's%"), (WRITER, "wr1ter")):
            url = database_url.replace("harbor@", f"{role}@")
            with psycopg.connect(url, password=password) as link:
                assert link.execute("select current_user").fetchone() == (role,)
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(url, password="another")
        log = cluster.log.read_text()
        assert "alter role" in log
        assert "r3ader" not in log
        assert "wr1ter" not in log
    finally:
        rules.write_text(before)
        with psycopg.connect(database_url, autocommit=True) as link:
            link.execute("alter system reset log_statement")
            link.execute("select pg_reload_conf()")
            for role in (DASHBOARD, WRITER):
                link.execute(f"alter role {role} nologin password null")


@pytest.fixture
def served(database_url, tmp_path, monkeypatch):
    """Serves the dashboard with settings, and returns the environment of its process."""

    def serve(**settings):
        environment = {}

        def start(_arguments, env, **_):
            environment.update(env)
            return Mock()

        given = Settings(home=tmp_path, **settings)
        context = CommandContext(given, sa.create_engine(database_url))
        with monkeypatch.context() as patch:
            patch.setattr(dashboard_command.subprocess, "Popen", start)
            for name in ("DATABASE", "REPLICA"):
                patch.setenv(f"HARBOR_{name}_URL_FILE", "/of-the-parent")
            with dashboard_command.server(context, "127.0.0.1", 8501):
                pass
        assert not [name for name in environment if name.endswith("_URL_FILE")]
        return environment

    return serve


def test_the_embedded_dashboard_connects_as_the_reader(served, database_url):
    """To a Postgres of the user's own it connects as the user that they have named."""
    for named, user in ((None, DASHBOARD), (database_url, "harbor")):
        environment = served(database_url=named)
        assert sa.make_url(environment["HARBOR_DATABASE_URL"]).username == user
        assert "HARBOR_REPLICA_URL" not in environment


def test_the_dashboard_gets_the_replicas_address_with_its_password(
    served, database_url
):
    environment = served(
        database_url=database_url,
        database_password="s3cret",
        replica_url="postgres://reader@second/harbor",
    )
    passed = environment["HARBOR_REPLICA_URL"]
    assert passed == "postgresql+psycopg://reader:s3cret@second/harbor"
