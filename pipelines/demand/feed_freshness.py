"""Whether the feed of the origin's day has come, and from whom it has not."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipelines.database.engine import snapshot
from pipelines.ingest.inbox import DONE
from pipelines.store import feed_freshness, nightly_runs, runs

MOST_TOLD = 5
WAITED_FOR = timedelta(hours=24)


@dataclass(frozen=True)
class Lateness:
    """Depots without a count of the last day up to one on which they were open.

    Args:
      day_on: The day.
      expected: Depots that were open, and have reported in the fortnight before.
      by_city: How many of them are missing, for each city with any.
    """

    day_on: date
    expected: int
    by_city: dict[str, int]

    @property
    def n_late(self) -> int:
        """Depots missing."""
        return sum(self.by_city.values())

    @property
    def is_late(self) -> bool:
        """Whether any depot is missing."""
        return self.n_late > 0

    def metrics(self) -> dict[str, Any]:
        """For the ledger; a forecast is marked by the run that made it."""
        if not self.is_late:
            return {}
        return {"late_depots": self.n_late, "late_cities": dict(self.by_city)}

    def sentence(self) -> str:
        """Who is missing, and what to do."""
        told = [f"{city} ({number})" for city, number in self.by_city.items()]
        more = f" and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
        return (
            f"The orders of {self.day_on} have not come from {self.n_late} of "
            f"{self.expected} depots: {', '.join(told[:MOST_TOLD])}{more}. The forecast "
            "was made from what there is; put the file into the inbox, and run 'harbor "
            "nightly' again if no scheduler does."
        )


def look(engine: sa.Engine, origin: date) -> Lateness:
    """Which depots are late as of the origin's day; see `schema.feed_freshness`.

    Args:
      engine: Database the pipelines own.
      origin: The day.
    """
    with engine.connect() as connection:
        found = feed_freshness.by_city(connection, origin)
    return Lateness(
        origin,
        expected=sum(each.expected for each in found),
        by_city={each.city: each.late for each in found if each.late},
    )


def late_night_with_news(engine: sa.Engine, inbox: Path, now: datetime) -> date | None:
    """The origin of the newest night, if its feed was late and something came since.

    After the forecast has ceased to be live, it is left as it is.

    Args:
      engine: Database the pipelines own.
      inbox: Where files come in.
      now: With a time zone.
    """
    with snapshot(engine) as connection:
        done = nightly_runs.newest_done(connection)
        last = runs.last_night(connection)
        if done is None or last is None or not done["metrics"].get("late_depots"):
            return None
        origin: date = done["origin_on"]
        if now - done["started_at"] > WAITED_FOR:
            return None
        if runs.night_without_news(connection, origin) is None:
            return origin
    # A night that found nothing in the newer files need not look at them again.
    return origin if _has_newer_file(inbox, last["started_at"]) else None


def _has_newer_file(folder: Path, moment: datetime) -> bool:
    done = folder / DONE
    files = (path for path in folder.rglob("*") if path.is_file())
    return any(
        path.stat().st_mtime > moment.timestamp()
        for path in files
        if not path.is_relative_to(done)
    )
