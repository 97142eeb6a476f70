"""Who may do what in the database: owner, writer, reader.

The owner is whoever runs the migrations: the tables are theirs. The writer fills them and
changes none; the reader sees them and may call `add_override`, which is the dashboard's
role that the first migration makes. Whoever connects as the owner steps down to the writer before a
pipeline works, so that a mistake cannot take a table away.
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
# Planners' changes are theirs, and which migrations have run is the owner's.
NOT_WRITTEN = frozenset({"overrides", "alembic_version"})
OVERRIDES = "add_override(text, date, text, double precision, text, text)"
ONE_AT_A_TIME = 0x4841_5243
FORBIDDEN = "42501"
PUBLIC_RIGHTS = Path(CHECKOUT, "migrations", "sql", "public_rights.sql")
"""For a superuser: takes from every role what the pages could do harm with."""

MAY_MAKE_ROLES = """
select rolsuper or rolcreaterole from pg_roles where rolname = current_user
"""
IS_SUPERUSER = "select rolsuper from pg_roles where rolname = current_user"
# Since Postgres 16 a member may be barred from taking the role on. Roles are the whole
# cluster's: one that does not read all of this database's tables was not settled here.
MAY_STEP_DOWN = """
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
STANDING = """
select to_regrole(:role) is not null as is_there,
       coalesce((select rolcanlogin from pg_roles where rolname = :role), false)
           as has_login
"""
MAY = """
select count(*) filter (where has_table_privilege(cast(:role as text), t.oid, 'select'))
           as read,
       count(*) filter (where has_table_privilege(cast(:role as text), t.oid, 'insert'))
           as written
from pg_class t
where t.relnamespace = current_schema()::regnamespace and t.relname = any(:tables)
"""
TOO_MUCH = """
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
class Standing:
    """What a role is and may do.

    Args:
      role: Its name.
      is_there: Whether it has been made.
      has_login: Whether somebody can connect as it.
      reads: Tables it may read.
      writes: Tables it may fill.
      too_much: What the reader may do that only a superuser can take away.
    """

    role: str
    is_there: bool
    has_login: bool = False
    reads: int = 0
    writes: int = 0
    too_much: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it may do what it is there for."""
        every = len(metadata.tables)
        writes = every - len(NOT_WRITTEN & set(metadata.tables))
        fills = writes if self.role == WRITER else 0
        return (self.reads, self.writes, self.too_much) == (every, fills, ())


def standings(engine: sa.Engine) -> list[Standing]:
    """Writer and reader as they are now; anybody may ask."""
    with engine.connect() as connection:
        return [_standing(connection, role) for role in ROLES]


def are_whole(found: Sequence[Standing], with_login: bool = False) -> bool:
    """Whether every role may do what it is there for."""
    return all(each.is_whole and (each.has_login or not with_login) for each in found)


def ensure(
    engine: sa.Engine, passwords: dict[str, SecretStr] | None = None
) -> list[Standing]:
    """Makes both roles where that is allowed, and gives them just their rights.

    Safe to repeat: rights that are not theirs are taken away.

    Args:
      engine: Connected as the owner of the tables.
      passwords: Of the roles that somebody shall connect as.

    Returns:
      Both roles as they are then; one that may not be made is not there.

    Raises:
      DatabaseError: this user does not own the tables.
    """
    try:
        with _as_owner(engine) as connection:
            for role in ROLES:
                _make(connection, role)
            if connection.scalar(sa.text(IS_SUPERUSER)):
                take_public_rights(connection)
            for role, password in (passwords or {}).items():
                _let_in(connection, role, password)
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) != FORBIDDEN:
            raise
        raise DatabaseError(
            f"The database does not let this user give rights away: {error.orig}. Run "
            "'harbor db roles' as the owner of the tables."
        ) from None
    return standings(engine)


def take_public_rights(connection: sa.Connection) -> None:
    """Takes from every role what the pages could do harm with; as a superuser."""
    link = connection.connection.driver_connection
    assert link is not None
    link.execute(PUBLIC_RIGHTS.read_text())


def settle(engine: sa.Engine, settings: Settings) -> list[Standing]:
    """As `ensure`, with the passwords of the settings; without any where it is embedded."""
    given = {WRITER: settings.writer_password, READER: settings.reader_password}
    found = ensure(engine, {role: word for role, word in given.items() if word})
    if settings.database_url is not None:
        return found
    let_in_without_password(engine)
    return standings(engine)


