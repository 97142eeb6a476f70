"""Real servers that take notices, and settings that name them."""

import socketserver
from http.server import ThreadingHTTPServer

import pytest

from pipelines.settings import Settings
from tests.pipelines.monitoring.notifications.receivers import MailSink, Taken, served


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
