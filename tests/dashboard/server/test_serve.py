"""Starting the pages, also on a host without JAX."""

import sys
import tomllib
from pathlib import Path

import pytest

from dashboard import server
from pipelines.cli.dashboard import FLAGS, streamlit_arguments
from tests.processes import run_python

APP = Path(server.__file__).with_name("asgi.py")
JAX = ["jax", "jaxlib", "flax", "optax", "orbax"]

WALK = f"""
import sys
from streamlit.testing.v1 import AppTest

for view in ("days_ahead", "depot", "plan", "accuracy", "models", "pipeline"):
    app = AppTest.from_file("dashboard/app.py", default_timeout=60)
    app.query_params["depot"] = "LON-01"
    if view != "days_ahead":
        app.switch_page(f"views/{{view}}.py")
    app.run()
    if view == "depot":
        app.selectbox(key="choice of scenario").select("closed").run()
        assert any("With this scenario" in said.value for said in app.caption)
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
print(sorted(sys.modules.keys() & {set(JAX)!r}))
"""


def test_the_server_listens_on_the_address_and_port_and_sends_no_statistics(tmp_path):
    arguments = streamlit_arguments("127.0.0.1", 8599, tmp_path)
    assert arguments[:4] == [sys.executable, "-m", "streamlit", "run"]
    assert arguments[4] == str(APP)
    assert set(arguments[5:]) >= {
        "--server.address=127.0.0.1",
        "--server.port=8599",
        "--server.headless=true",
        "--browser.gatherUsageStats=false",
        "--client.showErrorDetails=none",
        "--client.showErrorLinks=false",
        "--client.toolbarMode=minimal",
        "--server.enableXsrfProtection=true",
        "--server.enableAgentApi=false",
    }


def test_the_configuration_file_agrees_with_the_flags():
    config = tomllib.loads((APP.parent / ".streamlit" / "config.toml").read_text())
    for section in ("browser", "client", "server"):
        for name, value in config[section].items():
            written = str(value).lower() if isinstance(value, bool) else str(value)
            assert FLAGS.get(f"{section}.{name}", written) == written


@pytest.mark.db
def test_every_page_and_what_if_work_without_jax(dashboard, seeded, database_url):
    places = {"HARBOR_DATABASE_URL": database_url, "HARBOR_HOME": str(dashboard.parent)}
    done = run_python(WALK, JAX, **places)
    assert done.stdout.strip() == "[]"
