"""Marks forecasts to be scored; every writer of forecasts, counts or closures marks its changes.

A mark is an origin whose forecasts changed, a day whose actual or closure changed, or
everything. A mark is written in the transaction of the change, and removed after the scoring.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa

from pipelines.schema import scores_due

# Marks every day of every version: a superset of the days that a new version closes or opens.
MARK_CLOSURES = """
insert into scores_due (target_on)
select distinct cast(day_on as date)
from event_versions v
cross join (select min(target_on) as first_on, max(target_on) as last_on
            from forecasts) span
cross join lateral generate_series(
    greatest(v.starts_on, span.first_on)::timestamp, least(v.ends_on, span.last_on),
    interval '1 day') as day_on
where v.kind = 'closed' and v.event_id = any(:event_ids)
"""


@dataclass(frozen=True)
class ScoresDue:
    """Changes since the last scoring.

    Attributes:
      due_ids: Rows of `scores_due`.
      origins: Origins whose forecasts changed.
      targets: Days whose actual or closure changed.
      is_everything: Whether every forecast must be compared with its score.
    """

    due_ids: list[int]
    origins: list[date]
    targets: list[date]
    is_everything: bool


def read(connection: sa.Connection) -> ScoresDue:
    """Returns the changes since the last scoring."""
    rows = connection.execute(sa.select(scores_due)).all()
    return ScoresDue(
        [row.due_id for row in rows],
        sorted({row.origin_on for row in rows if row.origin_on is not None}),
        sorted({row.target_on for row in rows if row.target_on is not None}),
        any(row.origin_on is None and row.target_on is None for row in rows),
    )


def remove(connection: sa.Connection, due: ScoresDue) -> None:
    """Removes the marks that have been scored; marks made meanwhile stay."""
    done = scores_due.c.due_id == sa.func.any(
        sa.literal(due.due_ids, sa.ARRAY(sa.BigInteger))
    )
    connection.execute(sa.delete(scores_due).where(done))


def mark_origin(connection: sa.Connection, origin: date) -> None:
    """Marks an origin whose forecasts were written."""
    connection.execute(sa.insert(scores_due).values(origin_on=origin))


def mark_closures(connection: sa.Connection, event_ids: Sequence[str]) -> None:
    """Marks the forecast days that any version of these events has closed."""
    connection.execute(sa.text(MARK_CLOSURES), {"event_ids": list(event_ids)})


def mark_everything(connection: sa.Connection) -> None:
    """Marks every forecast, for example because depots' open days have changed."""
    connection.execute(sa.insert(scores_due).values(origin_on=None))
