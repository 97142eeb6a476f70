"""Failures and recoveries are sent once; no reason shows a secret."""

import json
from datetime import UTC, date, datetime, timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from forecaster.errors import ConfigError
from pipelines import schema
from pipelines.monitoring.notifications import (
    RETRY_AFTER,
    Notification,
    Notifier,
    channels_of,
    due_notification,
)
from pipelines.settings import Settings
from pipelines.store.monitoring import EndedNight
from tests.pipelines.in_process import harbor

DAY = date(2026, 6, 9)
NOW = datetime(2026, 6, 10, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)


def night(run_id, origin=DAY, error=""):
    return EndedNight(run_id, origin, NOW - 4 * HOUR, error)


@pytest.mark.parametrize(
    ("done", "failed", "last_was_failure", "expected"),
    [
        pytest.param(night(3), None, False, None, id="all is well"),
        pytest.param(None, None, False, None, id="no night ever began"),
        pytest.param(
            night(3, DAY - timedelta(days=1)), night(4), False,
            ("failure", DAY, 0, ""), id="the last failed",
        ),
        pytest.param(night(5), night(4), True, ("recovery", 5), id="it was repeated"),
        pytest.param(night(5), night(4), False, None, id="nobody knew that it failed"),
        pytest.param(
            night(5, DAY - timedelta(days=9)), night(4), True,
            ("failure", DAY, 0, ""), id="an older night does not make it good",
        ),
        pytest.param(
            night(5), night(4, origin=None), True, ("recovery", 5),
            id="it failed before it knew its day",
        ),
        pytest.param(
            night(5, error="No room."), night(4), True,
            ("unpublished", DAY, "No room."), id="it was done, but not published",
        ),
    ],
)  # fmt: skip
def test_what_is_due(done, failed, last_was_failure, expected):
    due = due_notification(done, failed, last_was_failure)
    assert (due and due.key) == expected


@pytest.fixture
def notify(listener):
    """Settings with one webhook, whose path is a secret."""
    return Settings(notify_urls=listener.url.replace("http://", "json://"))


def add_night(engine, state, origin=DAY, error=None):
    values = {
        "step": "nightly", "origin_on": origin, "state": state,
        "started_at": NOW - 4 * HOUR, "finished_at": NOW - 4 * HOUR, "error": error,
    }  # fmt: skip
    with engine.begin() as connection:
        connection.execute(sa.insert(schema.runs), values)


def test_each_failure_and_each_recovery_is_sent_once(clean_engine, listener, notify):
    notifier = Notifier(channels_of(notify))

    def messages_after(state, error=None, origin=DAY):
        add_night(clean_engine, state, origin, error)
        before = len(listener.received)
        for minute in range(3):
            notifier.check(clean_engine, NOW + timedelta(minutes=minute))
        return [sent.body["message"] for sent in listener.received[before:]]

    (first,) = messages_after("failed", "The disk is full. Make room.")
    assert first == (
        "The night of 2026-06-09 failed (run 1, 2026-06-10 05:00 UTC): The disk is full. "
        "Make room."
    )
    assert messages_after("failed", "The disk is full. Make room.") == []
    # An older night that is caught up with meanwhile changes nothing.
    assert messages_after("done", origin=DAY - timedelta(days=1)) == []
    assert len(messages_after("failed", "There is no model.")) == 1
    (works,) = messages_after("done")
    assert works.startswith("Nightly runs succeed again: 2026-06-09")
    assert messages_after("done") == []
    assert len(messages_after("failed", "The disk is full. Make room.")) == 1
    assert [sent.body["type"] for sent in listener.received] == [
        "failure", "failure", "success", "failure",
    ]  # fmt: skip


def test_an_old_day_s_night_repeated_by_hand_hides_no_newer_one(
    clean_engine, listener, notify
):
    notifier = Notifier(channels_of(notify))
    add_night(clean_engine, "failed", error="The disk is full.")
    notifier.check(clean_engine, NOW)
    add_night(clean_engine, "done")
    add_night(clean_engine, "done", DAY - timedelta(days=70))
    notifier.check(clean_engine, NOW)
    assert [sent.body["type"] for sent in listener.received] == ["failure", "success"]
    # A watch that begins now tells of no failure that was made good.
    Notifier(channels_of(notify)).check(clean_engine, NOW)
    assert len(listener.received) == 2


