"""Statements that load rows: COPY into a temporary table, then insert or update."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from pipelines.schema import (
    depots,
    file_repeats,
    files,
    metadata,
    superseded_rows,
)
from pipelines.store import order_counts
from pipelines.store.copying import copy_csv

LOCKS = ("daily", "events", "signals", "orders", "depots")
"""Kinds of files, in the order in which a transaction must lock several of them."""

WITHDRAWABLE_TABLES = frozenset({"orders", "daily_counts"})
"""Tables whose replaced rows are kept, so that a file can be withdrawn."""

ROWS_ON_FROZEN_DAYS = {
    "orders": "select count(*) from staging where ordered_local < :before",
    "daily_counts": """
select count(*) from staging s
where service_on < :before and not exists (
    select from daily_counts c
    where c.depot_id = s.depot_id and c.service_on = s.service_on
      and c.orders is not distinct from s.orders)
""",
}
"""Statements, by table, that count staged rows on frozen days: such rows change no demand."""

PARTIAL_STAGED = """
select count(*) from staging s left join depots d using (depot_id)
where s.orders is not null and s.service_on
      >= (clock_timestamp() at time zone coalesce(d.timezone, :timezone))::date
"""
MAX_PARTIAL_DAYS = 8
"""Maximum age in days of an order whose day may still be partial; older days are complete."""


def _was_partial(table: str, day: str) -> str:
    """SQL condition on a row: its day was not over when its file was loaded, and is over now."""
    return f"""
exists (
    select from files f join depots d on d.depot_id = {table}.depot_id
    cross join lateral (
        select ({day} + 1)::timestamp at time zone d.timezone as ends_at
    ) day
    where f.file_id = {table}.file_id
      and f.loaded_at < day.ends_at and day.ends_at <= clock_timestamp())
"""


# The age is tested first: most orders are old, and their files need not be looked up.
WAS_PARTIAL = {
    "daily_counts": _was_partial("daily_counts", "daily_counts.service_on"),
    "orders": f"""(
    orders.ordered_local >= current_date - {MAX_PARTIAL_DAYS} and
    {_was_partial("orders", f"{order_counts.local_time('orders')}::date")})
""",
}

FINISH_LOADS = """
update files f
set accepted = c.accepted, unchanged = c.unchanged, rejected = c.rejected,
    loaded_at = clock_timestamp()
from unnest(cast(:file_ids as bigint[]), cast(:accepted as bigint[]),
            cast(:unchanged as bigint[]), cast(:rejected as bigint[]))
     as c (file_id, accepted, unchanged, rejected)
