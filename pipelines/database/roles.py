"""Database roles and their privileges: owner, writer, the dashboard, other systems.

The owner runs the migrations and owns the tables. The writer may change rows but no table.
The dashboard's role may select, and may call the functions `add_overrides`,
`save_city_settings`, `decide_vans` and `undo_changes`, which the migrations create. Users of other
systems are members of `harbor_reader`, a role without a login that may only select from the views
of `schema.reader_views`. A pipeline that connects as the owner switches to the writer's role, so
that a mistake cannot drop a table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql
from psycopg.errors import InsufficientPrivilege, UndefinedFunction
from pydantic import SecretStr

from forecaster.errors import DatabaseError
from pipelines.database.engine import parsed_url
from pipelines.database.schema_version import OTHER_TABLES_ADVICE
from pipelines.schema import metadata
from pipelines.schema.reader_views import READER_VIEWS
from pipelines.settings import CHECKOUT, Settings

WRITER, DASHBOARD = "harbor_writer", "harbor_dashboard"
ROLES = (WRITER, DASHBOARD)
"""Roles that can log in."""
VIEWS_READER = "harbor_reader"
"""Role that users of other systems are members of."""
RELATIONS = [*metadata.tables, *READER_VIEWS]
PLANNERS_TABLES = {"overrides", "city_settings", "van_decisions"}
"""Tables that only planners write, through functions."""
GRANTS = Path(CHECKOUT, "migrations", "sql", "roles.sql")
"""Statements for the owner: create the roles, and grant exactly their privileges."""
PUBLIC_RIGHTS = Path(CHECKOUT, "migrations", "sql", "public_rights.sql")
"""Statements for a superuser: revoke public privileges that the pages could misuse."""

# A host that vanishes ends the connection within two minutes.
CONNECT_LIMITS = {
    "connect_timeout": 5, "tcp_user_timeout": 120_000,
    "keepalives_idle": 60, "keepalives_interval": 15, "keepalives_count": 4,
}  # fmt: skip
STATEMENT_SECONDS = 10
READ_ONLY = (
    "-c default_transaction_read_only=on -c timezone=UTC -c lock_timeout=1s "
    f"-c statement_timeout={STATEMENT_SECONDS}s"
)

IS_SUPERUSER = "select rolsuper from pg_roles where rolname = current_user"
# Since Postgres 16 a member may lack the right to SET ROLE. Databases of a server share its
# roles: a role that cannot read every table has not been set up in this database yet.
CAN_SET_ROLE = """
select coalesce(
    case when current_setting('server_version_num')::int >= 160000
         then pg_has_role(to_regrole(%(role)s), 'set')
         else pg_has_role(to_regrole(%(role)s), 'member') end
    and (select count(*) filter (
             where has_table_privilege(to_regrole(%(role)s), t.oid, 'select')) = count(*)
         from pg_class t
         where t.relnamespace = quote_ident(current_schema())::regnamespace
           and t.relname = any(%(tables)s)), false)
"""
# `too_much` checks the dashboard only: the writer needs temporary tables and advisory locks.
ROLE_GRANTS = """
select name as role, r.oid is not null as is_there,
       coalesce(r.rolcanlogin, false) as has_login,
       count(*) filter (where has_table_privilege(r.oid, t.oid, 'select')) as reads,
       count(*) filter (where has_table_privilege(r.oid, t.oid, 'insert')) as writes,
       array(select what from (values
           ('temporary tables',
            has_database_privilege(r.oid, current_database(), 'temporary')),
           ('large objects',
            has_function_privilege(r.oid, 'lo_create(oid)', 'execute')),
           ('advisory locks',
            has_function_privilege(r.oid, 'pg_advisory_lock(bigint)', 'execute'))
       ) as excess(what, is_held) where is_held and name = 'harbor_dashboard') as too_much
from unnest(cast(:roles as text[])) with ordinality as wanted(name, place)
left join pg_roles r on r.rolname = name
left join pg_class t on t.relnamespace = quote_ident(current_schema())::regnamespace
                    and t.relname = any(:tables)
group by name, place, r.oid, r.rolcanlogin order by place
"""


@dataclass(frozen=True)
class RoleGrants:
    """The privileges of a role.

    `reads` and `writes` are the numbers of tables and views that the role may select from and
    insert into; `too_much` are privileges of the dashboard's role that only a superuser can revoke.
    """

    role: str
    is_there: bool
    has_login: bool
    reads: int
    writes: int
    too_much: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether the role has exactly the privileges it needs."""
        writable = len(metadata.tables) - len(PLANNERS_TABLES)
        return (self.reads, self.writes, self.too_much) == (
            len(READER_VIEWS if self.role == VIEWS_READER else RELATIONS),
            writable if self.role == WRITER else 0,
            (),
        )


