"""Removes the rows of files from a table, and restores the rows they had replaced."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa

from pipelines.store import order_counts, temporary

# Only our own table and column names are formatted into the statements. If several earlier rows
# have the same key, the row loaded last is restored.
REMOVED_KEYS = """
select {key} from {table} where file_id = any(:file_ids)
"""
NAMED_DEPOTS = """
select depot_id from {table} where file_id = any(:file_ids)
union
select content ->> 'depot_id' from superseded_rows
where table_name = :table and file_id = any(:file_ids)
"""
OLD_DAYS = "select ordered_local::date from orders where file_id = any(:file_ids)"
RESTORED_DAYS = """
select (content ->> 'ordered_local')::date
from superseded_rows join earlier using (superseded_id)
"""
HAVE_ROWS_BEFORE = """
select exists (select from orders where file_id = any(:file_ids) and ordered_local < :before)
    or exists (select from daily_counts where file_id = any(:file_ids) and service_on < :before)
"""
DELETE = "delete from {table} where file_id = any(:file_ids)"
DELETE_SUPERSEDED = """
delete from superseded_rows where table_name = :table and file_id = any(:file_ids)
"""
FIND_EARLIER = """
select distinct on ({key}) superseded_id
from superseded_rows s
cross join lateral jsonb_populate_record(null::{table}, s.content) r
join removed using ({key})
where s.table_name = :table
order by {key}, s.file_id desc, s.superseded_id desc
"""
RESTORE = """
with restored as (
    delete from superseded_rows where superseded_id in (select superseded_id from earlier)
    returning content
)
insert into {table} select (jsonb_populate_record(null::{table}, content)).* from restored
"""
DROP_UNNAMED = """
with unnamed as (
    select d.depot_id from depots d
    where d.depot_id = any(:depot_ids) and not d.is_complete
      and not exists (select from orders t where t.depot_id = d.depot_id)
      and not exists (select from daily_counts t where t.depot_id = d.depot_id)
      and not exists (
          select from superseded_rows t where t.content ->> 'depot_id' = d.depot_id)
      and not exists (
          select from order_counts t
          where t.depot_id = d.depot_id
            and t.service_on < (select max(before_on) from frozen_days))
      and not exists (select from events t where t.depot_id = d.depot_id)
      and not exists (
          select from signal_versions t
          where t.depot_id = d.depot_id and t.superseded_at is null and not t.withdrawn)
      and not exists (select from forecasts t where t.depot_id = d.depot_id)
      and not exists (select from overrides t where t.depot_id = d.depot_id)
), history as (
    delete from demand_versions where depot_id in (select depot_id from unnamed)
)
delete from depots where depot_id in (select depot_id from unnamed)
"""


@dataclass(frozen=True)
class RemovedRows:
    """Numbers of rows removed and of other files' rows restored, and the files' depots."""

    removed: int
    restored: int
    depot_ids: frozenset[str]


def remove_rows(
    connection: sa.Connection, table: str, key: Sequence[str], file_ids: Sequence[int]
) -> RemovedRows:
    """Removes every row of the files from `orders` or `daily_counts`, and restores earlier ones.

    An earlier row is a replaced row of the same key. The caller's locks keep files of this kind
    from being loaded meanwhile.
    """
    names = {"table": table, "key": ", ".join(key)}
    values = {"table": table, "file_ids": list(file_ids)}

    def run(statement: str) -> int:
        result = connection.execute(sa.text(statement.format(**names)), values)
        return int(result.rowcount)

    named = connection.scalars(sa.text(NAMED_DEPOTS.format(**names)), values)
    depot_ids = frozenset(named)
    temporary.create(connection, "removed", REMOVED_KEYS.format(**names), values)
    if table == "orders":
        order_counts.mark_days(connection, OLD_DAYS, {"file_ids": list(file_ids)})
    removed = run(DELETE)
    run(DELETE_SUPERSEDED)
    temporary.create(connection, "earlier", FIND_EARLIER.format(**names), values)
    if table == "orders":
        order_counts.mark_days(connection, RESTORED_DAYS)
    return RemovedRows(removed, run(RESTORE), depot_ids)


def have_rows_before(
    connection: sa.Connection, file_ids: Sequence[int], before: date
) -> bool:
    """Whether files have orders (by local time as written) or daily counts from before a day."""
    values = {"file_ids": list(file_ids), "before": before}
    return bool(connection.scalar(sa.text(HAVE_ROWS_BEFORE), values))


def drop_unnamed_depots(connection: sa.Connection, depot_ids: Sequence[str]) -> int:
    """Removes the depots that no depots file has described and that nothing refers to any more.

    Their demand is deleted with them. A depot with a forecast, an event, a signal or an
    override stays.
    """
    parameters = {"depot_ids": list(depot_ids)}
    return int(connection.execute(sa.text(DROP_UNNAMED), parameters).rowcount)
