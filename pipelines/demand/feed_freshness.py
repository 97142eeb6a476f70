"""Depots whose orders of the origin's day are missing."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipelines.database.engine import snapshot
from pipelines.ingest.inbox import DONE
from pipelines.store import feed_freshness, nightly_runs, runs

MAX_NAMES_SHOWN = 5
RERUN_WINDOW = timedelta(hours=24)


@dataclass(frozen=True)
class Lateness:
    """Depots without demand on their last open day up to a day.

    Args:
      day_on: The day.
      expected: Number of depots that were open and reported in the two weeks before.
      by_city: Number of missing depots per city.
    """

    day_on: date
    expected: int
    by_city: dict[str, int]

    @property
    def n_late(self) -> int:
        """Number of missing depots."""
        return sum(self.by_city.values())

    @property
    def is_late(self) -> bool:
        """Whether any depot is missing."""
        return self.n_late > 0

    def metrics(self) -> dict[str, Any]:
        """Returns the metrics for the ledger; a forecast is marked by its run."""
        if not self.is_late:
            return {}
        return {"late_depots": self.n_late, "late_cities": dict(self.by_city)}

    def sentence(self) -> str:
        """Returns a sentence on which depots are missing, and what to do."""
        cities = [f"{city} ({number})" for city, number in self.by_city.items()]
        more = (
            f" and {len(cities) - MAX_NAMES_SHOWN} more"
            if len(cities) > MAX_NAMES_SHOWN
            else ""
        )
        return (
            f"The orders of {self.day_on} have not come from {self.n_late} of "
            f"{self.expected} depots: {', '.join(cities[:MAX_NAMES_SHOWN])}{more}. The forecast "
            "was made from what there is; put the file into the inbox, and run 'harbor "
            "nightly' again if no scheduler does."
        )


def read_lateness(engine: sa.Engine, origin: date) -> Lateness:
    """Reads which depots are late on the origin's day; see `schema.feed_freshness`.

    Args:
      engine: Database the pipelines own.
      origin: The day.
    """
    with engine.connect() as connection:
        cities = feed_freshness.by_city(connection, origin)
    return Lateness(
        origin,
        expected=sum(city.expected for city in cities),
        by_city={city.city: city.late for city in cities if city.late},
    )


def late_origin_with_new_files(
    engine: sa.Engine, inbox: Path, now: datetime
) -> date | None:
    """Returns the origin of the newest night if its feed was late and files came since.

    None once `RERUN_WINDOW` is over, after which the forecast is no longer live.

    Args:
      engine: Database the pipelines own.
      inbox: Folder of incoming files.
      now: Time with a zone.
    """
    with snapshot(engine) as connection:
        done = nightly_runs.newest_done(connection)
        last = runs.last_night(connection)
        if done is None or last is None or not done["metrics"].get("late_depots"):
            return None
        origin: date = done["origin_on"]
        if now - done["started_at"] > RERUN_WINDOW:
            return None
        if runs.night_without_news(connection, origin) is None:
            return origin
    # A night that loaded nothing from the newer files need not read them again.
    return origin if _has_newer_file(inbox, last["started_at"]) else None


def _has_newer_file(folder: Path, since: datetime) -> bool:
    done = folder / DONE
    files = (path for path in folder.rglob("*") if path.is_file())
    return any(
        path.stat().st_mtime > since.timestamp()
        for path in files
        if not path.is_relative_to(done)
    )
