"""Statements for events and their versions: append, list, withdraw.

An event is identified by its `event_id`, or without one by kind, start and scope. The view
`events` has the newest version of every event that is not withdrawn.
"""

from dataclasses import asdict, dataclass, replace
from datetime import date, datetime

import sqlalchemy as sa

from pipelines.schema import event_versions as versions
from pipelines.store import scores_due, temporary
from pipelines.store.ingest import StagingTable, lock, now
from pipelines.store.versions import append_changes

# Rows of new events, and rows that differ from the newest version of their event. The last row
# of an event in a file applies. Derived ids are readable, because people type them.
FIND_CHANGES = """
with named as (
    select coalesce(event_id, kind || '/' || to_char(starts_on, 'YYYY-MM-DD')
                    || coalesce('/depot/' || depot_id, '/city/' || city, '')) as own_id,
           staging.*, staging.ctid as position
    from staging
), staged as (
    select distinct on (own_id) * from named order by own_id, position desc
), compared as (
    select a.own_id as event_id, coalesce(v.version, 0) as before,
           v.file_id as before_file, a.kind, a.starts_on, a.ends_on,
           case when :has_scope then a.city else v.city end as city,
           case when :has_scope then a.depot_id else v.depot_id end as depot_id,
           case when :has_value then a.value else v.value end as value,
           case when :has_known_from then a.known_from else v.known_from end
               as known_from,
           coalesce(a.withdrawn, v.withdrawn, false) as withdrawn
    from staged a
    left join event_versions v on v.event_id = a.own_id and v.superseded_at is null
)
select c.*, cast(:file_id as bigint) as file_id, cast(:now as timestamptz) as known_at
from compared c
left join event_versions v on v.event_id = c.event_id and v.version = c.before
where before = 0
   or ((c.kind, c.starts_on, c.ends_on, c.city, c.depot_id, c.value, c.known_from,
        c.withdrawn)
       is distinct from
       (v.kind, v.starts_on, v.ends_on, v.city, v.depot_id, v.value, v.known_from,
        v.withdrawn)
       and (:replace_later_files or coalesce(before_file <= :file_id, false)))
"""
STORED = ("event_id", "kind", "starts_on", "ends_on", "city", "depot_id", "value",
          "known_from", "withdrawn", "file_id", "known_at")  # fmt: skip

# Only newest versions; each place is looked up once, however many events it has.
UNPLACED = """
select place from (select distinct depot_id as place from events where ends_on >= :since) e
where place is not null and not exists (select from depots where depot_id = place)
union
select place from (select distinct city as place from events where ends_on >= :since) e
where place is not null and not exists (select from depots where city = place)
"""


@dataclass(frozen=True)
class Event:
    """The newest version of an event.

    Args:
      event_id: From the file, else derived from kind, start and scope.
      city: Set only if `depot_id` is None; if both are None, the event concerns every depot.
      known_from: First origin for which it is known; None: every origin.
      version: Counts from 1; more than 1 once it was corrected or withdrawn.
      known_at: When this version was loaded.
      reason: Why it was withdrawn by hand; None if it was not.
    """

    event_id: str
    kind: str
    starts_on: date
    ends_on: date
    city: str | None
    depot_id: str | None
    value: float | None
    known_from: date | None
    withdrawn: bool
    version: int
    known_at: datetime
    reason: str | None


def append(staging: StagingTable, *, replace_later_files: bool = True) -> int:
    """Appends a version of every event that a file changes; returns the number of versions.

    Columns that the file does not have keep their values. Without `replace_later_files`, versions
    from later files or made by hand stay as they are.
    """
    connection, columns = staging.connection, set(staging.columns)
    known_at = now(connection)
    parameters = {
        "now": known_at,
        "has_value": "value" in columns,
        "has_known_from": "known_from" in columns,
        "has_scope": bool(columns & {"city", "depot_id"}),
        "replace_later_files": replace_later_files,
        "file_id": staging.file_id,
    }
    temporary.create(connection, "changes", FIND_CHANGES, parameters)
    changed = connection.scalars(sa.text("select event_id from changes")).all()
    n_versions = append_changes(
        connection, versions.name, ["event_id"], STORED, known_at
    )
    scores_due.mark_closures(connection, changed)
    return n_versions


def corrected_since(connection: sa.Connection, began: datetime) -> int:
    """Number of events that have been corrected or withdrawn since a time."""
    is_correction = (versions.c.version > 1) & (versions.c.known_at >= began)
    counted = sa.select(sa.func.count()).where(is_correction)
    return int(connection.execute(counted).scalar_one())


def unplaced(connection: sa.Connection, since: date = date.min) -> list[str]:
    """Unknown depot ids and cities that are named by events ending on `since` or later."""
    return sorted(connection.scalars(sa.text(UNPLACED), {"since": since}))


def newest(
    connection: sa.Connection,
    kind: str | None = None,
    since: date | None = None,
    with_withdrawn: bool = False,
) -> list[Event]:
    """The newest versions of events that end on `since` or later, latest start first."""
    statement = _newest().order_by(versions.c.starts_on.desc(), versions.c.event_id)
    if kind is not None:
        statement = statement.where(versions.c.kind == kind)
    if since is not None:
        statement = statement.where(versions.c.ends_on >= since)
    if not with_withdrawn:
        statement = statement.where(~versions.c.withdrawn)
    return [Event(**row) for row in connection.execute(statement).mappings()]


def _newest() -> sa.Select[tuple[object, ...]]:
    columns = (versions.c[name] for name in Event.__dataclass_fields__)
    return sa.select(*columns).where(versions.c.superseded_at.is_(None))


def newest_locked(connection: sa.Connection, event_id: str) -> Event | None:
    """The newest version of an event; no load changes it until the transaction ends."""
    lock(connection, "events")
    statement = _newest().where(versions.c.event_id == event_id)
    row = connection.execute(statement).mappings().one_or_none()
    return None if row is None else Event(**row)


def withdraw(
    connection: sa.Connection, event: Event, reason: str, now: datetime
) -> Event:
    """Appends a version that withdraws an event, in the transaction that locked its newest one.

    The withdrawal becomes known at `now`; the reason is shown to people.
    """
    before = sa.update(versions).where(
        versions.c.event_id == event.event_id, versions.c.version == event.version
    )
    connection.execute(before.values(superseded_at=now))
    withdrawn = replace(
        event, version=event.version + 1, withdrawn=True, known_at=now, reason=reason
    )
    connection.execute(sa.insert(versions).values(**asdict(withdrawn)))
    scores_due.mark_closures(connection, [event.event_id])
    return withdrawn