def test_a_clock_that_was_ahead_does_not_put_the_next_attempt_off(
    clean_engine, listener, notify
):
    notifier = Notifier(channels_of(notify))
    add_night(clean_engine, "failed", error="The disk is full.")
    listener.statuses = [500]
    notifier.check(clean_engine, NOW + timedelta(days=1))
    notifier.check(clean_engine, NOW)
    assert len(listener.received) == 2


def test_what_no_channel_accepts_is_sent_again(clean_engine, listener, notify):
    notifier = Notifier(channels_of(notify))
    listener.statuses.append(500)
    add_night(clean_engine, "failed", error="Oh.")
    notifier.check(clean_engine, NOW)
    notifier.check(clean_engine, NOW + RETRY_AFTER / 2)
    assert (len(listener.received), notifier.failed) == (1, 1)
    notifier.check(clean_engine, NOW + RETRY_AFTER)
    notifier.check(clean_engine, NOW + 3 * RETRY_AFTER)
    assert (len(listener.received), notifier.failed) == (2, 1)


def test_what_one_channel_accepts_is_not_sent_again(clean_engine, listener, notify):
    url = notify.notify_urls.get_secret_value()
    two = Settings(notify_urls=f"{url} {url.replace('s3cret', 'other')}")
    notifier = Notifier(channels_of(two))
    listener.statuses.append(500)
    add_night(clean_engine, "failed", error="Oh.")
    for hour in range(3):
        notifier.check(clean_engine, NOW + hour * HOUR)
    assert (len(listener.received), notifier.failed) == (2, 1)


@pytest.mark.parametrize(
    "url", ["json://127.0.0.1:1/hooks/s3cret", "json://me:s3%63ret@127.0.0.1:1"]
)
def test_no_reason_shows_the_address(url):
    (channel,) = channels_of(Settings(notify_urls=url))
    reason = channel.send(Notification((), "A title", "A message."))
    assert reason.startswith("A Connection error occurred")
    assert "s3cret" not in reason + repr(Settings(notify_urls=url))


def test_an_address_of_no_service_is_one_sentence_without_it():
    both = Settings(notify_urls="json://127.0.0.1:1 slack://s3cret")
    with pytest.raises(ConfigError, match="Address 2 of HARBOR_NOTIFY_URLS") as raised:
        channels_of(both)
    assert "s3cret" not in str(raised.value)


def test_the_command_sends_a_test(listener, notify):
    send = partial(harbor, "notifications", "test")
    url = {"HARBOR_NOTIFY_URLS": notify.notify_urls.get_secret_value()}
    answer = json.loads(send("--json", **url).stdout)
    assert answer == [{"channel": "JSON", "error": None}]
    assert listener.received[0].body["title"] == "Harbor Fleet: a test"
    listener.statuses.append(404)
    refused = send(**url)
    assert refused.returncode == 1
    assert "JSON: failed: Failed to send JSON" in refused.stderr
    assert "so there is no channel to test" in send().stderr


def add_message(engine, lines, written_at=NOW - HOUR, origin=DAY):
    values = {
        "step": "message", "origin_on": origin, "state": "done", "started_at": written_at,
        "finished_at": written_at, "metrics": {"lines": lines},
    }  # fmt: skip
    with engine.begin() as connection:
        connection.execute(sa.insert(schema.runs), values)


def test_the_morning_message_is_sent_once_beside_what_the_nights_tell(
    clean_engine, listener, notify
):
    notifier = Notifier(channels_of(notify))

    def messages_after(hours=0):
        before = len(listener.received)
        notifier.check(clean_engine, NOW + hours * HOUR)
        return [sent.body["message"] for sent in listener.received[before:]]

    add_night(clean_engine, "failed", error="The disk is full.")
    assert len(messages_after()) == 1
    # The night is repeated: that nights work again, and what to look at.
    add_night(clean_engine, "done")
    add_message(clean_engine, ["London: 3 vans short.", "Ghent: 1 van short."])
    listener.statuses = [503]
    assert len(messages_after()) == 1
    works, message = messages_after(hours=1)[-2:]
    assert works.startswith("Nightly runs succeed again")
    assert message == "London: 3 vans short.\nGhent: 1 van short."
    # A repetition of the same morning, one with nothing to tell, and one that is no news.
    add_message(clean_engine, ["London: 2 vans short."])
    assert messages_after(hours=1) == []
    add_message(clean_engine, [], origin=DAY + timedelta(days=1))
    assert messages_after(hours=1) == []
    add_message(clean_engine, ["London: 1 van short."], NOW, DAY + timedelta(days=2))
    assert messages_after(hours=4) == []
    assert len(messages_after(hours=3)) == 1
