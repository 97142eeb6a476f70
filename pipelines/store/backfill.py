"""Statements for backfill plans, their slots and their states."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from pipelines.schema import backfill_slots as slots
from pipelines.schema import backfills

APPLY_LOCK = 0x4241_434B  # "BACK"
SLOT_STATES = ("waiting", "done", "failed", "skipped")
# Everything that decides the forecasts from origins up to `last`, and their scores over the
# days up to `until`. Data of later days does not.
DATA_FINGERPRINT = """
select (select jsonb_build_array(count(*), extract(epoch from max(recorded_at)))
        from demand_versions
        where service_on <= :until) as counts,
       (select md5(string_agg(e::text, ';' order by event_id)) from events e) as events,
       (select jsonb_build_array(count(*), extract(epoch from max(known_at)))
        from signal_versions where day_on <= :until) as signals,
       (select md5(string_agg(d::text, ';' order by depot_id)) from depots d) as depots,
       (select coalesce(jsonb_agg(version order by version), '[]') from models
        where trained_through <= :last and pruned_at is null) as models
"""
# Origins of waiting slots whose stored forecasts are not those that the plan counted.
ORIGINS_CHANGED = """
select s.origin_on
from backfill_slots s
left join lateral (
    select count(*) as rows, max(f.made_at) as newest_made_at from forecasts f
    where f.origin_on = s.origin_on and f.model_version = s.model_version
      and (cast(:depots as text[]) is null or f.depot_id = any(:depots))
) stored on true
where s.backfill_id = :backfill_id and s.state = 'waiting' and s.step = 'forecast'
  and s.model_version is not null
  and (stored.rows, stored.newest_made_at)
      is distinct from (s.replaced_rows, s.newest_made_at)
order by s.origin_on
"""


@dataclass(frozen=True)
class DataFingerprint:
    """Summary of the data that a plan depends on; stored with it as JSON.

    Args:
      counts: Number of demand versions, and when the newest was recorded.
      events: Digest of the events.
      signals: Number of versions of signals, and when the newest became known.
      depots: Digest of the depots.
      models: Versions of the unpruned models.
    """

    counts: list[float]
    events: str | None
    signals: list[float | None]
    depots: str | None
    models: list[str]


def add_plan(
    connection: sa.Connection,
    request: Mapping[str, Any],
    fingerprint: DataFingerprint,
    rows: Sequence[Mapping[str, Any]],
) -> int:
    """Writes a plan (its request as JSON) and its slots, and returns the plan's id."""
    statement = sa.insert(backfills).values(
        request=request, snapshot=asdict(fingerprint), state="planned"
    )
    inserted = connection.execute(statement.returning(backfills.c.backfill_id))
    backfill_id = int(inserted.scalar_one())
    if rows:
        values = [{"backfill_id": backfill_id, **row} for row in rows]
        connection.execute(sa.insert(slots), values)
    return backfill_id


def plan(connection: sa.Connection, backfill_id: int) -> sa.RowMapping | None:
    """Returns a plan without its slots."""
    statement = sa.select(backfills).where(backfills.c.backfill_id == backfill_id)
    return connection.execute(statement).mappings().one_or_none()


def plans(connection: sa.Connection, limit: int) -> list[dict[str, Any]]:
    """Returns the newest plans with the number of their slots in each state, newest first."""
    newest_plans = (
        sa.select(backfills)
        .order_by(backfills.c.backfill_id.desc())
        .limit(limit)
        .subquery()
    )
    counts = [
        sa.func.count().filter(slots.c.state == state).label(state)
        for state in SLOT_STATES
    ]
    statement = (
        sa.select(*newest_plans.c, *counts)
        .outerjoin(slots, slots.c.backfill_id == newest_plans.c.backfill_id)
        .group_by(*newest_plans.c)
        .order_by(newest_plans.c.backfill_id.desc())
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def plan_slots(connection: sa.Connection, backfill_id: int) -> Sequence[sa.RowMapping]:
    """Returns every slot of a plan, in order."""
    columns = [column for column in slots.c if column is not slots.c.backfill_id]
    statement = sa.select(*columns).where(slots.c.backfill_id == backfill_id)
    return connection.execute(statement.order_by(slots.c.position)).mappings().all()


def update_plan(connection: sa.Connection, backfill_id: int, **values: Any) -> None:
    """Sets columns of a plan."""
    statement = sa.update(backfills).where(backfills.c.backfill_id == backfill_id)
    connection.execute(statement.values(**values))


def set_state(connection: sa.Connection, backfill_id: int, state: str) -> None:
    """Sets a plan's state and clears its requested action."""
    update_plan(connection, backfill_id, state=state, requested_action=None)


def end_interrupted(connection: sa.Connection, backfill_id: int) -> None:
    """Sets every other plan that is stored as running to paused, or to cancelled as requested.

    For the holder of `APPLY_LOCK`: the process of such a plan is gone.
    """
    is_interrupted = (backfills.c.state == "running") & (
        backfills.c.backfill_id != backfill_id
    )
    was_cancelled = backfills.c.requested_action == "cancel"
    state = sa.case((was_cancelled, "cancelled"), else_="paused")
    connection.execute(
        sa.update(backfills)
        .where(is_interrupted)
        .values(state=state, requested_action=None)
    )


def requested_action(connection: sa.Connection, backfill_id: int) -> str | None:
    """Returns what the process that applies the plan is asked to do: pause, cancel or None."""
    action = backfills.c.requested_action
    statement = sa.select(action).where(backfills.c.backfill_id == backfill_id)
    return connection.scalar(statement)


def finish_slot(
    connection: sa.Connection, backfill_id: int, position: int, **values: Any
) -> None:
    """Stores how a slot ended: its state and run_id, and further columns."""
    connection.execute(
        sa.update(slots)
        .where(slots.c.backfill_id == backfill_id, slots.c.position == position)
        .values(error=None, finished_at=sa.func.clock_timestamp())
        .values(**values)
    )


def requeue_failed(connection: sa.Connection, backfill_id: int) -> int:
    """Puts failed slots back in the queue, and returns how many."""
    statement = (
        sa.update(slots)
        .where(slots.c.backfill_id == backfill_id, slots.c.state == "failed")
        .values(state="waiting", error=None)
    )
    return int(connection.execute(statement).rowcount)


def data_fingerprint(
    connection: sa.Connection, last: date, until: date
) -> DataFingerprint:
    """Reads counts and digests of the data that decide a plan's forecasts and scores.

    They reach up to the newest origin, `last`, and the last day forecast from it, `until`.
    """
    rows = connection.execute(sa.text(DATA_FINGERPRINT), {"last": last, "until": until})
    return DataFingerprint(**rows.mappings().one())


def origins_changed_since(
    connection: sa.Connection, backfill_id: int, depot_ids: list[str] | None
) -> list[date]:
    """Returns the origins whose stored forecasts changed after the plan was created."""
    parameters = {"backfill_id": backfill_id, "depots": depot_ids}
    return list(connection.scalars(sa.text(ORIGINS_CHANGED), parameters))
