"""Statements for the data of the service levels: nightly runs and dashboard probes."""

from dataclasses import dataclass
from datetime import date, datetime

import sqlalchemy as sa

from pipelines.schema import dashboard_probes, runs


@dataclass(frozen=True)
class Answers:
    """How the dashboard answered over some days.

    Args:
      probes: How often it was asked.
      answered: How often it answered.
      quick: How often within the time it should.
      p95_s: 95 % of its answers took no longer; None where there is none.
    """

    probes: int
    answered: int
    quick: int
    p95_s: float | None


def first_night_at(connection: sa.Connection) -> datetime | None:
    """When the first nightly run began."""
    first = sa.select(sa.func.min(runs.c.started_at)).where(
        runs.c.step == "nightly", runs.c.state != "skipped"
    )
    return connection.scalar(first)


def ready_at(connection: sa.Connection, since: date) -> dict[date, datetime]:
    """When the forecast of each origin was first there.

    Args:
      connection: For one short transaction.
      since: The oldest origin.
    """
    statement = (
        sa.select(runs.c.origin_on, sa.func.min(runs.c.finished_at))
        .where(
            runs.c.step == "forecast",
            runs.c.state == "done",
            runs.c.origin_on >= since,
        )
        .group_by(runs.c.origin_on)
    )
    return {row[0]: row[1] for row in connection.execute(statement)}


def answers(connection: sa.Connection, since: datetime, quick_s: float) -> Answers:
    """Dashboard probes since a moment, summed."""
    seconds = dashboard_probes.c.seconds
    p95 = sa.func.percentile_cont(0.95).within_group(seconds)
    statement = sa.select(
        sa.func.count(),
        sa.func.count().filter(dashboard_probes.c.answered),
        sa.func.count().filter(seconds <= quick_s),
        p95,
    ).where(dashboard_probes.c.probed_at >= since)
    return Answers(*connection.execute(statement).one())


def add_probe(
    connection: sa.Connection, probed_at: datetime, seconds: float | None
) -> None:
    """Records a probe; None seconds for one without an answer."""
    values = {
        "probed_at": probed_at,
        "answered": seconds is not None,
        "seconds": seconds,
    }
    connection.execute(sa.insert(dashboard_probes), values)


def drop_probes(connection: sa.Connection, before: datetime) -> None:
    """Deletes probes before a moment."""
    is_old = dashboard_probes.c.probed_at < before
    connection.execute(sa.delete(dashboard_probes).where(is_old))
