"""Statements for backfill plans, their slots and their states."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from pipelines.schema import backfill_slots as slots
from pipelines.schema import backfills

APPLY_LOCK = 0x4241_434B  # "BACK"


def add_plan(
    connection: sa.Connection,
    request: Mapping[str, Any],
    snapshot: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> int:
    """Writes a plan and its slots, and returns the plan's id.

    Args:
      connection: Inside a transaction.
      request: The request, as JSON.
      snapshot: The state of the data the plan was made from; see `plan_snapshot.current`.
      rows: Its slots, by the columns of `backfill_slots`.
    """
    statement = sa.insert(backfills).values(
        request=request, snapshot=snapshot, state="planned"
    )
    found = connection.execute(statement.returning(backfills.c.backfill_id))
    backfill_id = int(found.scalar_one())
    if rows:
        values = [{"backfill_id": backfill_id, **row} for row in rows]
        connection.execute(sa.insert(slots), values)
    return backfill_id


def drop_unbegun(connection: sa.Connection, backfill_id: int) -> None:
    """Takes a plan away of which nothing was begun; any other stays."""
    unbegun = sa.select(backfills.c.backfill_id).where(
        backfills.c.backfill_id == backfill_id, backfills.c.state == "planned"
    )
    connection.execute(sa.delete(slots).where(slots.c.backfill_id.in_(unbegun)))
    connection.execute(sa.delete(backfills).where(backfills.c.backfill_id.in_(unbegun)))


def plan(connection: sa.Connection, backfill_id: int) -> dict[str, Any] | None:
    """A plan without its slots."""
    statement = sa.select(backfills).where(backfills.c.backfill_id == backfill_id)
    found = connection.execute(statement).mappings().one_or_none()
    return None if found is None else dict(found)


def plans(connection: sa.Connection, limit: int) -> list[dict[str, Any]]:
    """The newest plans with how many of their slots are in which state, newest first."""
    newest = (
        sa.select(backfills)
        .order_by(backfills.c.backfill_id.desc())
        .limit(limit)
        .subquery()
    )

    def count(state: str) -> sa.ColumnElement[int]:
        return sa.func.count().filter(slots.c.state == state).label(state)

    states = [count(state) for state in ("waiting", "done", "failed", "skipped")]
    statement = (
        sa.select(*newest.c, *states)
        .outerjoin(slots, slots.c.backfill_id == newest.c.backfill_id)
        .group_by(*newest.c)
        .order_by(newest.c.backfill_id.desc())
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def plan_slots(connection: sa.Connection, backfill_id: int) -> list[dict[str, Any]]:
    """Every slot of a plan, in order."""
    statement = (
        sa.select(slots)
        .where(slots.c.backfill_id == backfill_id)
        .order_by(slots.c.position)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def set_state(connection: sa.Connection, backfill_id: int, state: str) -> None:
    """Sets a plan's state and clears its requested action."""
    statement = sa.update(backfills).where(backfills.c.backfill_id == backfill_id)
    connection.execute(statement.values(state=state, requested_action=None))


def set_snapshot(
    connection: sa.Connection, backfill_id: int, snapshot: Mapping[str, Any]
) -> None:
    """Replaces the snapshot after the plan itself has changed the data."""
    statement = sa.update(backfills).where(backfills.c.backfill_id == backfill_id)
    connection.execute(statement.values(snapshot=snapshot))


def request_action(connection: sa.Connection, backfill_id: int, action: str) -> None:
    """Asks the process that applies the plan to pause or cancel it."""
    statement = sa.update(backfills).where(backfills.c.backfill_id == backfill_id)
    connection.execute(statement.values(requested_action=action))


def requested_action(connection: sa.Connection, backfill_id: int) -> str | None:
    """The action requested of the process that applies the plan: pause, cancel or None."""
    return connection.scalar(
        sa.select(backfills.c.requested_action).where(
            backfills.c.backfill_id == backfill_id
        )
    )


def end_slot(
    connection: sa.Connection,
    backfill_id: int,
    position: int,
    state: str,
    run_id: int,
    error: str | None = None,
    **found: Any,
) -> None:
    """Writes how a slot ended, and what was found on the way (model_version, rows)."""
    connection.execute(
        sa.update(slots)
        .where(slots.c.backfill_id == backfill_id, slots.c.position == position)
        .values(
            state=state,
            error=error,
            run_id=run_id,
            finished_at=sa.func.clock_timestamp(),
            **found,
        )
    )


def skip_slot(
    connection: sa.Connection,
    backfill_id: int,
    position: int,
    run_id: int,
    reason: str,
) -> None:
    """Writes that a slot of the plan was skipped when its turn came, and why."""
    end_slot(
        connection, backfill_id, position, "skipped", run_id,
        is_included=False, reason=reason, rows=0,
    )  # fmt: skip


def wait_again(connection: sa.Connection, backfill_id: int) -> int:
    """Puts failed slots back in the queue, and returns how many."""
    statement = (
        sa.update(slots)
        .where(slots.c.backfill_id == backfill_id, slots.c.state == "failed")
        .values(state="waiting", error=None)
    )
    return int(connection.execute(statement).rowcount)
