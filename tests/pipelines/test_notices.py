"""Notices: what is told, once, to a real web server and a real mail server."""

import base64
import json
import socketserver
import threading
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import sqlalchemy as sa
import typer

from forecaster.errors import ConfigError, NoticeError
from pipelines import schema
from pipelines.cli import notices as command
from pipelines.cli.workplace import Workplace
from pipelines.notices import sending
from pipelines.notices.channels import channels_of
from pipelines.notices.deciding import Known, NightOver, Notice, decide
from pipelines.notices.telling import Teller
from pipelines.settings import Settings

DAY = date(2026, 6, 9)
NOW = datetime(2026, 6, 10, 9, tzinfo=UTC)
SILENCE = timedelta(hours=26)
HOUR = timedelta(hours=1)
NOTICE = Notice("failure:x", "failure", "The night of x failed.")


def night(run_id, origin=DAY, hours_ago=4.0, error=""):
    return NightOver(run_id, origin, NOW - hours_ago * HOUR, error)


@pytest.mark.parametrize(
    ("done", "failed", "told", "expected"),
    [
        pytest.param(night(3), None, None, [], id="all is well"),
        pytest.param(None, None, None, [], id="no night ever began"),
        pytest.param(
            night(3, DAY - timedelta(days=1)), night(4), None, ["failure:2026-06-09"],
            id="the last failed",
        ),
        pytest.param(night(5), night(4), "failure", ["recovery:5"], id="it was repeated"),
        pytest.param(night(5), night(4), None, [], id="nobody knew that it failed"),
        pytest.param(night(5), night(4), "recovery", [], id="told of already"),
        pytest.param(
            night(5, DAY - timedelta(days=9)), night(4), "failure",
            ["failure:2026-06-09"], id="an older night does not make it good",
        ),
        pytest.param(
            night(3, hours_ago=27), None, None, ["silence:3"], id="none came since"
        ),
        pytest.param(night(3, hours_ago=25.9), None, None, [], id="not yet silence"),
        pytest.param(
            None, night(2, hours_ago=27), None,
            ["failure:2026-06-09", "silence:0"], id="none was ever done",
        ),
        pytest.param(
            night(5), night(4, origin=None), "silence", ["recovery:5"],
            id="it failed before it knew its day",
        ),
    ],
)  # fmt: skip
def test_what_is_told(done, failed, told, expected):
    first = None if done is failed is None else NOW - 27 * HOUR
    found = decide(Known(done, failed, first, told), NOW, SILENCE)
    assert [notice.key for notice in found] == expected
    assert all(notice.key.startswith(notice.kind) for notice in found)


def test_a_sentence_says_which_night_what_and_what_to_do():
    failed = night(4, error="The disk is full. Make room.")
    (failure,) = decide(Known(None, failed, None, None), NOW, SILENCE)
    assert failure.sentence == (
        "The night of 2026-06-09 failed (run 4, 2026-06-10 05:00 UTC): The disk is full. "
        "Make room."
    )
    (silence,) = decide(Known(night(3, hours_ago=40), None, None, None), NOW, SILENCE)
    assert "40 hours; the last was that of 2026-06-09, run 3" in silence.sentence
    assert "'harbor schedule show'" in silence.sentence


def test_a_notice_waits_longer_each_time_and_is_given_up():
    pauses = [sending.pause_after(n) for n in range(1, sending.MOST_TRIES + 1)]
    minutes = [pause.total_seconds() / 60 for pause in pauses[:-1]]
    assert minutes == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert pauses[-1] is None


class Taken(BaseHTTPRequestHandler):
    """A web server that keeps what is posted, and answers as it is told."""

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        self.server.posted.append((self.path, json.loads(self.rfile.read(length))))
        status = self.server.answers.pop(0) if self.server.answers else 200
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    def do_GET(self):
        self.server.posted.append((self.path, None))

    def log_message(self, *_):
        pass


class MailSink(socketserver.StreamRequestHandler):
    """A mail server that takes everything; it knows one user and no TLS."""

    def handle(self):
        self._say("220 here")
        self.server.talk.append(lines := [])
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            lines.append(line)
            verb = line.split(" ")[0].upper()
            if verb == "EHLO":
                self._say("250-here\r\n250 AUTH PLAIN")
            elif verb == "AUTH":
                self._say("235 in" if self._is_known(line) else "535 no such user")
            elif verb == "DATA":
                self._say("354 go on")
                self._take_message()
                self._say("250 taken")
            elif verb == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 yes")

    def _is_known(self, line):
        asked = base64.b64decode(line.split(" ")[2]).decode().split("\0")[1:]
        return asked == ["me", "s3cret"]

    def _take_message(self):
        message = []
        while (line := self.rfile.readline().decode().rstrip("\r\n")) != ".":
            message.append(line)
        self.server.mail.append("\n".join(message))

    def _say(self, line):
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def served(server):
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def web():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Taken)
    server.posted, server.answers = [], []
    with served(server):
        yield server


