"""Statements for the origins that have had a nightly run, and what their trainings took."""

from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from pipelines.schema import runs


@dataclass(frozen=True)
class RecordedNights:
    """The span of nightly runs in the ledger.

    Args:
      done_on: The newest origin whose night is done, or found nothing to do.
      first_on: The oldest origin that any night was begun for; None without.
    """

    done_on: date | None
    first_on: date | None


def recorded_nights(connection: sa.Connection) -> RecordedNights:
    """Reads the span of origins that have had a nightly run."""
    ended_well = runs.c.state.in_(("done", "skipped"))
    done_on = sa.func.max(runs.c.origin_on).filter(ended_well)
    statement = sa.select(done_on, sa.func.min(runs.c.origin_on))
    row = connection.execute(statement.where(runs.c.step == "nightly")).one()
    return RecordedNights(*row)


def newest_done(connection: sa.Connection) -> dict[str, Any] | None:
    """The newest nightly run that is done."""
    statement = (
        sa.select(runs)
        .where(runs.c.step == "nightly", runs.c.state == "done")
        .order_by(runs.c.run_id.desc())
        .limit(1)
    )
    row = connection.execute(statement).mappings().first()
    return None if row is None else dict(row)
