"""The pages in a real browser: what a phone and a desk see of a fleet."""

import io

import pytest
import sqlalchemy as sa
from PIL import Image

from pipelines import schema
from tests.dashboard.browser import browser
from tests.dashboard.browser.browser import SIZES

pytestmark = [pytest.mark.browser, pytest.mark.db]

PAGES = {
    "/": ("Days ahead", 1),
    "/depot?depot=LON-01": ("Greenwich", 2),
    "/plan": ("Plan", 0),
    "/accuracy": ("Accuracy", 1),
    "/models": ("Models", 0),
    "/pipeline": ("Pipeline", 0),
}
"""Addresses; each page's name and number of charts."""
CHART = '[data-testid="stVegaLiteChart"]'
SMALL_PHONE = 320

PHONE = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/130.0.0.0 Mobile Safari/537.36"
)

# What the style writes behind an element.
WRITTEN = "element => getComputedStyle(element, '::after').content"
# Visible texts that are nearly white.
FAINT_TEXTS = """() => [...document.querySelectorAll(
        'h1, h2, p, th, td, dt, dd, small, svg text')]
    .filter(element => element.getClientRects().length)
    .filter(element => {
        const style = getComputedStyle(element);
        const ink = element.tagName === 'text' ? style.fill : style.color;
        return ink.match(/[0-9.]+/g).slice(0, 3).every(part => Number(part) > 120); })
    .map(element => element.textContent.slice(0, 40))"""


@pytest.fixture(scope="module")
def fleet(serve_fleet):
    rename = sa.update(schema.depots).where(schema.depots.c.depot_id == "LON-02")
    return serve_fleet(rename.values(name="Jätkäsaari"))


@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_by_its_own_address_draws_its_charts_and_fits(fleet, visit, path):
    """On a desk, and made as narrow as a tablet, a phone and a small phone."""
    name, n_charts = PAGES[path]
    window = visit(fleet)
    window.to(path)
    shown = "Greenwich · London · LON-01" if "depot=" in path else name
    assert window.page.title() == f"{shown} · Harbor Fleet"
    assert window.too_wide() <= 0
    for width in (SIZES["desk"][0], browser.TABLET, SIZES["phone"][0], SMALL_PHONE):
        window.fits(width)
        text = window.settled()
        assert window.page.inner_text("h1").strip() == name
        assert len(window.page.query_selector_all(CHART)) == n_charts
        assert "Orders up to" in text


def test_back_and_forward_find_what_was_chosen(fleet, visit):
    window = visit(fleet)
    page = window.page

    def shown(step):
        """Takes a step, and gives the page, its address and what is chosen."""
        step()
        page.wait_for_timeout(1000)
        window.settled()
        chosen = page.locator("[data-testid=stButtonGroup] [aria-checked=true]")
        address = page.url.removeprefix(window.address)
        return page.inner_text("h1"), address, chosen.all_inner_texts()

    def clicking(text):
        return page.locator(f"[data-testid=stButtonGroup] :text-is('{text}')").click

    def models_of_the_menu():
        page.get_by_text("System", exact=True).click()
        page.get_by_text("Models", exact=True).click()

    steps = [
        shown(lambda: page.goto(window.address)),
        shown(clicking("London")),
        shown(clicking("Rotterdam")),
        shown(models_of_the_menu),
    ]
    assert [chosen for _, _, chosen in steps[1:3]] == [
        ["London", "3 weeks"], ["Rotterdam", "3 weeks"],
    ]  # fmt: skip
    assert [shown(page.go_back) for _ in range(3)] == steps[2::-1]
    assert [shown(page.go_forward) for _ in range(3)] == steps[1:]


def test_back_from_a_chosen_depot_leads_to_the_list_and_so_does_its_link(fleet, visit):
    window = visit(fleet)
    page = window.page
    window.to("/depot")
    for name, depot in (("Greenwich", "LON-01"), ("Poplar", "LON-03")):
        window.choose("Depot", name)
        page.wait_for_url(f"**/depot?depot={depot}")
        window.settled()
    page.go_back()
    page.get_by_role("heading", name="Greenwich", level=1).wait_for()
    window.settled()
    page.go_back()
    page.get_by_role("heading", name="Depots", level=1).wait_for()
    assert page.url == f"{window.address}/depot"
    page.go_forward()
    page.get_by_role("heading", name="Greenwich", level=1).wait_for()
    window.settled()
    page.get_by_role("link", name="All depots", exact=True).click()
    page.get_by_role("heading", name="Depots", level=1).wait_for()


