"""What people should be told, as a rule over what the ledger says."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Literal

Kind = Literal["failure", "recovery", "silence", "test"]


@dataclass(frozen=True)
class Notice:
    """One thing told once.

    Args:
      key: What it is about; the same trouble has the same key.
      kind: What sort of news it is.
      message: The sentence that is sent.
    """

    key: str
    kind: Kind
    message: str


@dataclass(frozen=True)
class NightOver:
    """A nightly run that has ended.

    Args:
      run_id: Its number in the ledger.
      origin_on: The last day it could see; None where it failed before it knew.
      ended_at: When.
      error: What went wrong, in one sentence; empty where nothing did.
    """

    run_id: int
    origin_on: date | None
    ended_at: datetime
    error: str = ""


@dataclass(frozen=True)
class Known:
    """What the ledger says of the nights, and what was told of them last.

    Args:
      done: The newest night that was done; None without one.
      failed: The newest that failed; None without one.
      first_at: When the first of all began; None without one.
      told: The kind of the newest notice; None without one.
    """

    done: NightOver | None
    failed: NightOver | None
    first_at: datetime | None
    told: str | None


def decide(known: Known, now: datetime, silence: timedelta) -> list[Notice]:
    """What is to be told now; what was told before is among it, by the same key.

    Args:
      known: From the ledger.
      now: With a time zone.
      silence: So long without a night that was done is told of.
    """
    troubles = list(_troubles(known, now, silence))
    if troubles or known.done is None or known.told not in ("failure", "silence"):
        return troubles
    return [_recovery(known.done)]


def _troubles(known: Known, now: datetime, silence: timedelta) -> Iterator[Notice]:
    if known.failed is not None and not _is_made_good(known.failed, known.done):
        yield _failure(known.failed, known.done)
    since = known.first_at if known.done is None else known.done.ended_at
    if since is not None and now - since > silence:
        yield _silence(known.done, now - since)


def _is_made_good(failed: NightOver, done: NightOver | None) -> bool:
    """Whether a later night was done, of the same day or a newer one."""
    return done is not None and done.run_id > failed.run_id and _covers(done, failed)


def _covers(done: NightOver, failed: NightOver) -> bool:
    """Whether a night that was done is of the failed one's day, or of a newer one."""
    if failed.origin_on is None or done.origin_on is None:
        return True
    return done.origin_on >= failed.origin_on


def _failure(failed: NightOver, done: NightOver | None) -> Notice:
    """A night's failure; other words, or the same after the day was done, are news."""
    of = failed.origin_on or f"run {failed.run_id}"
    after = done.run_id if done is not None and _covers(done, failed) else 0
    words = sha256(failed.error.encode()).hexdigest()[:8]
    told = (
        f"The night of {of} failed (run {failed.run_id}, {_clock(failed.ended_at)}): "
    )
    return Notice(f"failure:{of}:{after}:{words}", "failure", told + failed.error)


def _silence(done: NightOver | None, silent: timedelta) -> Notice:
    hours = silent.total_seconds() / 3600
    last = "none has ever been done"
    if done is not None:
        last = f"the last was that of {done.origin_on}, run {done.run_id}"
    told = (
        f"No night has been done for {hours:.0f} hours; {last}. Check whether a "
        "scheduler is running, and what it reports: 'harbor schedule show', 'harbor "
        "doctor'."
    )
    return Notice(f"silence:{done.run_id if done else 0}", "silence", told)


def _recovery(done: NightOver) -> Notice:
    told = (
        f"Nights work again: that of {done.origin_on} ended {_clock(done.ended_at)} "
        f"(run {done.run_id})."
    )
    return Notice(f"recovery:{done.run_id}", "recovery", told)


def _clock(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
