"""Each notice is sent once on each channel, and again where it was not taken."""

import json
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta

import pytest
import sqlalchemy as sa
import typer

from forecaster.errors import ConfigError
from pipelines import schema
from pipelines.cli import notices as command
from pipelines.cli.workplace import Workplace
from pipelines.monitoring.notifications import outbox
from pipelines.monitoring.notifications.channels import channels_of
from pipelines.monitoring.notifications.notifier import Teller
from pipelines.settings import Settings

DAY = date(2026, 6, 9)
NOW = datetime(2026, 6, 10, 9, tzinfo=UTC)
SILENCE = timedelta(hours=26)
HOUR = timedelta(hours=1)


def test_a_notice_waits_longer_each_time_and_is_given_up():
    pauses = [outbox.pause_after(n) for n in range(1, outbox.MAX_ATTEMPTS + 1)]
    minutes = [pause.total_seconds() / 60 for pause in pauses[:-1]]
    assert minutes == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert pauses[-1] is None


def add_night(engine, state, origin=DAY, ended=NOW - 4 * HOUR, error=None):
    with engine.begin() as connection:
        values = {
            "step": "nightly", "origin_on": origin, "state": state, "started_at": ended,
            "finished_at": ended, "error": error,
        }  # fmt: skip
        connection.execute(sa.insert(schema.runs), values)


def kept(engine):
    columns = schema.notices.c
    with engine.connect() as connection:
        asked = sa.select(
            columns.key, columns.channel, columns.attempts, columns.sent_at
        )
        found = connection.execute(asked.order_by(columns.notice_id))
        return [tuple(row) for row in found]


@pytest.mark.db
def test_each_notice_is_sent_once_on_each_channel(
    clean_engine, web, post, mail, letter
):
    both = {**channels_of(post), **channels_of(letter)}
    add_night(clean_engine, "failed", error="The disk is full.")
    for minute in range(3):
        outbox.tell(clean_engine, both, NOW + timedelta(minutes=minute), SILENCE)
    assert len(web.posted) == len(mail.mail) == 1
    add_night(clean_engine, "done", ended=NOW)
    for minute in range(3, 6):
        outbox.tell(clean_engine, both, NOW + timedelta(minutes=minute), SILENCE)
    assert [told["kind"] for _, told in web.posted] == ["failure", "recovery"]
    assert len(mail.mail) == 2
    # Then nobody hears from it any more.
    late = NOW + 27 * HOUR
    for _ in range(3):
        outbox.tell(clean_engine, both, late, SILENCE)
    assert [told["kind"] for _, told in web.posted][2:] == ["silence"]
    assert {
        (attempts, sent is not None) for _, _, attempts, sent in kept(clean_engine)
    } == {(1, True)}


@pytest.mark.db
def test_a_night_that_fails_twice_of_different_things_is_told_twice(
    clean_engine, web, post
):
    ways = channels_of(post)
    for error in ("The disk is full.", "The disk is full.", "There is no model."):
        add_night(clean_engine, "failed", error=error)
        outbox.tell(clean_engine, ways, NOW, SILENCE)
    told = [told["text"].split("): ")[1] for _, told in web.posted]
    assert told == ["The disk is full.", "There is no model."]


@pytest.mark.db
def test_what_is_not_taken_is_tried_again_and_keeps_nothing_else_waiting(
    clean_engine, web, post, mail, letter
):
    both = {**channels_of(post), **channels_of(letter)}
    web.answers += [500, 503]
    add_night(clean_engine, "failed", error="Oh.")
    outbox.tell(clean_engine, both, NOW, SILENCE)
    assert (len(web.posted), len(mail.mail)) == (1, 1)
    outbox.tell(clean_engine, both, NOW + timedelta(seconds=29), SILENCE)
    assert len(web.posted) == 1
    outbox.tell(clean_engine, both, NOW + timedelta(seconds=30), SILENCE)
    outbox.tell(clean_engine, both, NOW + timedelta(seconds=90), SILENCE)
    outbox.tell(clean_engine, both, NOW + timedelta(seconds=300), SILENCE)
    assert (len(web.posted), len(mail.mail)) == (3, 1)
    moment = NOW + timedelta(seconds=90)
    key, *sent = kept(clean_engine)[0]
    assert key.startswith("failure:2026-06-09:")
    assert sent == ["webhook", 3, moment]