def role_grants(engine: sa.Engine) -> list[RoleGrants]:
    """Returns the privileges of every role except the owner; any user may call it."""
    parameters = {"roles": [*ROLES, VIEWS_READER], "tables": RELATIONS}
    with engine.connect() as connection:
        rows = connection.execute(sa.text(ROLE_GRANTS), parameters).mappings().all()
    return [RoleGrants(**{**row, "too_much": tuple(row["too_much"])}) for row in rows]


def are_complete(grants: Sequence[RoleGrants]) -> bool:
    """Whether every role has exactly the privileges it needs."""
    return all(role.is_complete for role in grants)


def ensure(
    engine: sa.Engine, passwords: dict[str, SecretStr] | None = None
) -> list[RoleGrants]:
    """Creates the roles if the user may, and grants them exactly their privileges.

    Safe to repeat. Other privileges are revoked, and a role with a password can connect.

    Returns:
      The privileges afterwards; a role that could not be created has `is_there` false.

    Raises:
      DatabaseError: this user does not own the tables, or the tables are of another release.
    """
    try:
        with engine.begin() as connection:
            _driver(connection).execute(GRANTS.read_text())
            if connection.scalar(sa.text(IS_SUPERUSER)):
                revoke_public_privileges(connection)
            for role, password in (passwords or {}).items():
                _set_password(connection, role, password)
    except InsufficientPrivilege as error:
        raise DatabaseError(
            f"The database does not let this user grant rights: {error}. Run "
            "'harbor db roles' as the owner of the tables."
        ) from None
    except UndefinedFunction as error:
        raise DatabaseError(
            f"The database is of another release: {error}. {OTHER_TABLES_ADVICE}."
        ) from None
    return role_grants(engine)


def revoke_public_privileges(connection: sa.Connection) -> None:
    """Revokes public privileges that the pages could misuse; needs a superuser."""
    _driver(connection).execute(PUBLIC_RIGHTS.read_text())


def ensure_from_settings(engine: sa.Engine, settings: Settings) -> list[RoleGrants]:
    """Calls `ensure` with the passwords of the settings; an embedded server needs none."""
    passwords = {
        WRITER: settings.writer_password,
        DASHBOARD: settings.dashboard_password,
    }
    ensure(engine, {role: password for role, password in passwords.items() if password})
    if settings.database_url is None:
        enable_trust_login(engine)
    return role_grants(engine)


def enable_trust_login(engine: sa.Engine) -> None:
    """Lets both roles connect to a server with trust authentication.

    Only the embedded server uses trust: no other user can open its socket.
    """
    with engine.begin() as connection:
        for role in ROLES:
            login = sql.SQL("alter role {} login").format(sql.Identifier(role))
            _driver(connection).execute(login)


def set_role_on_connect(engine: sa.Engine, role: str = WRITER) -> None:
    """Sets a role on every new connection whose user may set it."""

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


def create_readonly_engine(url: str) -> sa.Engine:
    """Returns a read-only engine, without connecting yet.

    Raises:
      DatabaseError: `url` is not the URL of a Postgres.
    """
    engine = sa.create_engine(
        parsed_url(url),
        pool_size=1,
        max_overflow=0,
        pool_pre_ping=True,
        connect_args={"options": READ_ONLY, **CONNECT_LIMITS},
    )
    set_role_on_connect(engine, DASHBOARD)
    return engine


def _driver(connection: sa.Connection) -> "psycopg.Connection[Any]":
    """The underlying psycopg connection, which can run several statements in one call."""
    driver_connection = connection.connection.driver_connection
    assert isinstance(driver_connection, psycopg.Connection)
    return driver_connection


def _set_password(connection: sa.Connection, role: str, password: SecretStr) -> None:
    """Sets a password by its SCRAM verifier, so that no log can show the password."""
    link = _driver(connection)
    verifier = link.pgconn.encrypt_password(
        password.get_secret_value().encode(), role.encode(), b"scram-sha-256"
    )
    login = sql.SQL("alter role {} login password {}")
    link.execute(login.format(sql.Identifier(role), sql.Literal(verifier.decode())))
