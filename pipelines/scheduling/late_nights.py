"""A night that lacked late orders, and is run again once their files have come."""

from datetime import date, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

from pipelines.arrivals import files_since
from pipelines.database.engine import snapshot
from pipelines.ingest.sources.files import is_loadable
from pipelines.settings.ingest import DONE
from pipelines.store import runs

RERUN_WINDOW = timedelta(hours=24)
"""Time after a night's start in which it is run again."""


def late_origin_with_new_files(
    engine: sa.Engine, inbox: Path, now: datetime
) -> date | None:
    """Returns the origin of the newest done night if depots were late and new data has arrived.

    None after `RERUN_WINDOW`, when the forecast would no longer be live.
    """
    with snapshot(engine) as connection:
        done = runs.newest_night(connection, ["done"], of_newest_origin=True)
        last_night = runs.newest_night(connection, runs.STATES)
        if done is None or last_night is None or not done["metrics"].get("late_depots"):
            return None
        origin: date = done["origin_on"]
        if now - done["started_at"] > RERUN_WINDOW:
            return None
        seen = runs.night_without_new_data(connection, origin, even_unpublished=True)
        if seen is None:
            return origin
    # The last night has seen the files that are older than it, so they need no rerun.
    newer = files_since(inbox, last_night["started_at"])
    inside = (path.relative_to(inbox) for path in newer)
    # A file that no night loads, such as an upload in progress, is no reason for one.
    waiting = (
        path for path in inside if path.parts[0] != DONE and is_loadable(str(path))
    )
    return origin if any(waiting) else None
