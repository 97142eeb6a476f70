"""The pages in a real browser before there is any data."""

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