@pytest.fixture
def post(web):
    """Settings whose webhook is the server's, with a secret in its path."""
    url = f"http://127.0.0.1:{web.server_address[1]}/hooks/s3cret"
    return Settings(notice_webhook=url)


@pytest.fixture
def mail():
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailSink)
    server.mail, server.talk = [], []
    with served(server):
        yield server


@pytest.fixture
def letter(mail):
    return Settings(
        notice_smtp_host="127.0.0.1",
        notice_smtp_port=mail.server_address[1],
        notice_smtp_tls="none",
        notice_smtp_user="me",
        notice_smtp_password="s3cret",
        notice_smtp_from="harbor@example.org",
        notice_smtp_to="ops@example.org, chief@example.org",
    )


def send(settings, notice=NOTICE):
    for way in channels_of(settings).values():
        way(notice)


def test_a_webhook_gets_json(web, post):
    send(post)
    told = {"text": NOTICE.sentence, "kind": "failure", "key": "failure:x"}
    assert web.posted == [("/hooks/s3cret", told)]


def test_everybody_gets_mail(mail, letter):
    send(letter)
    (message,) = mail.mail
    assert "Subject: Harbor Fleet: failure" in message
    assert NOTICE.sentence in message
    (talk,) = mail.talk
    wanted = {"rcpt TO:<ops@example.org>", "rcpt TO:<chief@example.org>"}
    assert wanted <= {line.replace("RCPT", "rcpt") for line in talk}


@pytest.mark.parametrize("status", [500, 404, 302])
def test_a_webhook_that_does_not_take_it_is_a_sentence_without_its_address(
    web, post, status
):
    web.answers.append(status)
    with pytest.raises(
        NoticeError, match=f"did not take a notice: it answered {status}"
    ):
        send(post)
    assert len(web.posted) == 1


def test_a_mail_server_that_refuses_us_is_a_sentence_without_the_password(letter):
    wrong = letter.model_copy(update={"notice_smtp_user": "s3cret-user"})
    with pytest.raises(NoticeError, match="535") as refused:
        send(wrong)
    assert "s3cret'" not in str(refused.value)


def test_a_mail_server_without_tls_gets_no_password(mail, letter):
    strict = letter.model_copy(update={"notice_smtp_tls": "starttls"})
    with pytest.raises(NoticeError, match="STARTTLS"):
        send(strict)
    assert not any("AUTH" in line for talk in mail.talk for line in talk)


@pytest.mark.parametrize(
    "update",
    [
        {"notice_webhook": "http://127.0.0.1:1/hooks/s3cret"},
        {"notice_webhook": "http://127.0.0.1:1/a b/s3cret"},
        {"notice_webhook": "ftp://127.0.0.1/s3cret"},
        {"notice_webhook": "http://[s3cret/"},
    ],
)
def test_no_error_tells_the_webhooks_address(update):
    with pytest.raises((NoticeError, ConfigError)) as raised:
        send(Settings(**update))
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in repr(Settings(**update))


def test_a_secret_may_come_from_a_file(web, post, tmp_path, monkeypatch):
    file = tmp_path / "webhook"
    file.write_text(post.notice_webhook.get_secret_value() + "\n")
    monkeypatch.setenv("HARBOR_NOTICE_WEBHOOK_FILE", str(file))
    send(Settings.load())
    assert [path for path, _ in web.posted] == ["/hooks/s3cret"]


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"NOTICE_SMTP_HOST": "x"}, "without HARBOR_NOTICE_SMTP_TO"),
        ({"NOTICE_SMTP_TLS": "perhaps"}, "HARBOR_NOTICE_SMTP_TLS is 'perhaps'"),
    ],
)
def test_wrong_settings_are_a_sentence(monkeypatch, environment, says):
    for name, value in environment.items():
        monkeypatch.setenv(f"HARBOR_{name}", value)
    with pytest.raises(ConfigError, match=says):
        Settings.load()


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
        asked = sa.select(columns.key, columns.channel, columns.tries, columns.sent_at)
        found = connection.execute(asked.order_by(columns.notice_id))
        return [tuple(row) for row in found]


