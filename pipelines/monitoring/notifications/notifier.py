"""Who watches hands over what it sees; people are told what is worth telling."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
import structlog

from forecaster.errors import HarborError
from pipelines.monitoring.notifications import outbox
from pipelines.monitoring.notifications.channels import Send
from pipelines.monitoring.notifications.rules import Notice

log = structlog.get_logger()

AWAY_AFTER = timedelta(minutes=15)
"""Longer than a database restarts or is brought up to date."""


@dataclass
class Teller:
    """Tells of nights by the ledger, and of a database that is away by itself.

    That the database is away cannot be written down there, so it is remembered here: who
    starts the watch anew meanwhile is told once more.

    Args:
      channels: The ways out, by their names.
      silence: So long without a night that was done is told of.
    """

    channels: Mapping[str, Send]
    silence: timedelta
    _away_since: datetime | None = None
    # Of each channel that has not taken the news: how often it was tried, when again.
    _waiting: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def of_nights(self, engine: sa.Engine, now: datetime) -> None:
        """What the ledger says that people should know; the database is there."""
        outbox.tell(engine, self.channels, now, self.silence)

    def of_database(self, trouble: str | None, now: datetime) -> None:
        """That it has been away for a while, or is back.

        Args:
          trouble: What it is, in one sentence; None where it answers.
          now: With a time zone.
        """
        if trouble is None:
            self._is_back(now)
            return
        if self._away_since is None:
            self._away_since = now
            self._waiting = dict.fromkeys(self.channels, (0, now + AWAY_AFTER))
        since = f"{self._away_since.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        notice = Notice(
            f"failure:database {since}", "failure", f"Since {since}: {trouble}"
        )
        for name, (attempts, due) in list(self._waiting.items()):
            if now >= due and self._is_sent(name, notice):
                del self._waiting[name]
                self._told.add(name)
            elif now >= due:
                pause = outbox.pause_after(attempts + 1)
                again = now + (pause or outbox.LONGEST_PAUSE)
                self._waiting[name] = (attempts + 1, again)

    def _is_back(self, now: datetime) -> None:
        for name in self._told:
            back = f"The database answers again ({now.astimezone(UTC):%Y-%m-%d %H:%M} UTC)."
            self._is_sent(name, Notice("recovery:database", "recovery", back))
        self._away_since = None
        self._waiting, self._told = {}, set()

    def _is_sent(self, name: str, notice: Notice) -> bool:
        try:
            self.channels[name](notice)
        except HarborError as error:
            log.warning("notice_waits", key=notice.key, reason=str(error))
            return False
        log.info("notice", key=notice.key, says=notice.message)
        return True