@pytest.mark.parametrize("path", ["/", "/plan?city=London"])
def test_the_first_tab_leads_to_the_first_number(fleet, visit, path):
    window = visit(fleet)
    window.to(path)
    window.page.keyboard.press("Tab")
    assert window.page.get_by_text("Skip to the numbers").bounding_box()["y"] >= 0
    assert not window.page.get_by_text("Skip to main content").is_visible()
    window.page.keyboard.press("Enter")
    reached = "() => Boolean(document.activeElement.closest('.hf, .hf-brief'))"
    assert window.page.evaluate(reached)


def test_a_city_that_the_menu_carries_over_is_one_step_of_the_history(fleet, visit):
    window = visit(fleet)
    page = window.page
    window.to("/plan?city=London")
    for name, path in (("Accuracy", "accuracy"), ("Days ahead", "")):
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_url(f"{window.address}/{path}?city=London")
        window.settled()
    for step, path in (
        (page.go_back, "accuracy"), (page.go_back, "plan"), (page.go_forward, "accuracy"),
    ):  # fmt: skip
        step()
        page.wait_for_timeout(1000)
        window.settled()
        assert page.url == f"{window.address}/{path}?city=London"
        # Both headings name the city.
        heading = {"plan": "London", "accuracy": "Accuracy of London"}[path]
        assert page.inner_text("h1") == heading


# What Streamlit shows where a script fails; the pages have no way to fail on purpose.
FAILURE = """() => {
    document.querySelector('[data-testid=stMain]').insertAdjacentHTML('afterbegin',
        '<div data-testid="stException"><p>redacted</p><a href="#">Ask Google</a></div>');
    const box = document.querySelector('[data-testid=stException]');
    return [getComputedStyle(box, '::before').content, box.innerText];
}"""