@pytest.mark.db
def test_each_notice_is_sent_once_on_each_channel(
    clean_engine, web, post, mail, letter
):
    both = {**channels_of(post), **channels_of(letter)}
    add_night(clean_engine, "failed", error="The disk is full.")
    for minute in range(3):
        sending.tell(clean_engine, both, NOW + timedelta(minutes=minute), SILENCE)
    assert len(web.posted) == len(mail.mail) == 1
    add_night(clean_engine, "done", ended=NOW)
    for minute in range(3, 6):
        sending.tell(clean_engine, both, NOW + timedelta(minutes=minute), SILENCE)
    assert [told["kind"] for _, told in web.posted] == ["failure", "recovery"]
    assert len(mail.mail) == 2
    # Then nobody hears from it any more.
    late = NOW + 27 * HOUR
    for _ in range(3):
        sending.tell(clean_engine, both, late, SILENCE)
    assert [told["kind"] for _, told in web.posted][2:] == ["silence"]
    assert {(tries, sent is not None) for _, _, tries, sent in kept(clean_engine)} == {
        (1, True)
    }


@pytest.mark.db
def test_what_is_not_taken_is_tried_again_and_keeps_nothing_else_waiting(
    clean_engine, web, post, mail, letter
):
    both = {**channels_of(post), **channels_of(letter)}
    web.answers += [500, 503]
    add_night(clean_engine, "failed", error="Oh.")
    sending.tell(clean_engine, both, NOW, SILENCE)
    assert (len(web.posted), len(mail.mail)) == (1, 1)
    sending.tell(clean_engine, both, NOW + timedelta(seconds=29), SILENCE)
    assert len(web.posted) == 1
    sending.tell(clean_engine, both, NOW + timedelta(seconds=30), SILENCE)
    sending.tell(clean_engine, both, NOW + timedelta(seconds=90), SILENCE)
    sending.tell(clean_engine, both, NOW + timedelta(seconds=300), SILENCE)
    assert (len(web.posted), len(mail.mail)) == (3, 1)
    moment = NOW + timedelta(seconds=90)
    assert kept(clean_engine)[0] == ("failure:2026-06-09", "webhook", 3, moment)


@pytest.mark.db
def test_a_notice_that_is_never_taken_is_given_up(clean_engine, web, post):
    ways = channels_of(post)
    web.answers += [500] * 50
    add_night(clean_engine, "failed", error="Oh.")
    for hour in range(20):
        sending.tell(clean_engine, ways, NOW + hour * HOUR, SILENCE)
    assert len(web.posted) == sending.MOST_TRIES
    with clean_engine.connect() as connection:
        (row,) = connection.execute(sa.select(schema.notices)).mappings()
    assert (row["next_try_at"], row["sent_at"]) == (None, None)
    assert row["error"] == "The webhook did not take a notice: it answered 500."


@pytest.mark.db
def test_nothing_is_kept_where_no_channel_is_set(clean_engine):
    add_night(clean_engine, "failed", error="Oh.")
    sending.tell(clean_engine, channels_of(Settings()), NOW, SILENCE)
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
        {"channel": "webhook", "sent": True, "says": "It was taken."}
    ]
    assert web.posted[0][1]["kind"] == "test"
    web.answers.append(500)
    with pytest.raises(typer.Exit):
        command.send_test()
    assert "it answered 500" in capsys.readouterr().err


def test_the_command_says_that_no_channel_is_set(monkeypatch):
    monkeypatch.setattr(command.Settings, "load", Settings)
    with pytest.raises(ConfigError, match=r"so nobody is told anything\. Set one"):
        command.send_test()


@pytest.mark.db
def test_the_command_lists_what_was_told(clean_engine, web, post, monkeypatch, capsys):
    @contextmanager
    def here():
        yield Workplace(Settings(), clean_engine)

    monkeypatch.setattr(command, "workplace", here)
    command.list_notices(as_json=False)
    assert "Nobody was told anything yet" in capsys.readouterr().err
    web.answers.append(500)
    add_night(clean_engine, "failed", error="Oh.")
    sending.tell(clean_engine, channels_of(post), NOW, SILENCE)
    command.list_notices(as_json=False)
    assert "waits: The webhook did not take" in capsys.readouterr().out
