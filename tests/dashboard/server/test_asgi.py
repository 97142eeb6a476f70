"""Security headers of every response, and the web sockets that are refused."""

import socket
import urllib.request
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from starlette.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from dashboard.server import asgi
from pipelines.monitoring.watcher import probe_dashboard
from tests.dashboard.browser import browser
from tests.pipelines.monitoring.monitored import NOBODY
from tests.ports import free_port

pytestmark = pytest.mark.db

FRAMING = """<!doctype html><title>Elsewhere</title>
<iframe src="{address}/plan" title="their form"></iframe>"""


@contextmanager
def recording_proxy():
    """A proxy for requests to the outside: its address, and the requests it received."""
    requests = []

    class Recorder(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.requestline)
            self.send_error(403)

        do_CONNECT = do_GET  # noqa: N815 - so that a tunnel is noted, too

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def served(engine, database_url, tmp_path_factory):
    """The dashboard as other machines reach it, and its requests to the outside."""
    home = tmp_path_factory.mktemp("guarded")
    with recording_proxy() as (proxy, requests):
        variables = dict.fromkeys(("http_proxy", "https_proxy"), proxy)
        variables |= {"no_proxy": "", "NO_PROXY": ""}
        place = (database_url, home, free_port(), "0.0.0.0")
        with browser.serving(*place, **variables) as address:
            yield address, requests


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory):
    """The dashboard for this machine alone, whose database does not answer."""
    with browser.serving(NOBODY, tmp_path_factory.mktemp("cut-off")) as address:
        yield address


SCRIPT = next(path for path in asgi.STATIC_FILES if path.endswith(".js"))


@pytest.mark.parametrize(
    "path", ["/", "/plan", "/_stcore/health", "/favicon.png", "/x", SCRIPT]
)
def test_every_response_has_the_security_headers(served, path):
    with urllib.request.urlopen(served[0] + path) as response:
        headers = response.headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    policy = headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'self' 'sha256-" in policy
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.partition("style-src")[0]


def test_the_watch_is_answered_by_a_dashboard_that_has_its_database(served, cut_off):
    assert probe_dashboard(served[0]) > 0
    assert probe_dashboard(cut_off) is None


def test_a_script_of_streamlit_comes_whole_and_is_kept_for_ever(served):
    with urllib.request.urlopen(served[0] + SCRIPT) as response:
        assert response.read() == asgi.STATIC_FILES[SCRIPT].read_bytes()
    assert "javascript" in response.headers["Content-Type"]
    assert "immutable" in response.headers["Cache-Control"]


def test_the_name_of_the_page_depots_leads_to_it_with_what_was_chosen(served):
    with urllib.request.urlopen(f"{served[0]}/depots?city=London") as response:
        assert response.url == f"{served[0]}/depot?city=London"


@pytest.mark.parametrize("path", ["/static/../index.html", "/static/js/none.js"])
def test_other_files_are_left_to_streamlit(path):
    assert asgi.static_file({"type": "http", "method": "GET", "path": path}) is None


def test_each_inline_script_of_the_page_is_allowed_by_its_hash():
    policy = asgi.content_security_policy(asgi.INDEX)
    assert asgi.INDEX.count("<script>") == 1
    assert policy.count("'sha256-") == 1 + len(asgi.OWN_SCRIPTS)
    altered = asgi.INDEX.replace("<script>", "<script>evil();")
    assert policy != asgi.content_security_policy(altered)


def test_a_web_socket_of_another_origin_is_refused_without_requests_outside(served):
    address, requests = served
    stream = f"{address.replace('http', 'ws')}/_stcore/stream"
    for origin in ("https://elsewhere.example", "http://localhost:1", "null"):
        with pytest.raises(InvalidStatus, match="403"):
            connect(stream, origin=origin, proxy=None)
    with connect(stream, origin=address, proxy=None):
        assert requests == []


def test_a_foreign_name_for_this_machine_is_refused_where_no_login_is_set(cut_off):
    """DNS rebinding: a page elsewhere whose name leads to 127.0.0.1 the second time."""
    port = int(cut_off.rpartition(":")[2])
    for name, refusal in (
        ("evil.example", pytest.raises(InvalidStatus, match="403")),
        ("localhost", nullcontext()),
    ):
        link = socket.create_connection(("127.0.0.1", port))
        arguments = {"origin": f"http://{name}:{port}", "sock": link, "proxy": None}
        with refusal, connect(f"ws://{name}:{port}/_stcore/stream", **arguments):
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
    sent = {} if origin is None else {"origin": origin}
    assert asgi.is_foreign(Headers({"host": "harbor.example.com", **sent})) == foreign


@pytest.mark.browser
def test_a_page_elsewhere_cannot_frame_the_form(served, chromium):
    address, _ = served
    page = chromium.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.set_content(FRAMING.format(address=address), wait_until="networkidle")
    (frame,) = page.frames[1:]
    shown = frame.query_selector("#root")
    page.close()
    assert shown is None
    assert any("frame-ancestors" in each for each in messages), messages
