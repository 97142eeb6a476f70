"""Each notice once for each channel; one that cannot be sent is tried again for hours."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import sqlalchemy as sa
import structlog

from forecaster.errors import HarborError
from pipelines.monitoring.notifications.channels import Send
from pipelines.monitoring.notifications.rules import (
    Kind,
    Known,
    NightOver,
    Notice,
    decide,
)
from pipelines.store import notices as store
from pipelines.store import service_levels

log = structlog.get_logger()

FIRST_PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(hours=1)
MAX_ATTEMPTS = 12
"""Over some four hours; then it is given up, and the next one is not kept waiting."""
MOST_AT_ONCE = 4
"""Sent at one look, so that a server that hangs does not keep the watch from looking."""


def tell(
    engine: sa.Engine, channels: Mapping[str, Send], now: datetime, silence: timedelta
) -> None:
    """Decides what is to be told, writes it down, and sends what is due.

    Args:
      engine: One that may write.
      channels: The ways out, by their names; nothing is written down without any.
      now: With a time zone.
      silence: So long without a night that was done is told of.
    """
    if not channels:
        return
    with engine.begin() as connection:
        for notice in decide(_known(connection), now, silence):
            told = {"kind": notice.kind, "message": notice.message}
            if store.add(connection, now, list(channels), key=notice.key, **told):
                log.info("notice", key=notice.key, says=notice.message)
    for _ in range(MOST_AT_ONCE):
        if not _send_one(engine, channels, now):
            return


def pause_after(attempts: int) -> timedelta | None:
    """How long to wait after so many attempts; None: it is given up."""
    if attempts >= MAX_ATTEMPTS:
        return None
    return min(FIRST_PAUSE * 2 ** (attempts - 1), LONGEST_PAUSE)


def _known(connection: sa.Connection) -> Known:
    return Known(
        done=_over(connection, "done"),
        failed=_over(connection, "failed"),
        first_at=service_levels.first_night_at(connection),
        told=store.kind_told_last(connection),
    )


def _over(connection: sa.Connection, state: str) -> NightOver | None:
    run = store.newest_over(connection, state)
    if run is None:
        return None
    return NightOver(
        run["run_id"], run["origin_on"], run["finished_at"], run["error"] or ""
    )


def _send_one(engine: sa.Engine, channels: Mapping[str, Send], now: datetime) -> bool:
    """Sends the oldest that is due; False where none is.

    Its row is held meanwhile, so that two watches do not both send it.
    """
    with engine.begin() as connection:
        row = store.hold_due(connection, now, list(channels))
        if row is None:
            return False
        kind: Kind = row["kind"]
        notice, attempts = Notice(row["key"], kind, row["message"]), row["attempts"] + 1
        try:
            channels[row["channel"]](notice)
        except HarborError as error:
            pause = pause_after(attempts)
            again = None if pause is None else now + pause
            outcome = {"next_attempt_at": again, "error": str(error)}
            log.warning("notice_waits", key=notice.key, reason=str(error), again=again)
        else:
            outcome = {"next_attempt_at": None, "sent_at": now, "error": None}
        store.set_outcome(connection, row["notice_id"], attempts=attempts, **outcome)
    return True
