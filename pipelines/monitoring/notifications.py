"""Notifications by Apprise: a night failed, did not publish, or succeeds again; the morning message.

Everything else is an alert of Prometheus, which Alertmanager sends.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import sqlalchemy as sa
import structlog

from forecaster.errors import ConfigError
from pipelines.settings import Settings
from pipelines.store.monitoring import (
    EndedNight,
    MorningMessage,
    newest_message,
    newest_night,
)

log = structlog.get_logger()

RETRY_AFTER = timedelta(minutes=5)
"""Time until the next attempt after no channel accepted a notification."""
MESSAGE_IS_NEWS = timedelta(hours=3)
"""Maximum age of a morning message when it is sent."""
PUBLIC_CHARACTERS = 3
"""Parts of an address up to this length are not masked: they are too short for secrets."""


@dataclass(frozen=True)
class Notification:
    """A notification: its title and its message.

    `key` identifies its cause; a notification with the same key is sent only once.
    """

    key: tuple[object, ...]
    title: str
    message: str
    is_failure: bool = False


class Channel:
    """One address to which Apprise sends, such as a Slack webhook or a mail server."""

    def __init__(self, url: str) -> None:
        """Reads the address.

        Raises:
          ValueError: Apprise does not support the address.
        """
        # Imported here, because most commands send nothing and the import is slow.
        import apprise

        # Apprise's warnings contain full addresses; the reasons are logged by `Notifier`, masked.
        logging.getLogger("apprise").propagate = False
        self._url, self._apprise = url, apprise.Apprise()
        if not self._apprise.add(url):
            raise ValueError("no address of Apprise")
        self.name = str(next(iter(self._apprise)).service_name)

    def send(self, notification: Notification) -> str | None:
        """Sends a notification; returns why it was not accepted, or None."""
        from apprise import LogCapture, NotifyType

        kind = NotifyType.FAILURE if notification.is_failure else NotifyType.SUCCESS
        with LogCapture(level=logging.WARNING, fmt="%(message)s") as warnings:
            is_sent = self._apprise.notify(
                notification.message, title=notification.title, notify_type=kind
            )
            reason = warnings.getvalue()
        return None if is_sent else self._without_secrets(reason) or "no reason given"

    def _without_secrets(self, text: str) -> str:
        """Masks every part of the address in a text; any of them may be a secret."""
        address = self._url.partition("://")[2]
        parts = set(
            re.split(r"[/:@?&=]", address) + re.split(r"[/:@?&=]", unquote(address))
        )
        for part in sorted(parts, key=len, reverse=True):
            if len(part) > PUBLIC_CHARACTERS:
                text = text.replace(part, "***")
        return " ".join(text.split()).removesuffix(".")


def channels_of(settings: Settings) -> list[Channel]:
    """The channels that HARBOR_NOTIFY_URLS names; empty if it is not set.

    Raises:
      ConfigError: Apprise does not support an address.
    """
    urls = settings.notify_urls
    channels = []
    for n, url in enumerate(urls.get_secret_value().split() if urls else (), start=1):
        try:
            channels.append(Channel(url))
        except ValueError:
            raise ConfigError(
                f"Address {n} of HARBOR_NOTIFY_URLS is not one that Apprise can send to. "
                "Write it as https://appriseit.com/services/ shows for its service."
            ) from None
    return channels


def is_due(last_at: datetime | None, interval: timedelta, now: datetime) -> bool:
    """Whether an interval has passed; also if the clock was ahead at the last time."""
    return last_at is None or not timedelta(0) <= now - last_at < interval


@dataclass
class Notifier:
    """Sends each notification once, and counts those that a channel did not accept.

    The keys sent are kept in memory only: after a restart, the watch sends a failure of the newest
    night again, and a morning message up to `MESSAGE_IS_NEWS` old.
    """

    channels: Sequence[Channel]
    failed: int = 0
    _sent: set[tuple[object, ...]] = field(default_factory=set)
    _last_was_failure: bool = False
    _refused_at: datetime | None = None

    def check(self, engine: sa.Engine, now: datetime) -> None:
        """Sends what is due according to the ledger of runs, read with a read-only engine."""
        if not self.channels or not is_due(self._refused_at, RETRY_AFTER, now):
            return
        with engine.connect() as connection:
            done = newest_night(connection, "done")
            failed = newest_night(connection, "failed")
            message = newest_message(connection)
        about_nights = due_notification(done, failed, self._last_was_failure)
        for notification in (about_nights, morning_notification(message, now)):
            if notification is None or notification.key in self._sent:
                continue
            if not self._send(notification):
                self._refused_at = now
                return
            self._sent.add(notification.key)
            if notification is about_nights:
                self._last_was_failure = notification.is_failure
        self._refused_at = None

    def _send(self, notification: Notification) -> bool:
        """Sends to all channels once; returns whether any accepted it."""
        log.info("notification", message=notification.message)
        reasons = [channel.send(notification) for channel in self.channels]
        for channel, reason in zip(self.channels, reasons, strict=True):
            if reason is not None:
                self.failed += 1
                log.warning("notification_failed", channel=channel.name, reason=reason)
        return None in reasons


def due_notification(
    done: EndedNight | None, failed: EndedNight | None, last_was_failure: bool
) -> Notification | None:
    """Decides which notification the newest nights require, even if it was already sent; no I/O."""
    if failed is not None:
        done_run = done.run_id if done and _covers(done, failed) else 0
        if done_run < failed.run_id:
            return _failure(failed, done_run)
    if done is not None and done.error:
        return _unpublished(done)
    if done is not None and last_was_failure:
        return _recovery(done)
    return None


def _covers(done: EndedNight, failed: EndedNight) -> bool:
    """Whether the done night's origin is the failed night's or later; true if either is unknown."""
    if failed.origin_on is None or done.origin_on is None:
        return True
    return done.origin_on >= failed.origin_on


def _failure(failed: EndedNight, since: int) -> Notification:
    """The failure notification; its key changes with the reason and with each done run."""
    night = failed.origin_on or f"run {failed.run_id}"
    return Notification(
        ("failure", night, since, failed.error),
        "Harbor Fleet: a nightly run failed",
        f"The night of {night} failed (run {failed.run_id}, {_clock(failed.ended_at)}): "
        f"{failed.error}",
        is_failure=True,
    )


def _unpublished(done: EndedNight) -> Notification:
    return Notification(
        ("unpublished", done.origin_on, done.error),
        "Harbor Fleet: other systems were not given the forecast",
        f"The night of {done.origin_on} is done (run {done.run_id}, "
        f"{_clock(done.ended_at)}), but: {done.error}",
        is_failure=True,
    )


def _recovery(done: EndedNight) -> Notification:
    return Notification(
        ("recovery", done.run_id),
        "Harbor Fleet: nightly runs succeed again",
        f"Nightly runs succeed again: {done.origin_on} ended {_clock(done.ended_at)} "
        f"(run {done.run_id}).",
    )


def morning_notification(
    message: MorningMessage | None, now: datetime
) -> Notification | None:
    """The morning message, with a key per origin; None if it is empty or too old."""
    if message is None or not message.lines:
        return None
    if now - message.written_at > MESSAGE_IS_NEWS:
        return None
    return Notification(
        ("message", message.origin_on),
        "Harbor Fleet: what to look at today",
        "\n".join(message.lines),
    )


def _clock(timestamp: datetime) -> str:
    return f"{timestamp.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
