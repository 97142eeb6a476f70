"""The pages in a real browser before there is any data, and without a database."""

import pytest

from tests.dashboard import browser
from tests.dashboard.browser import SIZES

pytestmark = [pytest.mark.browser, pytest.mark.db]

PATHS = ("/", "/depot", "/plan", "/accuracy", "/models", "/pipeline")


@pytest.fixture
def empty(clean_engine, database_url, tmp_path, chromium):
    """The address of a dashboard without any data."""
    with browser.serving(database_url, tmp_path) as address:
        yield address


@pytest.mark.parametrize("size", SIZES)
def test_without_data_every_page_says_what_to_run(empty, visit, size):
    window = visit(empty, size)
    for path in PATHS:
        text = window.to(path)
        assert "harbor ingest PATH" in text
        assert "Traceback" not in text
        assert window.too_wide() <= 0


@pytest.fixture
def cut_off(tmp_path, chromium):
    """The address of a dashboard whose database is not there."""
    nowhere = f"postgresql://planner:secret@127.0.0.1:{browser.free_port()}/harbor"
    with browser.serving(nowhere, tmp_path) as address:
        yield address


def test_without_its_database_every_page_says_what_to_do(cut_off, visit):
    window = visit(cut_off, "phone")
    for path in PATHS:
        text = window.to(path)
        assert "The database does not answer" in text
        assert "harbor doctor" in text
        assert "secret" not in text
        assert "Traceback" not in text
        assert window.too_wide() <= 0
