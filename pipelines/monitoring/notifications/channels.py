"""The ways out: a webhook, and mail. No address or password is ever part of an error."""

import http.client
import json
import smtplib
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any

from pydantic import SecretStr

from forecaster.errors import ConfigError, NotificationError
from pipelines.monitoring.notifications.rules import Notice
from pipelines.settings import Settings
from pipelines.settings.monitoring import WatchSettings

PATIENCE_S = 10.0

Send = Callable[[Notice], None]


def channels_of(settings: Settings) -> dict[str, Send]:
    """The ways out that are set, by their names; empty where none is."""
    found: dict[str, Send] = {}
    if settings.notice_webhook is not None:
        found["webhook"] = lambda notice: _post(settings, notice)
    if settings.notice_smtp_host is not None:
        found["mail"] = lambda notice: _mail(settings, notice)
    return found


def _post(settings: WatchSettings, notice: Notice) -> None:
    url = _plain(settings.notice_webhook)
    if url is None or not url.startswith(("http://", "https://")):
        raise ConfigError(
            "HARBOR_NOTICE_WEBHOOK is no web address. Write it as https://HOST/PATH."
        )
    told = {"text": notice.message, "kind": notice.kind, "key": notice.key}
    try:
        _send_json(url, told)
    except urllib.error.HTTPError as error:
        error.close()
        raise _unsent("webhook", f"it answered {error.code}") from None
    except urllib.error.URLError as error:
        raise _unsent("webhook", str(error.reason)) from None
    except OSError as error:
        raise _unsent("webhook", str(error)) from None
    except (http.client.HTTPException, ValueError) as error:  # would tell the address
        raise _unsent("webhook", type(error).__name__) from None


def _send_json(url: str, told: dict[str, str]) -> None:
    request = urllib.request.Request(  # noqa: S310 - http and https, checked before
        url,
        data=json.dumps(told).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "harbor-fleet"},
        method="POST",
    )
    opener = urllib.request.build_opener(_NoRedirect)
    with opener.open(request, timeout=PATIENCE_S):
        pass


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would turn the notice into a question, and count as sent."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _mail(settings: WatchSettings, notice: Notice) -> None:
    message = EmailMessage()
    message["From"] = settings.notice_smtp_from
    message["To"] = settings.notice_smtp_to
    message["Subject"] = f"Harbor Fleet: {notice.kind}"
    message["X-Harbor-Key"] = notice.key
    message.set_content(notice.message + "\n")
    password = _plain(settings.notice_smtp_password)
    try:
        with _mail_server(settings) as server:
            if settings.notice_smtp_user is not None:
                server.login(settings.notice_smtp_user, password or "")
            server.send_message(message)
    except (OSError, smtplib.SMTPException) as error:
        raise _unsent("mail server", _without(str(error), password)) from None


def _mail_server(settings: WatchSettings) -> smtplib.SMTP:
    host, port = settings.notice_smtp_host or "", settings.notice_smtp_port
    safe = ssl.create_default_context()
    if settings.notice_smtp_tls == "tls":
        return smtplib.SMTP_SSL(host, port, timeout=PATIENCE_S, context=safe)
    server = smtplib.SMTP(host, port, timeout=PATIENCE_S)
    if settings.notice_smtp_tls == "starttls":
        try:
            server.starttls(context=safe)
        except BaseException:
            server.close()
            raise
    return server


def _plain(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _without(said: str, secret: str | None) -> str:
    return said.replace(secret, "***") if secret else said


def _unsent(whom: str, reason: str) -> NotificationError:
    return NotificationError(f"The {whom} did not accept a notice: {reason}.")
