"""Webhooks that redirect, and addresses that are not valid."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from pipelines.publishing import webhooks


@pytest.fixture
def moved(monkeypatch):
    """A server whose /old has moved to /new, which answers any method; what it received."""
    monkeypatch.setattr(webhooks, "PAUSES_S", ())

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.do_POST()

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.server.received.append((self.command, self.path, body))
            self.send_response(301 if self.path == "/old" else 200)
            self.send_header("Location", "/new")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.received = []
    server.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_message_that_a_redirect_loses_is_told(moved):
    (failure,) = webhooks.post([f"{moved.url}/old"], {"a": 1})
    assert "301 Moved Permanently" in failure
    assert not any(method == "GET" for method, *_ in moved.received)


@pytest.mark.parametrize(
    "bad", ["http://127.0.0.1:1/zürich", "http://a..b/x", "http://[::1"]
)
def test_after_an_address_that_is_not_valid_the_next_is_called(moved, bad):
    (failure,) = webhooks.post([bad, f"{moved.url}/new"], {"a": 1})
    assert failure.startswith("Address 1 of HARBOR_PUBLISH_WEBHOOKS did not accept it")
    assert moved.received == [("POST", "/new", b'{"a": 1}')]
