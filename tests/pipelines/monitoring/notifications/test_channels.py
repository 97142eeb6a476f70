"""Notices go to a real web server and a real mail server; no error tells a secret."""

import pytest

from forecaster.errors import ConfigError, NotificationError
from pipelines.monitoring.notifications.channels import channels_of
from pipelines.monitoring.notifications.rules import Notice
from pipelines.settings import Settings

NOTICE = Notice("failure:x", "failure", "The night of x failed.")


def send(settings, notice=NOTICE):
    for way in channels_of(settings).values():
        way(notice)


def test_a_webhook_gets_json(web, post):
    send(post)
    told = {"text": NOTICE.message, "kind": "failure", "key": "failure:x"}
    assert web.posted == [("/hooks/s3cret", told)]


def test_everybody_gets_mail(mail, letter):
    send(letter)
    (message,) = mail.mail
    assert "Subject: Harbor Fleet: failure" in message
    assert NOTICE.message in message
    (talk,) = mail.talk
    wanted = {"rcpt TO:<ops@example.org>", "rcpt TO:<chief@example.org>"}
    assert wanted <= {line.replace("RCPT", "rcpt") for line in talk}


@pytest.mark.parametrize("status", [500, 404, 302])
def test_a_webhook_that_does_not_take_it_is_a_sentence_without_its_address(
    web, post, status
):
    web.answers.append(status)
    with pytest.raises(
        NotificationError, match=f"did not accept a notice: it answered {status}"
    ):
        send(post)
    assert len(web.posted) == 1


def test_a_mail_server_that_refuses_us_is_a_sentence_without_the_password(letter):
    wrong = letter.model_copy(update={"notice_smtp_user": "s3cret-user"})
    with pytest.raises(NotificationError, match="535") as refused:
        send(wrong)
    assert "s3cret'" not in str(refused.value)


def test_a_mail_server_without_tls_gets_no_password(mail, letter):
    strict = letter.model_copy(update={"notice_smtp_tls": "starttls"})
    with pytest.raises(NotificationError, match="STARTTLS"):
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
    with pytest.raises((NotificationError, ConfigError)) as raised:
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
