"""The pages in a real browser without data, without a database, with a corrupt model."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.dashboard.browser import browser
from tests.dashboard.browser.browser import SIZES
from tests.dashboard.seed import seed
from tests.ports import free_port

pytestmark = [pytest.mark.browser, pytest.mark.db]

# What every page but Pipeline says comes from the frame around it; views/test_pages.py
# has each of them without data and without its database.
FRAMES = ("/", "/pipeline")
PATHS = ("/", "/depot?depot=LON-01", "/plan", "/accuracy", "/models", "/pipeline")


@pytest.fixture
def empty(clean_engine, database_url, tmp_path, chromium):
    """The address of a dashboard without any data."""
    with browser.serving(database_url, tmp_path) as address:
        yield address


def test_without_data_a_page_names_the_command(empty, visit):
    window = visit(empty)
    for path in FRAMES:
        text = window.to(path)
        assert "harbor ingest PATH" in text
        assert "Traceback" not in text
        window.fits(SIZES["phone"][0])


@pytest.fixture
def cut_off(tmp_path, chromium):
    """The address of a dashboard whose database is not there."""
    nowhere = f"postgresql://planner:secret@127.0.0.1:{free_port()}/harbor"
    with browser.serving(nowhere, tmp_path) as address:
        yield address


def test_without_its_database_a_page_has_a_remedy(cut_off, visit):
    window = visit(cut_off, "phone")
    for path in FRAMES:
        text = window.to(path)
        assert "The database does not answer" in text
        assert "harbor doctor" in text
        assert "secret" not in text
        assert "Traceback" not in text
        assert window.too_wide() <= 0


@pytest.fixture
def corrupt(clean_engine, database_url, tmp_path, chromium):
    """The address of a fleet's dashboard whose model is half a file, and its name."""
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    seed(clean_engine, yesterday, tmp_path / "artefacts")
    [model] = (tmp_path / "artefacts").glob("*.npz")
    model.write_bytes(model.read_bytes()[: model.stat().st_size // 2])
    with browser.serving(database_url, tmp_path) as address:
        yield address, model.name


def test_with_a_corrupt_model_only_its_own_parts_show_an_error(corrupt, visit):
    address, model = corrupt
    window = visit(address, "phone")
    for path in PATHS:
        text = window.to(path)
        assert "Orders up to" in text
        assert "Traceback" not in text
        assert window.too_wide() <= 0
        told = window.page.locator('[data-testid="stAlert"]', has_text=model).all()
        if "depot=" in path:
            [sentence] = told
            assert "Restore it" in sentence.inner_text()
            charts = window.page.query_selector_all('[data-testid="stVegaLiteChart"]')
            assert len(charts) == 2
        else:
            assert model not in text
