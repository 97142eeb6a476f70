"""Database roles and their privileges: owner, writer, reader.

The owner runs the migrations and owns the tables. The writer may change rows but no table.
The reader, the dashboard's role, may select and call `add_override`; the first migration
creates it. A pipeline that connects as the owner takes the writer's role, so that a
mistake cannot drop a table.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy.exc import ProgrammingError

from forecaster.errors import DatabaseError
from pipelines.schema import metadata
from pipelines.settings import CHECKOUT, Settings

WRITER, READER = "harbor_writer", "harbor_dashboard"
ROLES = (WRITER, READER)
# Overrides are written by planners alone, alembic_version by the owner.
NEVER_WRITTEN = frozenset({"overrides", "alembic_version"})
OVERRIDE_FUNCTION = "add_override(text, date, text, double precision, text, text)"
GRANT_LOCK = 0x4841_5243
INSUFFICIENT_PRIVILEGE = "42501"
PUBLIC_RIGHTS = Path(CHECKOUT, "migrations", "sql", "public_rights.sql")
"""Statements for a superuser: revoke public privileges that the pages could misuse."""

CAN_CREATE_ROLES = """
select rolsuper or rolcreaterole from pg_roles where rolname = current_user
"""
IS_SUPERUSER = "select rolsuper from pg_roles where rolname = current_user"
# Since Postgres 16 a member may lack the right to SET ROLE. Roles belong to the cluster:
# one that cannot read all tables of this database has not been granted them yet.
CAN_SET_ROLE = """
select coalesce(
    case when current_setting('server_version_num')::int >= 160000
         then pg_has_role(to_regrole(%(role)s), 'set')
         else pg_has_role(to_regrole(%(role)s), 'member') end
    and (select count(*) filter (
             where has_table_privilege(to_regrole(%(role)s), t.oid, 'select')) = count(*)
         from pg_class t
         where t.relnamespace = current_schema()::regnamespace
           and t.relname = any(%(tables)s)), false)
"""
ROLE_STATE = """
select to_regrole(:role) is not null as is_there,
       coalesce((select rolcanlogin from pg_roles where rolname = :role), false)
           as has_login
"""
TABLE_PRIVILEGES = """
select count(*) filter (where has_table_privilege(cast(:role as text), t.oid, 'select'))
           as read,
       count(*) filter (where has_table_privilege(cast(:role as text), t.oid, 'insert'))
           as written
from pg_class t
where t.relnamespace = current_schema()::regnamespace and t.relname = any(:tables)
"""
EXCESS_PRIVILEGES = """
select what from (values
    ('temporary tables',
     has_database_privilege(cast(:role as text), current_database(), 'temporary')),
    ('large objects',
     has_function_privilege(cast(:role as text), 'lo_create(oid)', 'execute')),
    ('advisory locks',
     has_function_privilege(cast(:role as text), 'pg_advisory_lock(bigint)', 'execute'))
) as right_of(what, is_held) where is_held
"""


@dataclass(frozen=True)
class RoleGrants:
    """The privileges of a role.

    Args:
      role: Name of the role.
      is_there: Whether the role exists.
      has_login: Whether it can connect.
      reads: Number of tables it may select from.
      writes: Number of tables it may insert into.
      too_much: Privileges of the reader that only a superuser can revoke.
    """

    role: str
    is_there: bool
    has_login: bool = False
    reads: int = 0
    writes: int = 0
    too_much: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether it has exactly the privileges it needs."""
        n_tables = len(metadata.tables)
        n_written = n_tables - len(NEVER_WRITTEN & set(metadata.tables))
        writes = n_written if self.role == WRITER else 0
        return (self.reads, self.writes, self.too_much) == (n_tables, writes, ())


def role_grants(engine: sa.Engine) -> list[RoleGrants]:
    """Returns the privileges of writer and reader; any user may call it."""
    with engine.connect() as connection:
        return [_role_grants(connection, role) for role in ROLES]


def are_complete(grants: Sequence[RoleGrants], with_login: bool = False) -> bool:
    """Whether every role has exactly the privileges it needs."""
    return all(
        role.is_complete and (role.has_login or not with_login) for role in grants
    )


def ensure(
    engine: sa.Engine, passwords: dict[str, SecretStr] | None = None
) -> list[RoleGrants]:
    """Creates both roles if the user may, and grants them exactly their privileges.

    Safe to repeat: other privileges are revoked.

    Args:
      engine: Connected as the owner of the tables.
      passwords: Passwords of the roles that can connect.

    Returns:
      Both roles afterwards; one that could not be created has `is_there` false.

    Raises:
      DatabaseError: this user does not own the tables.
    """
    try:
        with _serialised_transaction(engine) as connection:
            for role in ROLES:
                _create_role(connection, role)
            if connection.scalar(sa.text(IS_SUPERUSER)):
                revoke_public_privileges(connection)
            for role, password in (passwords or {}).items():
                _set_password(connection, role, password)
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) != INSUFFICIENT_PRIVILEGE:
            raise
        raise DatabaseError(
            f"The database does not let this user give rights away: {error.orig}. Run "
            "'harbor db roles' as the owner of the tables."
        ) from None
    return role_grants(engine)


