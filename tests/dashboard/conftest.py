"""A seeded database behind the dashboard, and the dashboard as a user runs it."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
import sqlalchemy as sa
import streamlit as st
from playwright.sync_api import BrowserContext, sync_playwright
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from dashboard import queries
from dashboard.queries import database
from dashboard.queries.freshness import Freshness
from pipelines import schema
from pipelines.store import score_totals
from tests.dashboard.browser import browser
from tests.dashboard.seed import Seeded, seed

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
SECONDS = 30
# What the sums of the scores are made of.
SUMMED = {schema.scores, schema.forecasts, schema.depots}

Open = Callable[..., AppTest]


@pytest.fixture(scope="session", autouse=True)
def read_once() -> Iterator[None]:
    """AppTest searches what is installed, and compiles the pages, once and not each time."""
    scripts = ScriptCache()
    search = manifest_scanner.scan_component_manifests
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(search))
        for module in (app_test, local_script_runner):
            patch.setattr(module, "ScriptCache", lambda: scripts)
        yield


@pytest.fixture
def yesterday() -> date:
    """In UTC, the fleet's zone of the tests."""
    return datetime.now(UTC).date() - timedelta(days=1)


@pytest.fixture
def dashboard(
    database_url: str,
    clean_engine: sa.Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Path]:
    """Points the dashboard at the empty test database; gives its folder of artefacts."""
    monkeypatch.setenv("HARBOR_DATABASE_URL", database_url)
    monkeypatch.setenv("HARBOR_HOME", str(tmp_path))
    used: list[sa.Engine] = []
    made = sa.create_engine

    def remembered(*arguments: object, **options: object) -> sa.Engine:
        used.append(made(*arguments, **options))
        return used[-1]

    monkeypatch.setattr(database.sa, "create_engine", remembered)
    st.cache_data.clear()
    st.cache_resource.clear()
    yield tmp_path / "artefacts"
    for engine in used:
        engine.dispose()
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture
def seeded(dashboard: Path, clean_engine: sa.Engine, yesterday: date) -> Seeded:
    """The whole small fleet, its artefact included."""
    return seed(clean_engine, yesterday, dashboard)


@pytest.fixture
def open_page() -> Open:
    """Opens a page as a browser would, with query parameters."""

    def opened(view: str = "days_ahead", **query_params: str) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=SECONDS)
        for name, value in query_params.items():
            app.query_params[name] = value
        # A visitor without a page in the address gets "Days ahead".
        if view != "days_ahead":
            app.switch_page(f"views/{view}.py")
        return app.run()

    return opened


@pytest.fixture
def freshness(seeded: Seeded) -> Freshness:
    """The freshness of the seeded fleet."""
    return queries.freshness()


@pytest.fixture
def write(clean_engine: sa.Engine) -> Callable[[sa.UpdateBase], None]:
    """Runs a statement as the pipelines would, and lets the dashboard see it."""

    def run(statement: sa.UpdateBase) -> None:
        with clean_engine.begin() as connection:
            connection.execute(statement)
            if statement.table in SUMMED:
                score_totals.renew_all(connection)
        st.cache_data.clear()

    return run


@pytest.fixture(scope="module")
def chromium() -> Iterator[BrowserContext]:
    """A browser whose windows share what they loaded, or a skip that says how to get one."""
    with sync_playwright() as playwright:
        launched = browser.launch(playwright)
        context = launched.new_context()
        # Keeps their window open: another for each page would cost as much as the page.
        context.new_page()
        yield context
        launched.close()


@pytest.fixture
def visit(chromium: BrowserContext) -> Iterator[Callable[..., browser.Visit]]:
    """Opens a window on an address; nothing may have gone wrong in it at the end."""
    opened: list[browser.Visit] = []

    def visiting(
        address: str, size: str = "desk", beside: str | None = None
    ) -> browser.Visit:
        width, height = browser.SIZES[size]
        page = chromium.new_page()
        page.set_viewport_size({"width": width, "height": height})
        opened.append(browser.Visit(page, address, beside))
        return opened[-1]

    yield visiting
    for window in opened:
        window.page.close()
    assert [wrong for window in opened for wrong in window.wrong] == []
