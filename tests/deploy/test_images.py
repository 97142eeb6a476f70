"""The images, built and started as the Compose file starts them: `make deploy-check`."""

import secrets
import shutil
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.deploy.containers import SERVICES, Container
from tests.deploy.images import Store
from tests.deploy.server import postgres
from tests.deploy.tools import find_tool
from tests.ports import free_port

pytestmark = pytest.mark.image

PATIENCE_S = 90
JAX = ("jax", "jaxlib", "flax", "optax", "orbax")


@pytest.fixture(scope="module")
def service_folder():
    """Folders that a container's user can enter, outside the tests' own closed ones."""
    folder = Path(tempfile.mkdtemp(prefix="harbor-images-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def store():
    for program, package in (
        ("buildah", "buildah"),
        ("runc", "runc"),
        ("debootstrap", "debootstrap"),
    ):
        find_tool(program, package)
    store = Store()
    yield store
    store.remove()


@pytest.fixture(scope="module")
def pipelines(store):
    return store.build("pipelines")


@pytest.fixture(scope="module")
def dashboard(store):
    return store.build("dashboard")


@pytest.fixture(scope="module")
def passwords(service_folder):
    """Every secret of the Compose file, as RUNBOOK.md has them made."""
    folder = service_folder / "secrets"
    folder.mkdir(mode=0o700)
    passwords = {
        name: secrets.token_hex(24) for name in ("owner", "writer", "dashboard")
    }
    for name, password in passwords.items():
        (folder / f"{name}_password").write_text(password)
        (folder / f"{name}_password").chmod(0o444)
    return passwords


@pytest.fixture(scope="module")
def home(service_folder):
    folder = service_folder / "home"
    folder.mkdir()
    shutil.chown(folder, 10001, 10001)
    return folder


@pytest.fixture(scope="module")
def database(pipelines, service_folder, home, passwords):
    """A server whose tables the service `migrate` has made."""
    with postgres(passwords["owner"]) as port:
        migrate = Container(pipelines, "migrate", service_folder, port)
        assert migrate.wait() == 0, migrate.output
        yield port


@pytest.fixture
def start(service_folder, database):
    """Starts services, and stops them at the end."""
    started = []

    def start(image, service, command):
        started.append(Container(image, service, service_folder, database, command))
        return started[-1]

    yield start
    for container in started:
        container.stop()


def wait_for_answer(container, url):
    """Waits until a server answers; returns status and text."""
    until = time.monotonic() + PATIENCE_S
    while container.is_running and time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return response.status, response.read().decode()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    pytest.fail(f"{url} does not wait_for_answer: {container.output}")


def on_port(service, port):
    """A service's command, listening where nobody else does."""
    words = SERVICES[service]["command"].split()
    words[words.index("--port") + 1] = str(port)
    return words


def test_the_dashboard_answers(start, dashboard):
    port = free_port()
    container = start(dashboard, "dashboard", on_port("dashboard", port))
    health = wait_for_answer(container, f"http://127.0.0.1:{port}/_stcore/health")
    assert health == (200, "ok")


def test_the_watch_answers(start, pipelines):
    port = free_port()
    container = start(pipelines, "watch", on_port("watch", port))
    status, _ = wait_for_answer(container, f"http://127.0.0.1:{port}/healthz")
    assert status == 200
    _, metrics = wait_for_answer(container, f"http://127.0.0.1:{port}/metrics")
    assert "harbor_" in metrics


def run_python(start, image, service, code):
    container = start(image, service, ["python", "-c", code])
    status = container.wait()
    return status, container.output.strip()


def test_a_container_is_nobody_and_writes_nowhere_but_tmp(start, dashboard):
    code = """
import os
for folder in ("/", "/opt/harbor", "/etc", "/var/lib/harbor", "/tmp"):
    try:
        open(f"{folder}/probe", "w").close()
        print(folder, "written")
    except OSError as error:
        print(folder, error.strerror)
print(os.getuid(), os.getgid())
print([l for l in open("/proc/self/status") if l.startswith(("CapBnd", "NoNew"))])
"""
    status, output = run_python(start, dashboard, "dashboard", code)
    assert status == 0, output
    assert output.splitlines() == [
        *(
            f"{folder} Read-only file system"
            for folder in ("/", "/opt/harbor", "/etc", "/var/lib/harbor")
        ),
        "/tmp written",
        "10001 10001",
        "['CapBnd:\\t0000000000000000\\n', 'NoNewPrivs:\\t1\\n']",
    ]