def revoke_public_privileges(connection: sa.Connection) -> None:
    """Revokes public privileges that the pages could misuse; needs a superuser."""
    driver_connection = connection.connection.driver_connection
    assert driver_connection is not None
    driver_connection.execute(PUBLIC_RIGHTS.read_text())


def ensure_from_settings(engine: sa.Engine, settings: Settings) -> list[RoleGrants]:
    """Calls `ensure` with the passwords of the settings; an embedded server needs none."""
    passwords = {WRITER: settings.writer_password, READER: settings.reader_password}
    grants = ensure(
        engine, {role: password for role, password in passwords.items() if password}
    )
    if settings.database_url is not None:
        return grants
    enable_trust_login(engine)
    return role_grants(engine)


def enable_trust_login(engine: sa.Engine) -> None:
    """Lets both roles connect to a server with trust authentication.

    That is the embedded one, whose socket only its own user can open.
    """
    with _serialised_transaction(engine) as connection:
        for role in ROLES:
            _execute(connection, "alter role {role} login", role=role)


def set_role_on_connect(engine: sa.Engine, role: str = WRITER) -> None:
    """Sets a role on every new connection, if its user may."""

    def on_connect(driver_connection: Any, _: Any) -> None:
        driver_connection.autocommit = True
        parameters = {"role": role, "tables": list(metadata.tables)}
        if driver_connection.execute(CAN_SET_ROLE, parameters).fetchone()[0]:
            driver_connection.execute(
                sql.SQL("set role {}").format(sql.Identifier(role))
            )
        driver_connection.autocommit = False

    sa.event.listen(engine, "connect", on_connect)
    # Connections that are open already still have the owner's role.
    engine.dispose()


@contextmanager
def _serialised_transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Yields a transaction, one at a time: concurrent grants on a table fail."""
    with engine.begin() as connection:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(GRANT_LOCK)))
        yield connection


def _role_grants(connection: sa.Connection, role: str) -> RoleGrants:
    state = connection.execute(sa.text(ROLE_STATE), {"role": role}).one()
    if not state.is_there:
        return RoleGrants(role, False)
    parameters = {"role": role, "tables": list(metadata.tables)}
    privileges = connection.execute(sa.text(TABLE_PRIVILEGES), parameters).one()
    # The writer needs temporary tables and locks.
    excess = (
        connection.scalars(sa.text(EXCESS_PRIVILEGES), parameters)
        if role == READER
        else ()
    )
    return RoleGrants(
        role, True, state.has_login, privileges.read, privileges.written, tuple(excess)
    )


def _create_role(connection: sa.Connection, role: str) -> None:
    if not connection.scalar(sa.text(ROLE_STATE), {"role": role}):
        if not connection.scalar(sa.text(CAN_CREATE_ROLES)):
            return
        _execute(connection, "create role {role} nologin", role=role)
        if not connection.scalar(sa.text(IS_SUPERUSER)):
            # CREATEROLE lets a user grant the role to others, but not SET ROLE to it.
            _execute(connection, "grant {role} to current_user", role=role)
    _grant(connection, role)


def _grant(connection: sa.Connection, role: str) -> None:
    schema = connection.scalar(sa.text("select current_schema()"))
    identifiers = {"role": role, "schema": str(schema)}
    for statement in (
        "grant usage on schema {schema} to {role}",
        "revoke all on all tables in schema {schema} from {role}",
        "grant select on all tables in schema {schema} to {role}",
    ):
        _execute(connection, statement, **identifiers)
    if role == READER:
        grant = sql.SQL("grant execute on function {} to {}")
        _execute_composed(
            connection, grant.format(sql.SQL(OVERRIDE_FUNCTION), sql.Identifier(role))
        )
        return
    existing = set(sa.inspect(connection).get_table_names())
    for table in sorted(existing & set(metadata.tables) - NEVER_WRITTEN):
        statement = "grant insert, update, delete on {table} to {role}"
        _execute(connection, statement, role=role, table=table)
    if connection.dialect.server_version_info >= (17,):  # type: ignore[operator]
        # For ANALYZE after a load; before 17 autovacuum updates the statistics.
        _execute(connection, "grant maintain on order_counts to {role}", role=role)


def _set_password(connection: sa.Connection, role: str, password: SecretStr) -> None:
    """Sets a password by its SCRAM verifier, so that no log can show the password."""
    driver_connection = connection.connection.driver_connection
    assert driver_connection is not None
    plain, name = password.get_secret_value().encode(), role.encode()
    verifier = driver_connection.pgconn.encrypt_password(
        plain, name, b"scram-sha-256"
    ).decode()
    login = sql.SQL("alter role {} login password {}")
    _execute_composed(
        connection, login.format(sql.Identifier(role), sql.Literal(verifier))
    )


def _execute(connection: sa.Connection, statement: str, **identifiers: str) -> None:
    """Executes a statement with quoted identifiers."""
    quoted = {key: sql.Identifier(name) for key, name in identifiers.items()}
    _execute_composed(connection, sql.SQL(statement).format(**quoted))


def _execute_composed(connection: sa.Connection, statement: sql.Composed) -> None:
    driver_connection = connection.connection.driver_connection
    assert driver_connection is not None
    # Through SQLAlchemy, whose errors are reported in one sentence.
    connection.exec_driver_sql(
        statement.as_string(driver_connection).replace("%", "%%")
    )