def test_a_part_that_fails_says_so_to_its_reader(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/plan")
    sentence, rest = window.page.evaluate(FAILURE)
    assert "This part of the page could not be shown. Load the page again" in sentence
    assert rest == ""


def test_the_brief_fits_one_screen_of_a_phone(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/")
    brief = window.page.locator(".hf-brief")
    assert "to look at" in brief.locator("h2").inner_text()
    box = brief.bounding_box()
    assert box["y"] + box["height"] <= SIZES["phone"][1]
    brief.locator("a", has_text="Poplar (London)").first.click()
    window.page.wait_for_url("**/depot?depot=LON-03")


def test_a_phone_has_the_totals_of_all_cities_and_the_depots_of_a_chosen_one(
    fleet, visit
):
    window = visit(fleet, "phone")
    waalhaven = window.page.locator("table.hf-fleet a", has_text="Waalhaven")
    for path, is_seen in (("/", False), ("/?city=Rotterdam", True)):
        window.to(path)
        assert waalhaven.is_visible() == is_seen
        advice = window.page.locator("table.hf-fleet tbody th").first.evaluate(WRITTEN)
        assert ("Choose a city" in advice) != is_seen
    menu = window.page.get_by_test_id("stExpandSidebarButton")
    assert menu.evaluate(WRITTEN) == '"Menu"'
    assert menu.bounding_box()["height"] >= 44


def test_a_phones_first_screen_of_accuracy_has_the_newest_day(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/accuracy")
    weeks = window.page.get_by_role("table", name="Newest day and weeks")
    newest = weeks.get_by_role("row").nth(1).bounding_box()
    assert newest["y"] + newest["height"] < SIZES["phone"][1]


@pytest.mark.parametrize(
    "said",
    [{"user_agent": PHONE, "is_mobile": True, "has_touch": True}, {}],
    ids=["a phone", "a narrow window of a desk"],
)
def test_a_phones_menu_closes_after_a_choice_and_stays_closed(fleet, chromium, said):
    size = dict(zip(("width", "height"), SIZES["phone"], strict=True))
    phone = chromium.browser.new_context(viewport=size, **said)
    window = browser.Visit(phone.new_page(), fleet)
    window.to("/")
    page = window.page
    closed = page.locator('[data-testid="stSidebar"][data-collapsed="true"]')
    page.get_by_test_id("stExpandSidebarButton").click()
    closed.wait_for(state="detached")
    menu = page.get_by_test_id("stSidebar")
    menu.get_by_role("link", name="Plan", exact=True).click()
    page.wait_for_url("**/plan")
    closed.wait_for(state="attached")
    for is_open in (False, True):
        if is_open:
            page.get_by_test_id("stExpandSidebarButton").click()
            closed.wait_for(state="detached")
        page.reload()
        window.settled()
        closed.wait_for(state="attached")
    assert window.wrong == []
    phone.close()


def test_a_choice_is_kept_on_other_pages_and_after_a_reload(fleet, visit):
    window = visit(fleet)
    page = window.page

    def go(name, title, path):
        page.get_by_role("link", name=name, exact=True).click()
        page.get_by_role("heading", name=title, exact=True, level=1).wait_for()
        page.wait_for_url(f"**/{path}")
        window.settled()

    window.to("/?city=Rotterdam")
    go("Plan", "Rotterdam", "plan?city=Rotterdam")
    go("Depots", "Depots", "depot*")
    window.choose("Depot", "jatka")  # Jätkäsaari, without its accents
    page.wait_for_url("**/depot?depot=LON-02")
    window.settled()
    shown = page.get_by_role("combobox", name="Depot").first.input_value()
    assert shown == "Jätkäsaari · London · LON-02", (
        "without the spelling it is found by"
    )
    go("Plan", "Rotterdam", "plan?city=Rotterdam")
    go("Depots", "Jätkäsaari", "depot?depot=LON-02")
    page.reload()
    page.get_by_role("heading", name="Jätkäsaari", level=1).wait_for()
    assert page.url == f"{window.address}/depot?depot=LON-02"


# The text of a chart's tooltip wherever the pointer is between its axes.
def hover(window, chart, across):
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    window.page.mouse.move(box["x"] + 5, box["y"] + 5)
    window.page.mouse.move(
        box["x"] + across * box["width"], box["y"] + 0.35 * box["height"]
    )
    tip = window.page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    return tip.inner_text()


@pytest.mark.parametrize(
    ("path", "charts"),
    [
        ("/accuracy", {0: ("Forecast off by", "Same day last week")}),
        (
            "/depot?depot=RTM-02",
            {0: ("Day", "Actual", "Forecast", "Low (P10)", "High (P90)")},
        ),
    ],
)
def test_one_hover_tells_every_series_in_words(fleet, visit, path, charts):
    window = visit(fleet)
    window.to(path)
    for number, titles in charts.items():
        chart = window.page.locator(CHART).nth(number)
        for across in (0.35, 0.5, 0.65):
            text = hover(window, chart, across)
            for title in titles:
                assert title in text, (number, across)
            for raw in ("_", "null", "NaN", "undefined"):
                assert raw not in text, (number, across)


def test_paper_is_white_and_ink_is_dark_from_the_dark_theme(fleet, visit):
    window = visit(fleet)
    window.page.emulate_media(media="print", color_scheme="dark")
    for path in ("/depot?depot=RTM-02", "/plan"):
        window.to(path)
        shot = Image.open(io.BytesIO(window.page.screenshot())).convert("L")
        bright = sum(shot.histogram()[200:]) / (shot.width * shot.height)
        assert bright > 0.8, f"{path}: only {bright:.0%} of the page is bright"
        faint = window.page.evaluate(FAINT_TEXTS)
        assert faint == [], path


def test_the_menu_marks_the_group_of_a_page(fleet, visit):
    window = visit(fleet)
    ground = "e => getComputedStyle(e).backgroundColor"
    grounds = set()
    for path in ("/plan", "/models"):
        window.to(path)
        grounds.add(window.page.get_by_test_id("stTopNavSection").evaluate(ground))
    assert len(grounds) == 2


def test_a_scenario_is_chosen_by_keyboard(fleet, visit):
    window = visit(fleet)
    window.to("/depot?depot=LON-01")
    # The first stop skips to the numbers, the second is the logo.
    window.page.keyboard.press("Tab")
    window.page.keyboard.press("Tab")
    where = "() => [document.activeElement.tagName, getComputedStyle(document.activeElement)"
    assert window.page.evaluate(f"{where}.outlineStyle]") == ["BUTTON", "solid"]
    fold = window.page.locator("summary", has_text="What if")
    # A run of the page empties a box in which somebody types.
    window.settled()
    fold.press("Enter")
    window.settled()
    window.choose("Scenario", "Closed")
    window.page.get_by_text("With this scenario").wait_for()