def let_in_without_password(engine: sa.Engine) -> None:
    """Lets both roles connect, where the server asks nobody for a password.

    That is the embedded one, whose socket only its own user can open.
    """
    with _as_owner(engine) as connection:
        for role in ROLES:
            _run(connection, "alter role {role} login", role=role)


def step_down(engine: sa.Engine, role: str = WRITER) -> None:
    """Has every new connection take a role on, where its user may."""

    def on_connect(link: Any, _: Any) -> None:
        link.autocommit = True
        asked = {"role": role, "tables": list(metadata.tables)}
        if link.execute(MAY_STEP_DOWN, asked).fetchone()[0]:
            link.execute(sql.SQL("set role {}").format(sql.Identifier(role)))
        link.autocommit = False

    sa.event.listen(engine, "connect", on_connect)
    # Those that are open already are the owner's.
    engine.dispose()


@contextmanager
def _as_owner(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One transaction at a time: two that grant on one table fail each other."""
    with engine.begin() as connection:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ONE_AT_A_TIME)))
        yield connection


def _standing(connection: sa.Connection, role: str) -> Standing:
    found = connection.execute(sa.text(STANDING), {"role": role}).one()
    if not found.is_there:
        return Standing(role, False)
    asked = {"role": role, "tables": list(metadata.tables)}
    may = connection.execute(sa.text(MAY), asked).one()
    # The writer needs temporary tables and locks.
    said = connection.scalars(sa.text(TOO_MUCH), asked) if role == READER else ()
    return Standing(role, True, found.has_login, may.read, may.written, tuple(said))


def _make(connection: sa.Connection, role: str) -> None:
    if not connection.scalar(sa.text(STANDING), {"role": role}):
        if not connection.scalar(sa.text(MAY_MAKE_ROLES)):
            return
        _run(connection, "create role {role} nologin", role=role)
        if not connection.scalar(sa.text(IS_SUPERUSER)):
            # Who makes a role may pass it on, but not take it on by that alone.
            _run(connection, "grant {role} to current_user", role=role)
    _grant(connection, role)


def _grant(connection: sa.Connection, role: str) -> None:
    schema = connection.scalar(sa.text("select current_schema()"))
    names = {"role": role, "schema": str(schema)}
    for statement in (
        "grant usage on schema {schema} to {role}",
        "revoke all on all tables in schema {schema} from {role}",
        "grant select on all tables in schema {schema} to {role}",
    ):
        _run(connection, statement, **names)
    if role == READER:
        right = sql.SQL("grant execute on function {} to {}")
        _send(connection, right.format(sql.SQL(OVERRIDES), sql.Identifier(role)))
        return
    there = set(sa.inspect(connection).get_table_names())
    for table in sorted(there & set(metadata.tables) - NOT_WRITTEN):
        what = "grant insert, update, delete on {table} to {role}"
        _run(connection, what, role=role, table=table)
    if connection.dialect.server_version_info >= (17,):  # type: ignore[operator]
        # Fresh statistics after a load; before 17 the owner's autovacuum makes them.
        _run(connection, "grant maintain on order_counts to {role}", role=role)


def _let_in(connection: sa.Connection, role: str, password: SecretStr) -> None:
    """Only what the password is checked by is sent, so that no log can show it."""
    link = connection.connection.driver_connection
    assert link is not None
    plain, name = password.get_secret_value().encode(), role.encode()
    verifier = link.pgconn.encrypt_password(plain, name, b"scram-sha-256").decode()
    login = sql.SQL("alter role {} login password {}")
    _send(connection, login.format(sql.Identifier(role), sql.Literal(verifier)))


def _run(connection: sa.Connection, statement: str, **names: str) -> None:
    """One statement with names put in, each quoted as a name."""
    quoted = {key: sql.Identifier(name) for key, name in names.items()}
    _send(connection, sql.SQL(statement).format(**quoted))


def _send(connection: sa.Connection, statement: sql.Composed) -> None:
    link = connection.connection.driver_connection
    assert link is not None
    # Through SQLAlchemy, whose errors are told in one sentence.
    connection.exec_driver_sql(statement.as_string(link).replace("%", "%%"))
