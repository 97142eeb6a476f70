"""Statements for signals and their versions: append, withdraw.

A value is identified by its signal, depot or city, day, and the first origin that knows it: the
bookings known a week ahead are kept beside those known a day ahead. A correction is a new
version of the same value.
"""

from collections.abc import Sequence
from datetime import date, datetime

import sqlalchemy as sa

from pipelines.store import temporary
from pipelines.store.ingest import StagingTable
from pipelines.store.versions import append_changes

ALWAYS = date.min
"""`known_from` of a value that every origin knows."""

# Without `known_from`, a value is known from its arrival; but if its day has passed and no
# `known_from` but `ALWAYS` is stored for it, it is history, known to every origin. The last of
# several rows of the same value applies.
COMPARE = """
with placed as (
    select signal, coalesce(depot_id, '') as depot_id, coalesce(city, '') as city, day_on,
           value, known_from, ctid as position
    from staging
), dated as (
    select signal, depot_id, city, day_on, value, position, known_from is null as undated,
           coalesce(known_from, case when day_on > :arrived_on or exists (
               select from signal_versions v
               where v.signal = p.signal and v.depot_id = p.depot_id and v.city = p.city
                 and v.day_on = p.day_on and v.known_from > :always
                 and v.superseded_at is null and not v.withdrawn)
               then :arrived_on else :always end) as known_from
    from placed p
), staged as (
    select distinct on (signal, depot_id, city, day_on, known_from) *
    from dated
    order by signal, depot_id, city, day_on, known_from, position desc
)
select s.signal, s.depot_id, s.city, s.day_on, s.known_from, s.value,
       coalesce(v.version, 0) as before, cast(:file_id as bigint) as file_id,
       cast(:now as timestamptz) as known_at, same.file_id as repeats_file_id, false as withdrawn,
       same.value is not distinct from s.value
       or coalesce(not :replace_later_files and greatest(
              case when not v.withdrawn then v.file_id end, same.file_id) > :file_id, false)
           as unchanged,
       coalesce(not :replace_later_files and not v.withdrawn and v.file_id > :file_id, false)
           as yields
from staged s
left join signal_versions v on v.superseded_at is null and
    (v.signal, v.depot_id, v.city, v.day_on, v.known_from)
    = (s.signal, s.depot_id, s.city, s.day_on, s.known_from)
left join lateral (
    -- The newest value known by then; for a row with a `known_from`, only one with the same.
    select n.value, n.file_id from signal_versions n
    where n.superseded_at is null and not n.withdrawn
      and (n.signal, n.depot_id, n.city, n.day_on)
          = (s.signal, s.depot_id, s.city, s.day_on)
      and (n.known_from = s.known_from or s.undated and n.known_from < s.known_from)
    order by n.known_from desc limit 1) same on true
"""
RECORD_REPEATS = """
insert into file_repeats (file_id, repeats_file_id)
select distinct file_id, repeats_file_id from changes
where unchanged and repeats_file_id < file_id
on conflict do nothing
"""
# A replayed row that yields to a later file's value is kept below it, for the withdrawal of that
# file. No origin knows its version: it is superseded as it is loaded.
KEEP_YIELDING = """
insert into signal_versions (signal, depot_id, city, day_on, known_from, value, withdrawn,
                             file_id, version, known_at, superseded_at)
select signal, depot_id, city, day_on, known_from, value, false, file_id,
       least(0, (select min(v.version) - 1 from signal_versions v
                 where (v.signal, v.depot_id, v.city, v.day_on, v.known_from)
                       = (c.signal, c.depot_id, c.city, c.day_on, c.known_from))), :now, :now
from changes c where yields
"""
# A value of a withdrawn file is replaced by the newest one from files that are not withdrawn.
RESTORE = """
select v.signal, v.depot_id, v.city, v.day_on, v.known_from,
       coalesce(earlier.value, v.value) as value, v.version as before,
       cast(:now as timestamptz) as known_at,
       coalesce(earlier.file_id, v.file_id) as file_id,
       earlier.file_id is null as withdrawn
from signal_versions v
left join lateral (
    select e.value, e.file_id
    from signal_versions e join files f on f.file_id = e.file_id
    where (e.signal, e.depot_id, e.city, e.day_on, e.known_from)
          = (v.signal, v.depot_id, v.city, v.day_on, v.known_from)
      and not e.withdrawn and f.withdrawn_at is null
      and not e.file_id = any(:file_ids)
    order by e.file_id desc, e.version desc limit 1) earlier on true
where v.file_id = any(:file_ids) and v.superseded_at is null and not v.withdrawn
"""
KEY = ("signal", "depot_id", "city", "day_on", "known_from")
STORED = (*KEY, "value", "withdrawn", "file_id", "known_at")


def append(
    staging: StagingTable,
    now: datetime,
    arrived_on: date,
    *,
    replace_later_files: bool = True,
) -> int:
    """Appends a version of every value that a file changes, and returns their number.

    The versions become known at `now`; the first origin that may see a value without `known_from`
    is `arrived_on`, or `ALWAYS`. Values from later files are superseded if `replace_later_files`.
    """
    connection = staging.connection
    parameters = {
        "now": now,
        "file_id": staging.file_id,
        "arrived_on": arrived_on,
        "always": ALWAYS,
        "replace_later_files": replace_later_files,
    }
    temporary.create(connection, "changes", COMPARE, parameters)
    connection.execute(sa.text(RECORD_REPEATS))
    connection.execute(sa.text(KEEP_YIELDING), {"now": now})
    connection.execute(sa.text("delete from changes where unchanged"))
    return append_changes(connection, "signal_versions", KEY, STORED, now)


def withdraw_files(
    connection: sa.Connection, file_ids: Sequence[int], now: datetime
) -> tuple[int, int]:
    """Withdraws the values of files, and restores those that they had corrected.

    No file of signals may be loaded meanwhile.

    Returns:
      The number of values withdrawn, and the number of them that another file's value replaces.
    """
    parameters = {"file_ids": list(file_ids), "now": now}
    temporary.create(connection, "changes", RESTORE, parameters)
    restored = connection.scalar(
        sa.text("select count(*) from changes where not withdrawn")
    )
    withdrawn = append_changes(connection, "signal_versions", KEY, STORED, now)
    return withdrawn, int(restored or 0)
