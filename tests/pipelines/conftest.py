"""Commands on the test database, whose JSON answers are held against their types; servers of the web and of S3."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
from pyarrow import fs
from pydantic import TypeAdapter

from pipelines.cli import console
from pipelines.settings import Settings
from tests.answers import ANSWERS, current_command
from tests.pipelines import in_process
from tests.pipelines.in_process import CommandResult


@pytest.fixture(scope="session", autouse=True)
def answers_are_checked():
    """Fails a command whose answer lacks a key, or has one of another type."""
    plain = console.json

    def dumps(value, **options):
        text = plain.dumps(value, **options)
        command = current_command()
        if command in ANSWERS:
            TypeAdapter(ANSWERS[command]).validate_json(text)
        return text

    console.json = SimpleNamespace(dumps=dumps)
    yield
    console.json = plain


@pytest.fixture
def harbor(database_url: str, tmp_path: Path) -> Callable[..., CommandResult]:
    """Runs a command in this process, on the test database, with the test's folder as home."""
    places = {"HARBOR_DATABASE_URL": database_url, "HARBOR_HOME": str(tmp_path)}
    return partial(in_process.harbor, **places)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The default settings, with the test's folder as home."""
    return Settings(home=tmp_path)


class Listener:
    """An HTTP server that keeps what it is sent, and answers with the given statuses first."""

    def __init__(self) -> None:
        self.received: list[SimpleNamespace] = []
        self.statuses: list[int] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kind = self.headers["Content-Type"]
                sent = SimpleNamespace(path=self.path, kind=kind, body=json.loads(body))
                listener.received.append(sent)
                statuses = listener.statuses
                self.send_response(statuses.pop(0) if statuses else 200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # How often it looks whether it shall end.
        serve = partial(self.server.serve_forever, poll_interval=0.02)
        self.thread = Thread(target=serve, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/s3cret-path"

    def close(self) -> None:
        """Ends the server."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A web server to which notifications and webhooks are sent."""
    made = Listener()
    yield made
    made.close()


@pytest.fixture(scope="module")
def s3() -> Iterator[SimpleNamespace]:
    """A server that speaks S3's protocol on this machine, with one bucket."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, ip_address="127.0.0.1", verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = (
        "s3://key:s3cret@night/fleet"
        f"?scheme=http&endpoint_override={host}%3A{port}&region=us-east-1"
    )
    system, _ = fs.FileSystem.from_uri(f"{url}&allow_bucket_creation=true")
    system.create_dir("night")
    yield SimpleNamespace(url=url, system=system, address=f"http://{host}:{port}")
    server.stop()