where f.file_id = c.file_id
"""

FIRST_SEEN = """
insert into depots (depot_id, name, city, timezone, country, is_complete)
select id, id, :city, :timezone, :country, false
from unnest(cast(:ids as text[])) as id
where not exists (select from depots where depot_id = id)
order by id
on conflict (depot_id) do nothing
"""


def lock(connection: sa.Connection, kind: str) -> None:
    """Waits until no other load of this kind runs; held until the transaction ends."""
    key = sa.func.hashtextextended(f"harbor ingest {kind}", 0)
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))


def loaded_file(
    connection: sa.Connection, sha256: str, options_sha256: str
) -> sa.Row[Any] | None:
    """Returns the row of `files` with the same bytes and options; None if absent or withdrawn."""
    statement = sa.select(files).where(
        files.c.sha256 == sha256,
        files.c.options_sha256 == options_sha256,
        files.c.withdrawn_at.is_(None),
    )
    return connection.execute(statement).one_or_none()


def overtaken_files(connection: sa.Connection, kind: str) -> set[int]:
    """Ids of loaded files of a kind whose rows later files replaced, or may have replaced."""
    overtaken = sa.select(superseded_rows.c.file_id).distinct()
    if kind not in ("orders", "daily"):  # their replaced rows are not kept
        has_changed = sa.and_(
            files.c.kind == kind, files.c.accepted > 0, files.c.withdrawn_at.is_(None)
        )
        newest = sa.select(sa.func.max(files.c.file_id)).where(has_changed)
        overtaken = sa.select(files.c.file_id).where(
            files.c.kind == kind, files.c.file_id < newest.scalar_subquery()
        )
    return set(connection.scalars(overtaken))


def add_file(connection: sa.Connection, row: Mapping[str, object]) -> int:
    """Inserts a row into `files`, and returns its id."""
    statement = sa.insert(files).values(row).returning(files.c.file_id)
    return int(connection.execute(statement).scalar_one())


def finish_loads(
    connection: sa.Connection, counts: Mapping[int, Mapping[str, int]]
) -> None:
    """Stores the row counts of files, by file_id, and sets their load times to now."""
    columns = {
        name: [each[name] for each in counts.values()]
        for name in ("accepted", "unchanged", "rejected")
    }
    values = {"file_ids": list(counts), **columns}
    connection.execute(sa.text(FINISH_LOADS), values)


def complete_partial_counts(connection: sa.Connection, file_id: int) -> int:
    """Completes the partial daily counts of a file that was loaded again, if their days are over.

    Orders are not completed: the same file still has only the orders of a day's first hours.

    Returns:
      The number of counts completed. If there are any, the file's load time is set to now.
    """
    partial = sa.text(
        "select count(*) from daily_counts "
        f"where file_id = :file_id and {WAS_PARTIAL['daily_counts']}"
    )
    n_partial = int(connection.scalar(partial, {"file_id": file_id}) or 0)
    if n_partial:
        statement = sa.update(files).where(files.c.file_id == file_id)
        connection.execute(statement.values(loaded_at=sa.func.clock_timestamp()))
    return n_partial


def add_first_seen(
    connection: sa.Connection, ids: Sequence[str], **described: str
) -> None:
    """Creates the depots of a file that do not exist yet, flagged as incomplete.

    `described` has their city, timezone and country.
    """
    lock(connection, "depots")
    connection.execute(sa.text(FIRST_SEEN), {"ids": list(ids), **described})


def places(connection: sa.Connection) -> tuple[frozenset[str], frozenset[str]]:
    """The ids of all depots, and their cities."""
    rows = connection.execute(sa.select(depots.c.depot_id, depots.c.city)).all()
    return frozenset(row[0] for row in rows), frozenset(row[1] for row in rows)


def now(connection: sa.Connection) -> datetime:
    """The database's time at this statement, not at the start of its transaction."""
    return connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()


def count_undescribed(connection: sa.Connection) -> int:
    """Counts the depots that no depots file has described."""
    counted = sa.select(sa.func.count()).where(~depots.c.is_complete)
    return int(connection.execute(counted).scalar_one())


# Orders in two namespaces are the same order only if id, depot and time are all equal.
EXISTING_ORDERS = """
select count(*) filter (where is_ours) as known,
       count(*) filter (where is_ours and (is_elsewhere or was::date <> now::date)) as moved,
       count(*) filter (where not is_ours and not is_elsewhere and was = now) as doubled,
       min(id_namespace)
           filter (where not is_ours and not is_elsewhere and was = now) as other_namespace
from (select o.id_namespace, o.id_namespace = :id_namespace as is_ours,
             o.depot_id <> i.depot_id as is_elsewhere,
             o.ordered_local as was, i.ordered_local as now
      from staging i join orders o using (order_id)) both_sides
"""
STAGED_DAYS = "select ordered_local::date from staging"
DAYS_BEFORE = """
select o.ordered_local::date from staging join orders o using (order_id)
where o.id_namespace = :id_namespace
"""


@dataclass(frozen=True)
class ExistingOrders:
    """Numbers of staged orders whose ids exist in the database already.

    Args:
      known: Orders stored in the same namespace.
      moved: Orders stored at another depot or on another day, in the same namespace.
      doubled: Orders stored at the same depot and time, in another namespace.
      other_namespace: A namespace of `doubled` orders; None if there are none.
    """

    known: int
    moved: int
    doubled: int
    other_namespace: str | None