@pytest.mark.db
def test_a_notice_that_is_never_taken_is_given_up(clean_engine, web, post):
    ways = channels_of(post)
    web.answers += [500] * 50
    add_night(clean_engine, "failed", error="Oh.")
    for hour in range(20):
        outbox.tell(clean_engine, ways, NOW + hour * HOUR, SILENCE)
    assert len(web.posted) == outbox.MAX_ATTEMPTS
    with clean_engine.connect() as connection:
        (row,) = connection.execute(sa.select(schema.notices)).mappings()
    assert (row["next_attempt_at"], row["sent_at"]) == (None, None)
    assert row["error"] == "The webhook did not accept a notice: it answered 500."


@pytest.mark.db
def test_nothing_is_kept_where_no_channel_is_set(clean_engine):
    add_night(clean_engine, "failed", error="Oh.")
    outbox.tell(clean_engine, channels_of(Settings()), NOW, SILENCE)
    assert kept(clean_engine) == []


AWAY = "The database does not answer: Connection refused."


def test_a_database_that_is_away_is_told_of_once_and_so_is_its_return(web, post):
    teller = Teller(channels_of(post), SILENCE)
    web.answers.append(500)
    for minute in range(0, 60, 5):
        teller.of_database(AWAY, NOW + timedelta(minutes=minute))
    # A quarter of an hour after it went, and again as the first try was refused.
    assert [told["text"] for _, told in web.posted] == [
        f"Since 2026-06-10 09:00 UTC: {AWAY}"
    ] * 2
    for minute in (60, 65):
        teller.of_database(None, NOW + timedelta(minutes=minute))
    assert [told["text"] for _, told in web.posted[2:]] == [
        "The database answers again (2026-06-10 10:00 UTC)."
    ]


def test_a_database_that_restarts_is_not_told_of(web, post):
    teller = Teller(channels_of(post), SILENCE)
    for minute, trouble in ((0, AWAY), (14, AWAY), (15, None), (16, AWAY), (30, AWAY)):
        teller.of_database(trouble, NOW + timedelta(minutes=minute))
    assert web.posted == []


def test_the_command_sends_a_test(web, post, monkeypatch, capsys):
    monkeypatch.setattr(command.Settings, "load", lambda: post)
    command.send_test(as_json=True)
    assert json.loads(capsys.readouterr().out) == [
        {"channel": "webhook", "sent": True, "says": "It was accepted."}
    ]
    assert web.posted[0][1]["kind"] == "test"
    web.answers.append(500)
    with pytest.raises(typer.Exit):
        command.send_test()
    assert "it answered 500" in capsys.readouterr().err


def test_the_command_says_that_no_channel_is_set(monkeypatch):
    monkeypatch.setattr(command.Settings, "load", Settings)
    with pytest.raises(ConfigError, match=r"so no notices are sent\. Set one"):
        command.send_test()


@pytest.mark.db
def test_the_command_lists_what_was_told(clean_engine, web, post, monkeypatch, capsys):
    @contextmanager
    def here():
        yield Workplace(Settings(), clean_engine)

    monkeypatch.setattr(command, "workplace", here)
    command.list_notices(as_json=False)
    assert "There are no notices yet" in capsys.readouterr().err
    web.answers.append(500)
    add_night(clean_engine, "failed", error="Oh.")
    outbox.tell(clean_engine, channels_of(post), NOW, SILENCE)
    command.list_notices(as_json=False)
    assert "waits: The webhook did not accept" in capsys.readouterr().out
