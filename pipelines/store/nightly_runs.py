"""Statements for the origins that have had a nightly run, and those skipped on purpose."""

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
    """The span of nightly runs in the ledger.

    Args:
      settled_on: The newest origin whose night is done or was left out; None without.
      first_on: The oldest origin that any night was begun for; None without.
    """

    settled_on: date | None
    first_on: date | None


def nights_kept(connection: sa.Connection) -> NightsKept:
    """Reads the span of origins that have had a nightly run."""
    settled = sa.func.max(runs.c.origin_on).filter(runs.c.state.in_(SETTLED))
    statement = sa.select(settled, sa.func.min(runs.c.origin_on))
    found = connection.execute(statement.where(runs.c.step == "nightly")).one()
    return NightsKept(*found)


def newest_done(connection: sa.Connection) -> dict[str, Any] | None:
    """The newest nightly run that is done."""
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
    """Records skipped nightly runs for origins."""
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
    """Age of the newest heartbeat of a process's running runs; None without any."""
    newest = sa.func.max(runs.c.heartbeat_at)
    statement = sa.select(NOW - newest).where(
        runs.c.state == "running", runs.c.host == host, runs.c.pid == pid
    )
    return connection.scalar(statement)