@dataclass
class StagingTable:
    """A temporary table with the rows of one file at a time, to be loaded into `target`.

    Args:
      connection: Connection whose transaction drops the table.
      target: Table that the rows are loaded into.
      key: Columns of `target`; a later row replaces an earlier one with the same key.
      columns: Columns of the current file; the others are null.
      file_id: Id of the current file.
      id_namespace: Namespace in which the order ids of the current file are unique.
    """

    connection: sa.Connection
    target: sa.Table
    key: Sequence[str]
    columns: Sequence[str] = ()
    file_id: int = 0
    id_namespace: str = ""

    @classmethod
    def create(
        cls, connection: sa.Connection, table: str, key: Sequence[str]
    ) -> "StagingTable":
        """Creates the temporary table, with the columns of its target."""
        connection.execute(
            sa.text(
                "create temporary table staging on commit drop as "
                f"select * from {table} limit 0"
            )
        )
        return cls(connection, metadata.tables[table], key)

    def begin_file(
        self, file_id: int, columns: Sequence[str], id_namespace: str
    ) -> None:
        """Empties the table for the next file."""
        self.connection.execute(sa.text("truncate staging"))
        self.file_id, self.columns = file_id, columns
        self.id_namespace = id_namespace

    @cached_property
    def temporary(self) -> sa.Table:
        """The temporary table, for SQLAlchemy statements."""
        columns = (sa.Column(each.name, each.type) for each in self.target.c)
        return sa.Table("staging", sa.MetaData(), *columns)

    def write(self, rows: bytes | memoryview) -> None:
        """Copies rows in CSV, in the order of the columns."""
        copy_csv(self.connection, "staging", self.columns, rows)

    def existing_orders(self) -> ExistingOrders:
        """Compares the staged orders with the stored ones."""
        namespace = {"id_namespace": self.id_namespace}
        return ExistingOrders(
            *self.connection.execute(sa.text(EXISTING_ORDERS), namespace).one()
        )

    def n_on_frozen_days(self, frozen_before: date | None) -> int:
        """Counts staged rows on frozen days: all orders, or daily counts that are new or differ."""
        statement = ROWS_ON_FROZEN_DAYS.get(self.target.name)
        if statement is None or frozen_before is None:
            return 0
        days = {"before": frozen_before}
        return int(self.connection.scalar(sa.text(statement), days) or 0)

    def n_partial(self, timezone: str) -> int:
        """Counts the staged daily counts of days that are not over at their depots.

        `timezone` is used for depots that do not exist yet.
        """
        if self.target.name != "daily_counts":
            return 0
        zone = {"timezone": timezone}
        return int(self.connection.scalar(sa.text(PARTIAL_STAGED), zone) or 0)

    def n_orders(self) -> int:
        """Counts the distinct staged order ids."""
        ids = sa.select(self.temporary.c.order_id).distinct().subquery()
        counted = sa.select(sa.func.count()).select_from(ids)
        return int(self.connection.scalar(counted) or 0)

    def merge(self, *, replace_later_files: bool = True, are_new: bool = False) -> int:
        """Inserts or updates rows of the target, and returns the number of rows changed.

        The last of several rows with the same key applies. Columns that the file does not have keep
        their values. Replaced rows are kept for a withdrawal, and days whose orders change are
        marked to be counted. `are_new` states that no stored row has any of these keys.
        """
        of_file = {"file_id": self.file_id, "id_namespace": self.id_namespace}
        extra = {name: of_file[name] for name in of_file if name in self.target.c}
        key = self.key
        present = [self.temporary.c[name] for name in key if name in self.columns]
        last_rows = (
            # Rows of the temporary table are in the order of the file.
            sa.select(
                *(self.temporary.c[name] for name in self.columns),
                *(sa.literal(value).label(name) for name, value in extra.items()),
            )
            .ext(pg.distinct_on(*present))
            .order_by(*present, sa.literal_column("staging.ctid").desc())
        )
        if not are_new:
            self._keep_superseded(last_rows.subquery("last_rows"), replace_later_files)
        if self.target.name == "orders":
            order_counts.mark_days(self.connection, STAGED_DAYS)
            if not are_new:
                namespace = {"id_namespace": self.id_namespace}
                order_counts.mark_days(self.connection, DAYS_BEFORE, namespace)
        insert = pg.insert(self.target).from_select([*self.columns, *extra], last_rows)
        values = [name for name in (*self.columns, *extra) if name not in key]
        merged = self.connection.execute(
            insert.on_conflict_do_update(
                index_elements=key,
                set_={name: insert.excluded[name] for name in values},
                where=self._is_replaced_by(insert.excluded, replace_later_files),
            ),
            execution_options={"preserve_rowcount": True},
        )
        return int(merged.rowcount)

    def _is_replaced_by(
        self, incoming: Any, replace_later_files: bool
    ) -> sa.ColumnElement[bool]:
        """SQL condition: the incoming row replaces the target's row of the same key."""
        values = [name for name in self.columns if name not in self.key]
        before = sa.tuple_(*(self.target.c[name] for name in values))
        after = sa.tuple_(*(incoming[name] for name in values))
        is_news = before.is_distinct_from(after)
        if self.target.name in WAS_PARTIAL:
            was_partial = WAS_PARTIAL[self.target.name]
            is_news |= sa.literal_column(was_partial, sa.Boolean)
        return is_news & ~self._yields(incoming, replace_later_files)

    def _yields(
        self, incoming: Any, replace_later_files: bool
    ) -> sa.ColumnElement[bool]:
        """SQL condition: the target's row is from a later file, and that of a depot may be."""
        if replace_later_files:
            return sa.false()
        if "file_id" in self.target.c:
            return self.target.c.file_id > incoming.file_id
        later = sa.exists().where(
            files.c.kind == "depots",
            files.c.file_id > self.file_id,
            files.c.withdrawn_at.is_(None),
        )
        return self.target.c.is_complete & later

    def _keep_superseded(
        self, last_rows: sa.Subquery, replace_later_files: bool
    ) -> None:
        """Keeps the row that loses of each pair with one key, in case the other's file is withdrawn.

        Without `replace_later_files`, a staged row yields to a later file's row.
        """
        if self.target.name not in WITHDRAWABLE_TABLES:
            return
        stored = self.target
        match = [stored.c[name] == last_rows.c[name] for name in self.key]
        is_replaced = self._is_replaced_by(last_rows.c, replace_later_files)
        yields = self._yields(last_rows.c, replace_later_files)
        kept = (
            sa.select(
                sa.literal(stored.name),
                sa.case((yields, last_rows.c.file_id), else_=stored.c.file_id),
                sa.case(
                    (yields, sa.func.to_jsonb(last_rows.table_valued())),
                    else_=sa.func.to_jsonb(stored.table_valued()),
                ),
            )
            .join(last_rows, sa.and_(*match))
            .where(is_replaced | yields)
        )
        columns = ["table_name", "file_id", "content"]
        self.connection.execute(sa.insert(superseded_rows).from_select(columns, kept))

    def record_repeats(self) -> None:
        """Records the earlier files that have equal rows; called after `merge`."""
        if self.target.name not in WITHDRAWABLE_TABLES:
            return
        values = {**self.temporary.c, "id_namespace": sa.literal(self.id_namespace)}
        match = [self.target.c[name] == values[name] for name in self.key]
        earlier = (
            sa.select(sa.literal(self.file_id), self.target.c.file_id)
            .distinct()
            .join(self.temporary, sa.and_(*match))
            .where(self.target.c.file_id < self.file_id)
        )
        columns = ["file_id", "repeats_file_id"]
        insert = pg.insert(file_repeats).from_select(columns, earlier)
        self.connection.execute(insert.on_conflict_do_nothing())
