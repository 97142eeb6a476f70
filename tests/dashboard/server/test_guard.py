"""What a page may load, who may frame it, and whose web sockets are refused."""

import socket
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from starlette.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from dashboard.server import asgi, guard
from tests.dashboard.browser import browser
from tests.ports import free_port

pytestmark = pytest.mark.db

FRAMING = """<!doctype html><title>Elsewhere</title>
<iframe src="{address}/plan" title="their form"></iframe>"""


@contextmanager
def recording_proxy():
    """The way out of this machine: its address, and what was asked through it."""
    asked = []

    class Recorder(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.requestline)
            self.send_error(403)

        do_CONNECT = do_GET  # noqa: N815 - so that a tunnel is noted, too

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def served(engine, database_url, tmp_path_factory):
    """The pages as other machines reach them, and what they asked outside."""
    home = tmp_path_factory.mktemp("guarded")
    with recording_proxy() as (proxy, asked):
        way_out = dict.fromkeys(("http_proxy", "https_proxy"), proxy)
        told = {**way_out, "no_proxy": "", "NO_PROXY": ""}
        where = (database_url, home, free_port(), "0.0.0.0")
        with browser.serving(*where, **told) as address:
            yield address, asked


@pytest.mark.parametrize(
    "path", ["/", "/plan", "/_stcore/health", "/favicon.png", "/x"]
)
def test_every_answer_says_what_the_browser_must_not_do(served, path):
    with urllib.request.urlopen(served[0] + path) as answer:
        said = answer.headers
    assert said["X-Frame-Options"] == "DENY"
    assert said["X-Content-Type-Options"] == "nosniff"
    assert said["Referrer-Policy"] == "same-origin"
    policy = said["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'self' 'sha256-" in policy
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.partition("style-src")[0]


def test_each_inline_script_of_the_page_is_allowed_by_its_hash():
    document = asgi.index_html()
    policy = guard.content_security_policy(document)
    assert policy.count("'sha256-") == document.count("<script>") == 2
    assert policy != guard.content_security_policy(document.replace("BASE", "EVIL"))


def test_a_web_socket_of_another_origin_is_refused_and_nobody_outside_is_asked(served):
    address, asked = served
    stream = f"{address.replace('http', 'ws')}/_stcore/stream"
    for origin in ("https://elsewhere.example", "http://localhost:1", "null"):
        with pytest.raises(InvalidStatus, match="403"):
            connect(stream, origin=origin, proxy=None)
    with connect(stream, origin=address, proxy=None):
        assert asked == []


def test_a_foreign_name_for_this_machine_is_refused_where_no_login_is_set(
    engine, database_url, tmp_path
):
    """DNS rebinding: a page elsewhere whose name leads to 127.0.0.1 the second time."""
    port = free_port()
    with browser.serving(database_url, tmp_path, port, "127.0.0.1"):
        for name, is_refused in (("evil.example", True), ("localhost", False)):
            link = socket.create_connection(("127.0.0.1", port))
            arguments = {"origin": f"http://{name}:{port}", "sock": link, "proxy": None}
            stream = f"ws://{name}:{port}/_stcore/stream"
            if is_refused:
                with (
                    pytest.raises(InvalidStatus, match="403"),
                    connect(stream, **arguments),
                ):
                    pass
            else:
                with connect(stream, **arguments):
                    pass


@pytest.mark.parametrize(
    ("origin", "foreign"),
    [
        (None, False),
        ("https://harbor.example.com", False),
        ("https://harbor.example.com:8443", True),
        ("https://elsewhere.example", True),
        ("null", True),
        ("", True),
    ],
)
def test_a_page_of_the_same_host_and_port_is_not_foreign(origin, foreign):
    said = {} if origin is None else {"origin": origin}
    assert guard.is_foreign(Headers({"host": "harbor.example.com", **said})) == foreign


@pytest.mark.browser
def test_a_page_elsewhere_cannot_frame_the_form(served, chromium):
    address, _ = served
    page = chromium.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.set_content(FRAMING.format(address=address), wait_until="networkidle")
    (frame,) = page.frames[1:]
    shown = frame.query_selector("#root")
    page.close()
    assert shown is None
    assert any("frame-ancestors" in each for each in said), said
