"""A planner's morning in a real browser: change, see, export, print."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.conftest import empty_tables
from tests.dashboard.browser import browser
from tests.dashboard.charts.test_charts import contrast
from tests.dashboard.seed import seed

pytestmark = [pytest.mark.browser, pytest.mark.db]

A4_LANDSCAPE = b"/MediaBox [0 0 841.91998 594.95996]"


@pytest.fixture(scope="module")
def fleet(engine, database_url, tmp_path_factory, chromium):
    """The address of the dashboard of a small fleet."""
    home = tmp_path_factory.mktemp("plan")
    seed(engine, datetime.now(UTC).date() - timedelta(days=1), home / "artefacts")
    with browser.serving(database_url, home) as address:
        yield address
    empty_tables(engine)


def test_an_override_is_saved_shown_and_exported(fleet, visit):
    window = visit(fleet)
    window.to("/plan?city=Rotterdam")
    page = window.page
    page.get_by_label("Orders (for").fill("777")
    page.get_by_label("Reason").fill("=1+1")
    page.get_by_label("Your name").fill("Anna")
    page.get_by_role("button", name="Save").click()
    page.get_by_text(" changed.").wait_for()
    page.get_by_text("set 777").wait_for()

    page.get_by_text("View data").click()
    with page.expect_download() as saved:
        folded = page.locator('[data-testid="stExpander"]')
        folded.get_by_role("button", name="Save as CSV").click()
    rows = read(saved.value)
    [mine] = [row for row in rows if row["Changed by"] == "Anna"]
    assert (mine["Planned orders"], mine["Reason"]) == ("777", "'=1+1")
    assert {row["City"] for row in rows} == {"Rotterdam"}
    assert len(rows) == 3 * 7


def read(download):
    text = download.path().read_text(encoding="utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_the_plan_prints_on_one_sheet_of_a4(fleet, visit):
    window = visit(fleet)
    window.to("/plan?city=London")
    printed = window.page.pdf(prefer_css_page_size=True)
    assert printed.count(b"/Type /Page\n") == 1
    assert A4_LANDSCAPE in printed
    window.page.emulate_media(media="print")
    assert not window.page.get_by_role("button", name="Save").is_visible()
    assert window.page.get_by_role("rowheader", name="Vans needed").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_save_button_is_legible(fleet, visit, scheme):
    window = visit(fleet)
    window.page.emulate_media(color_scheme=scheme)
    window.to("/plan?city=London")
    button = window.page.get_by_role("button", name="Save")
    styles = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    colours = [re.findall(r"\d+", each)[:3] for each in button.evaluate(styles)]
    text, ground = ("#" + bytes(map(int, rgb)).hex() for rgb in colours)
    assert contrast(text, ground) >= 4.5
