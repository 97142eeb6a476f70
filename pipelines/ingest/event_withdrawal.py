"""Withdraws an event by hand: later forecasts do not see it."""

import sqlalchemy as sa

from forecaster.errors import NoDataError, NothingToDoError
from pipelines.runs.ledger import recorded
from pipelines.store import events, ingest, load_timestamps
from pipelines.store.events import Event


def withdraw_event(engine: sa.Engine, event_id: str, reason: str) -> Event:
    """Withdraws an event as a recorded run, and returns its withdrawn version.

    Raises:
      NoDataError: there is no such event.
      NothingToDoError: it was withdrawn before.
    """
    with recorded(engine, "withdraw") as run:
        with run.engine.begin() as connection:
            event = events.newest_locked(connection, event_id)
            if event is None:
                raise NoDataError(
                    f"There is no event '{event_id}'. See 'harbor events list' for their ids."
                )
            if event.withdrawn:
                raise NothingToDoError(
                    f"The event '{event_id}' was withdrawn before. Nothing was changed."
                )
            load_timestamps.block_new_runs(connection)
            now = ingest.now(connection)
            withdrawn = events.withdraw(connection, event, reason, now)
        run.metrics |= {"event_id": withdrawn.event_id}
    return withdrawn
