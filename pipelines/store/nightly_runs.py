"""Which nights the ledger has, and which were left out on purpose."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import sqlalchemy as sa

from pipelines.schema import runs
from pipelines.store.runs import NOW

SETTLED = ("done", "skipped")
"""States after which an origin has had its night, or goes without one on purpose."""


@dataclass(frozen=True)
class NightsKept:
    """What the ledger says of the nights so far.

    Args:
      settled_on: The newest origin whose night is done or was left out; None without.
      first_on: The oldest origin that any night was begun for; None without.
    """

    settled_on: date | None
    first_on: date | None


def nights_kept(connection: sa.Connection) -> NightsKept:
    """The span of origins that had a night."""
    settled = sa.func.max(runs.c.origin_on).filter(runs.c.state.in_(SETTLED))
    statement = sa.select(settled, sa.func.min(runs.c.origin_on))
    found = connection.execute(statement.where(runs.c.step == "nightly")).one()
    return NightsKept(*found)


def newest_done(connection: sa.Connection) -> dict[str, Any] | None:
    """The newest night that was run to its end."""
    statement = (
        sa.select(runs)
        .where(runs.c.step == "nightly", runs.c.state == "done")
        .order_by(runs.c.run_id.desc())
        .limit(1)
    )
    found = connection.execute(statement).mappings().first()
    return None if found is None else dict(found)


def leave_out(
    connection: sa.Connection, origins: list[date], parent_id: int, reason: str
) -> None:
    """Writes down that origins go without a night."""
    rows = [
        {
            "step": "nightly",
            "origin_on": origin,
            "parent_id": parent_id,
            "state": "skipped",
            "error": reason,
        }
        for origin in origins
    ]
    if rows:
        connection.execute(sa.insert(runs).values(finished_at=NOW), rows)


def silence_of(connection: sa.Connection, host: str, pid: int) -> timedelta | None:
    """For how long the running runs of a process have not beaten; None without any."""
    newest = sa.func.max(runs.c.heartbeat_at)
    statement = sa.select(NOW - newest).where(
        runs.c.state == "running", runs.c.host == host, runs.c.pid == pid
    )
    return connection.scalar(statement)


def training_costs(connection: sa.Connection, since: timedelta) -> list[dict[str, Any]]:
    """What the trainings of that time counted, those that nights began, oldest first."""
    statement = (
        sa.select(runs.c.metrics)
        .where(
            runs.c.step == "train",
            runs.c.state == "done",
            runs.c.parent_id.is_not(None),
            runs.c.started_at > NOW - since,
        )
        .order_by(runs.c.run_id)
    )
    return list(connection.scalars(statement))
