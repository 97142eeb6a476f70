"""A seeded database behind the dashboard, and the dashboard as a user runs it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
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
from tests.conftest import empty_tables
from tests.dashboard.browser import browser
from tests.dashboard.seed import Seeded, seed
from tests.dashboard.seed_pipeline import seed_pipeline

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
SECONDS = 30
# What the sums of the scores are made of.
SUMMED = {schema.scores, schema.forecasts, schema.depots}

# Every transaction that writes takes a number, also one that is rolled back.
NEXT_WRITE = sa.text("select pg_snapshot_xmax(pg_current_snapshot())::text")

Open = Callable[..., AppTest]
NEXT_IS_SEEDED = pytest.StashKey[bool]()
SEEDED = pytest.StashKey["Kept"]()


@dataclass(frozen=True)
class Kept:
    """A seeded fleet in the database, which nobody has written to since.

    Attributes:
      seeded: What was written.
      artefacts: A copy of its folder of artefacts, which tests may spoil.
      next_write: Number that the next transaction to write will take.
    """

    seeded: Seeded
    artefacts: Path
    next_write: str


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Notes whether the next test of this worker begins with the same fleet."""
    names = getattr(nextitem, "fixturenames", ())
    is_next_here = nextitem is not None and nextitem.path == item.path
    item.stash[NEXT_IS_SEEDED] = is_next_here and "seeded" in names


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


def next_write(engine: sa.Engine) -> str:
    """Number that the next transaction to write will take."""
    with engine.connect() as connection:
        return str(connection.scalar(NEXT_WRITE))


@pytest.fixture
def clean_engine(
    engine: sa.Engine, request: pytest.FixtureRequest
) -> Iterator[sa.Engine]:
    """Every table is emptied after the test; an untouched fleet stays for the next one."""
    yield engine
    stash, node = request.session.stash, request.node
    kept = stash.get(SEEDED, None)
    if kept and node.stash[NEXT_IS_SEEDED] and next_write(engine) == kept.next_write:
        return
    if kept:
        del stash[SEEDED]
    empty_tables(engine)


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
def seeded(
    dashboard: Path,
    clean_engine: sa.Engine,
    yesterday: date,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Seeded:
    """The whole small fleet, its artefact included; that of the test before if it only read."""
    stash = request.session.stash
    if SEEDED in stash and stash[SEEDED].seeded.through != yesterday:  # midnight came
        del stash[SEEDED]
        empty_tables(clean_engine)
    if SEEDED not in stash:
        artefacts = tmp_path_factory.mktemp("seeded") / "artefacts"
        written = seed(clean_engine, yesterday, artefacts)
        stash[SEEDED] = Kept(written, artefacts, next_write(clean_engine))
    shutil.copytree(stash[SEEDED].artefacts, dashboard)
    return stash[SEEDED].seeded


@pytest.fixture
def tomorrow(seeded: Seeded) -> date:
    """The first day ahead."""
    return seeded.through + timedelta(days=1)


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


@pytest.fixture(scope="module")
def serve_fleet(
    engine: sa.Engine,
    database_url: str,
    tmp_path_factory: pytest.TempPathFactory,
    chromium: BrowserContext,
) -> Iterator[Callable[..., str]]:
    """Serves the small fleet, with the nights of its pipeline or without; gives its address."""
    home = tmp_path_factory.mktemp("fleet")
    yesterday = datetime.now(UTC).date() - timedelta(days=1)

    with ExitStack() as server:

        def serve(*statements: sa.UpdateBase, has_nights: bool = True) -> str:
            seed(engine, yesterday, home / "artefacts")
            if has_nights:
                seed_pipeline(engine, yesterday)
            with engine.begin() as connection:
                for statement in statements:
                    connection.execute(statement)
            return server.enter_context(browser.serving(database_url, home))

        yield serve
    empty_tables(engine)
    assert not (home / "dashboard.log").read_text(), "the server has nothing to say"


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
