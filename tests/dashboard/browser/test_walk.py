"""The pages in a real browser: what a phone and a desk see of a fleet."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.conftest import empty_tables
from tests.dashboard.browser import browser
from tests.dashboard.browser.browser import SIZES
from tests.dashboard.seed import seed
from tests.dashboard.seed_pipeline import seed_pipeline

pytestmark = [pytest.mark.browser, pytest.mark.db]

PAGES = {
    "/": "Days ahead",
    "/depot?depot=LON-01": "Depot",
    "/plan": "Plan",
    "/accuracy": "Accuracy",
    "/models": "Models",
    "/pipeline": "Pipeline",
}


@pytest.fixture(scope="module")
def fleet(engine, database_url, tmp_path_factory, chromium):
    """The dashboard of a small fleet: its address and what was written."""
    home = tmp_path_factory.mktemp("fleet")
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    seeded = seed(engine, yesterday, home / "artefacts")
    seed_pipeline(engine, yesterday)
    with browser.serving(database_url, home) as address:
        yield address, seeded
    empty_tables(engine)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_by_its_own_address_and_fits(fleet, visit, path, size):
    window = visit(fleet[0], size)
    text = window.to(path)
    assert window.page.inner_text("h1").strip() == PAGES[path]
    assert window.page.title() == f"{PAGES[path]} · Harbor Fleet"
    assert "Orders up to" in text
    assert window.too_wide() <= 0
    if size == "desk":
        window.fits(browser.TABLET)


def test_the_total_is_that_of_the_forecast(fleet, visit):
    address, seeded = fleet
    text = visit(address, "phone").to("/")
    newest = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    assert f"{round(newest['p50'].sum()):,}" in text


def test_a_name_links_to_its_depot_and_back(fleet, visit):
    window = visit(fleet[0])
    window.to("/")
    window.page.click("a:has-text('Greenwich')")
    window.page.wait_for_url("**/depot?depot=LON-01")
    chosen = window.page.get_by_role("combobox", name="Depot", exact=True)
    assert chosen.input_value() == "Greenwich · London · LON-01"
    window.page.go_back()
    window.page.wait_for_selector("a:has-text('Greenwich')")


def test_a_chosen_city_is_shared_by_its_url(fleet, visit):
    window = visit(fleet[0])
    window.to("/")
    window.page.click("button:has-text('Rotterdam')")
    window.page.wait_for_url("**/?city=Rotterdam")
    window.page.wait_for_selector("a:has-text('Greenwich')", state="detached")
    colleague = visit(fleet[0], "phone")
    text = colleague.to("/?city=Rotterdam")
    assert "Waalhaven" in text
    assert "Greenwich" not in text


def test_an_unknown_city_in_the_url_is_explained(fleet, visit):
    text = visit(fleet[0], "phone").to("/?city=Atlantis")
    assert "There is no city “Atlantis”. Shown instead: All cities." in text
    assert "Waalhaven" in text


def test_a_scenario_is_chosen_by_keyboard(fleet, visit):
    window = visit(fleet[0])
    window.to("/depot?depot=LON-01")
    window.page.keyboard.press("Tab")
    where = "() => [document.activeElement.tagName, getComputedStyle(document.activeElement)"
    assert window.page.evaluate(f"{where}.outlineStyle]") == ["A", "solid"]
    window.choose("Scenario", "Closed")
    window.page.get_by_text("With this scenario").wait_for()


def test_every_chart_is_drawn(fleet, visit):
    window = visit(fleet[0])
    for path, n_charts in zip(PAGES, (1, 2, 0, 1, 0, 0), strict=True):
        window.to(path)
        charts = window.page.query_selector_all('[data-testid="stVegaLiteChart"]')
        assert len(charts) == n_charts
