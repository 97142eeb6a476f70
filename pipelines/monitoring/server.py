"""Answers `/metrics`, `/healthz` and `/readyz` from the screen; never asks the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from pipelines.monitoring.metric import Family, families
from pipelines.monitoring.state import Screen

PATIENCE_S = 10
WORDS = "text/plain; charset=utf-8"
NO_SUCH_PATH = "There are /metrics, /healthz and /readyz."


class Collector:
    """The screen as the library collects it."""

    def __init__(self, screen: Screen) -> None:
        """Nothing is collected yet."""
        self._screen = screen

    def collect(self) -> list[Family]:
        """Each number's family, as of now."""
        return families(self._screen.metrics(datetime.now(UTC)))


def registry(screen: Screen) -> CollectorRegistry:
    """The metrics of the state, and the memory and time of this process."""
    made = CollectorRegistry()
    made.register(Collector(screen))
    ProcessCollector(registry=made)
    return made


@contextmanager
def serving(screen: Screen, address: str, port: int) -> Iterator[int]:
    """Answers while this is open; gives the port, which is chosen where it is 0."""
    server = ThreadingHTTPServer((address, port), _handler(screen))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(
    screen: Screen, shown: CollectorRegistry, path: str
) -> tuple[int, str, bytes]:
    """Status, kind and body of what is asked for."""
    if path == "/metrics":
        return 200, CONTENT_TYPE_LATEST, generate_latest(shown)
    if path == "/healthz":
        return _sentence("alive", screen.not_alive(datetime.now(UTC)))
    if path == "/readyz":
        return _sentence("ready", screen.look.not_ready)
    return 404, WORDS, f"{NO_SUCH_PATH}\n".encode()


def _sentence(good: str, wrong: str | None) -> tuple[int, str, bytes]:
    return 503 if wrong else 200, WORDS, f"{wrong or good}\n".encode()


def _handler(screen: Screen) -> type[BaseHTTPRequestHandler]:
    shown = registry(screen)

    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE_S
        server_version = "harbor"
        sys_version = ""

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def log_message(self, *_: object) -> None:
            """Every scrape in the log would hide what matters."""

        def _answer(self, with_body: bool) -> None:
            path = self.path.partition("?")[0]
            status, kind, body = answer(screen, shown, path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body:
                self.wfile.write(body)

    return Handler
