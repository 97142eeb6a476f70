"""Notices: what was told, to which channel, and what still waits."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from pipelines.schema import notices, runs


def newest_over(connection: sa.Connection, state: str) -> dict[str, Any] | None:
    """The newest nightly run that ended so: `done` or `failed`."""
    statement = (
        sa.select(runs)
        .where(runs.c.step == "nightly", runs.c.state == state)
        .order_by(runs.c.run_id.desc())
        .limit(1)
    )
    found = connection.execute(statement).mappings().first()
    return None if found is None else dict(found)


def kind_told_last(connection: sa.Connection) -> str | None:
    """The kind of the newest notice."""
    newest = sa.select(notices.c.kind).order_by(notices.c.notice_id.desc()).limit(1)
    return connection.scalar(newest)


def add(
    connection: sa.Connection, now: datetime, channels: Sequence[str], **told: str
) -> bool:
    """Writes down a notice for each channel that has not got it; whether any had not.

    Args:
      connection: Inside a transaction.
      now: From when on it may be sent.
      channels: Their names.
      told: key, kind and message.
    """
    # Looked for first: an insert that conflicts would use up a number each time.
    has = sa.select(notices.c.channel).where(notices.c.key == told["key"])
    known = set(connection.scalars(has))
    rows = [
        {"channel": channel, "next_attempt_at": now, **told}
        for channel in channels
        if channel not in known
    ]
    if rows:
        connection.execute(insert(notices).on_conflict_do_nothing(), rows)
    return bool(rows)


def hold_due(
    connection: sa.Connection, now: datetime, channels: Sequence[str]
) -> dict[str, Any] | None:
    """The oldest notice to be sent now, held until the transaction ends.

    One that another process is sending is passed over.
    """
    statement = (
        sa.select(notices)
        .where(notices.c.next_attempt_at <= now, notices.c.channel.in_(channels))
        .order_by(notices.c.notice_id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    found = connection.execute(statement).mappings().first()
    return None if found is None else dict(found)


def set_outcome(connection: sa.Connection, notice_id: int, **outcome: Any) -> None:
    """Writes down how an attempt ended: attempts, next_attempt_at, sent_at, error."""
    statement = sa.update(notices).where(notices.c.notice_id == notice_id)
    connection.execute(statement.values(**outcome))


def newest(connection: sa.Connection, limit: int) -> list[dict[str, Any]]:
    """The newest notices, newest first."""
    statement = sa.select(notices).order_by(notices.c.notice_id.desc()).limit(limit)
    return [dict(row) for row in connection.execute(statement).mappings()]
