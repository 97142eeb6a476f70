"""A planner's morning in a real browser: change, see, export, print."""

import re

import pytest
import sqlalchemy as sa
from python_calamine import CalamineWorkbook

from pipelines import schema
from tests.dashboard.browser import browser
from tests.dashboard.charts.test_forecast_charts import contrast

pytestmark = [pytest.mark.browser, pytest.mark.db]

A4_LANDSCAPE = b"/MediaBox [0 0 841.91998 594.95996]"


@pytest.fixture(scope="module")
def fleet(serve_fleet):
    """With a long name."""
    rename = sa.update(schema.depots).where(schema.depots.c.depot_id == "LON-02")
    return serve_fleet(rename.values(name="London Rotherhithe"), has_nights=False)


# Words in the first columns of tables that stand on two lines.
BROKEN_WORDS = """() => [...document.querySelectorAll('table.hf th:first-child')]
    .flatMap(cell => [...cell.childNodes, ...cell.querySelectorAll('a')])
    .map(node => node.nodeType === Node.TEXT_NODE ? node : node.firstChild)
    .filter(node => node && node.nodeType === Node.TEXT_NODE)
    .flatMap(node => [...node.textContent.matchAll(/\\S+/g)].filter(word => {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
    }).map(word => word[0]))"""
LINK_HEIGHTS = """() => [...document.querySelectorAll('.hf a, .hf-brief a')]
    .map(link => link.getBoundingClientRect().height)"""


def fill_in(page, number, reason, name):
    page.get_by_label("Orders a day").fill(number)
    box = page.get_by_label("Or in your own words")
    box.fill(reason)
    box.press("Enter")
    page.locator(".st-key-your-name input").fill(name)
    page.locator(".st-key-plan-form").get_by_text("Preview:").wait_for()
    if number.isdigit():
        # Numbers of these tests are many times the model's, whatever the weekday.
        page.get_by_text("Yes, that is right").click()


def test_a_pages_link_is_copied(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/plan?city=Rotterdam")
    page = window.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.get_by_role("button", name="Copy link").wait_for()


def test_where_the_browser_lets_no_page_copy_the_link_is_shown(fleet, visit):
    window = visit(fleet)
    window.page.add_init_script("delete Navigator.prototype.clipboard")
    window.to("/plan?city=London")
    shown = []
    window.page.on(
        "dialog", lambda box: (shown.append(box.default_value), box.dismiss())
    )
    window.page.get_by_role("button", name="Copy link").click()
    window.page.wait_for_timeout(500)
    assert shown == [window.page.url]


def test_a_change_is_previewed_saved_exported_and_undone(fleet, visit):
    window = visit(fleet)
    window.to("/plan?city=Rotterdam&form=orders")
    page = window.page
    fill_in(page, "7777", "=1+1", "Anna")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved: Delfshaven").first.wait_for()
    page.locator("table small.mark").get_by_text("set").wait_for()

    beside = visit(fleet)
    beside.to("/?city=Rotterdam")
    with beside.page.expect_download() as saved:
        beside.page.get_by_role("button", name="Save as Excel").click()
    book = CalamineWorkbook.from_path(str(saved.value.path()))
    about = dict(book.get_sheet_by_name("Read me").to_python())
    assert about["Page"] == f"{fleet}?city=Rotterdam"
    assert set(book.sheet_names[1:]) < set(about)
    head, *rows = book.get_sheet_by_name("Data").to_python()
    assert len(rows) == 3 * 7
    rows = [dict(zip(head, row, strict=True)) for row in rows]
    assert {row["City"] for row in rows} == {"Rotterdam"}
    [mine] = [row for row in rows if row["Changed by"] == "Anna"]
    assert (mine["Planned"], mine["Reason"]) == (7777, "=1+1")

    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as Excel").click()
    book = CalamineWorkbook.from_path(str(saved.value.path()))
    assert 7777 in book.get_sheet_by_name("Orders").to_python()[1]

    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone: ").first.wait_for()
    assert page.locator("table small.mark").count() == 0


@pytest.mark.parametrize("path", ["/plan?city=London", "/plan", "/?city=London"])
def test_a_phone_breaks_no_word_of_a_name_and_can_tap_every_link(fleet, visit, path):
    window = visit(fleet, "phone")
    window.to(path)
    assert window.page.evaluate(BROKEN_WORDS) == []
    assert window.too_wide() <= 0
    heights = window.page.evaluate(LINK_HEIGHTS)
    assert heights
    assert min(heights) >= 24


def test_a_number_in_the_grid_leads_to_its_form(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/plan?city=London")
    page = window.page
    link = page.locator("table.hf-plan a[href^=plan][href*=depot]").last
    named = link.get_attribute("aria-label").removeprefix("Change ")
    depot, day = named.split(", ", 1)
    link.click()
    page.wait_for_url("**depot=*")
    window.settled()
    form = page.locator(".st-key-plan-form")
    chosen = form.locator('[data-testid="stSelectbox"]')
    assert depot in chosen.nth(0).inner_html()
    assert day.split(":")[0] in chosen.nth(1).inner_html()
    heading = page.get_by_role("heading", name="Change orders").bounding_box()
    assert heading["y"] < browser.SIZES["phone"][1], "seen without scrolling"
    list_of_depots = chosen.nth(0).get_by_role("combobox")
    list_of_depots.click()
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("option").first.wait_for(state="detached")
    assert form.is_visible(), "Escape closes the list first"
    page.get_by_label("Orders a day").press("Escape")
    form.wait_for(state="detached")


@pytest.mark.parametrize("size", browser.SIZES)
def test_a_cells_form_stays_beside_the_grid_and_takes_steps_and_chips(
    fleet, visit, size
):
    window = visit(fleet, size)
    page = window.page
    window.to("/plan?city=London")
    link = page.locator("table.hf-plan a[href^=plan][href*=depot]").first
    before = int(link.locator("u").inner_text().replace(",", ""))
    link.click()
    page.wait_for_url("**depot=*")
    window.settled()
    number = page.get_by_label("Orders a day")
    page.wait_for_function(
        "() => document.activeElement.ariaLabel?.startsWith('Orders')"
    )
    page.wait_for_timeout(500)
    save = page.get_by_role("button", name="Save", exact=True)
    in_sight, end = page.get_by_label("Your name"), save.bounding_box()["y"]
    if size == "desk":
        in_sight = page.locator(
            "table.hf-plan tr:has(a[href^=plan][href*=depot])"
        ).first
        end = browser.SIZES[size][1]
    box = in_sight.bounding_box()
    assert box["y"] + box["height"] <= end
    page.keyboard.type("+30")
    page.keyboard.press("Enter")
    preview = page.locator(".st-key-plan-form").get_by_text("Preview:")
    preview.wait_for()
    below = preview.bounding_box()
    assert below["y"] + below["height"] <= save.bounding_box()["y"], "in sight"
    page.get_by_text("All changes until now").scroll_into_view_if_needed()
    panel = page.locator(".st-key-plan-panel").bounding_box()
    grid = page.locator("table.hf-plan").bounding_box()
    if size == "desk":
        assert grid["x"] + grid["width"] <= panel["x"]
    assert 0 <= panel["y"] < browser.SIZES[size][1]
    assert number.is_visible()
    assert window.too_wide() <= 0
    page.locator(".st-key-plan-form").get_by_text("Weather").click()
    page.locator(".st-key-your-name input").fill("Ann")
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)  # the run of it has begun
    window.settled()
    assert page.get_by_text("Saved:").count() == 0
    page.keyboard.press("Enter")
    saved = page.get_by_text(
        re.compile(f"Saved: .*{before:,} → {before + 30:,} orders")
    )
    saved.first.wait_for()
    window.settled()
    undo = page.get_by_role("button", name="Undo")
    box = undo.bounding_box()
    assert box["y"] + box["height"] <= browser.SIZES[size][1], "in sight"
    undo.click()
    page.get_by_text("Undone: ").first.wait_for()
    window.close_form()
    assert page.locator(".st-key-plan-panel").count() == 0


def test_a_planners_name_is_kept_by_the_browser_and_never_in_the_address(fleet, visit):
    name = 'Zoë O\'Brien & "Co"; <b>'
    window = visit(fleet)
    window.to("/plan?city=Rotterdam&form=orders")
    field = window.page.locator(".st-key-your-name input")
    field.fill(name)
    field.press("Enter")
    window.page.wait_for_function("() => document.cookie.includes('harbor_planner=Zo')")
    window.page.locator("table.hf-plan a[href^=plan][href*=depot]").last.click()
    window.page.wait_for_url("**depot=*")
    window.settled()
    assert field.input_value() == name
    assert "Zo" not in window.page.url
    field.fill("Anna")
    field.press("Enter")
    window.page.wait_for_function("() => document.cookie.includes('planner=Anna')")


def test_the_history_and_the_actions_fit_a_phone(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/plan?city=London&depot=LON-02")
    page = window.page
    fill_in(page, "7777", "Harbour road: Straßenbahnhaltestellenbauarbeiten", "Ann")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved: ").first.wait_for()
    window.settled()
    actions = page.locator(
        ".st-key-plan-form [data-testid=stButtonGroup]"
    ).first.locator("button")
    tops = actions.evaluate_all("all => all.map(e => e.getBoundingClientRect().top)")
    assert len(set(tops)) == 1, "on one line"
    window.close_form()
    page.get_by_text("All changes until now").click()
    history = page.get_by_role("table", name="Changes")
    history.get_by_text("Harbour road: Stra").wait_for()
    window.settled()
    assert window.too_wide() <= 0
    of_history = BROKEN_WORDS.replace(
        "table.hf th:first-child", ".st-key-plan-history td"
    )
    broken = page.evaluate(of_history)
    assert [word for word in broken if len(word) < 10] == []
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone: ").first.wait_for()


def test_an_address_says_the_same_after_looking_at_another_city(fleet, visit):
    window = visit(fleet)
    window.to("/plan?city=London")
    page = window.page
    table = page.locator("table.hf-plan")
    first = table.inner_text()
    for city in ("Rotterdam", "London"):
        page.get_by_test_id("stButtonGroup").first.get_by_text(city).click()
        page.wait_for_url(f"**city={city}")
        window.settled()
    assert table.inner_text() == first


TWELVE_DEPOTS = """() => {
    const body = document.querySelector('.hf-plan tbody:nth-of-type(2)');
    while (body.rows.length < 12) body.append(body.rows[0].cloneNode(true));
    const place = document.querySelector('.hf-plan').closest('[data-testid=stElementContainer]');
    const moves = Array(7).fill('<li><b>Fri 27 Nov</b><ul>' + '<li><span>1 van</span> '.concat(
        'Rotterdam Delfshaven → Rotterdam Hillegersberg</li>').repeat(3) + '</ul></li>');
    place.insertAdjacentHTML('afterend', place.outerHTML.replace(/<table.*<[/]table>/s,
        '<ul class="hf-moves">' + moves.join('') + '</ul>'));
}"""


def printed(window, address, grow, size=None):
    """The PDF of a page that a script has made longer."""
    window.to(address)
    window.page.evaluate(grow, size)
    return window.page.pdf(prefer_css_page_size=True)


def test_the_plan_prints_on_one_sheet_of_a4(fleet, visit):
    window = visit(fleet)
    pdf = printed(window, "/plan?city=Rotterdam&form=orders", TWELVE_DEPOTS)
    assert pdf.count(b"/Type /Page\n") == 1
    assert A4_LANDSCAPE in pdf
    window.page.emulate_media(media="print")
    save = window.page.get_by_role("button", name="Save", exact=True)
    assert not save.is_visible()
    assert window.page.get_by_role("rowheader", name="Need", exact=True).is_visible()
    assert not window.page.get_by_role("heading", name="Plan", exact=True).is_visible()
    assert window.page.get_by_text("printed ").is_visible()
    assert window.page.title() == "Rotterdam · Plan · Harbor Fleet"
    assert not window.page.get_by_text("Click a cell").is_visible()


def test_a_depot_prints_on_one_sheet_with_its_events(fleet, visit):
    window = visit(fleet)
    window.to("/depot?depot=RTM-01")
    assert window.page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") == 1
    window.page.emulate_media(media="print")
    window.page.set_viewport_size({"width": 900, "height": 640})
    assert window.page.get_by_role("columnheader", name="Events").is_visible()


A_DECIDED_CITY = """() => {
    const body = document.querySelector('.hf-plan tbody:nth-of-type(2)');
    while (body.rows.length < 11) body.append(body.rows[1].cloneNode(true));
    const totals = document.querySelector('.hf-plan tbody');
    while (totals.rows.length < 13) totals.append(totals.rows[0].cloneNode(true));
    body.rows[1].cells[1].innerHTML =
        '<a href="#"><small>+24 hired<span class="desk">, Anna Maria van den Berg</span></small></a>';
    const place = document.querySelector('.hf-plan').closest('[data-testid=stElementContainer]');
    const row = '<tr><th>Sat 28 Nov</th><td class="fill">24 vans hired; covered</td><td class="fill">From '
        + 'the rental at the harbour, at twice the price of a weekday</td>'
        + '<td class="fill">Anna van den Berg, Sat 28 Nov, 08:41</td></tr>';
    const changes = [6, 4].map(n => '<h3>Decisions</h3>,<table class="hf" aria-label="Decisions on vans">'
        + row.repeat(n) + '</table>');
    const elements = changes.join().split(',<').map((html, n) =>
        '<div data-testid="stElementContainer">' + (n ? '<' : '') + html + '</div>');
    const moves = '<li><b>Sat 28 Nov</b><ul><li>24 vans hired or city&#39;s own → 6 Hoogvliet, 3 Alexander'
        + ', 3 Feijenoord, 3 IJsselmonde, 2 Hillegersberg, 2 Kralingen</li></ul></li>';
    place.insertAdjacentHTML('afterend', '<ul class="hf-moves">' + moves.repeat(5) + '</ul>'
        + '<div class="st-key-plan-changes">' + elements.join('') + '</div>');
}"""
OVERFLOWS = """() => [...document.querySelectorAll('.hf-plan td')].filter(cell => {
    const text = document.createRange();
    text.selectNodeContents(cell);
    const inner = text.getBoundingClientRect(), outer = cell.getBoundingClientRect();
    return inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1);
}).map(cell => cell.innerText)"""


def test_a_city_of_ten_depots_with_its_decisions_prints_on_one_sheet(fleet, visit):
    window = visit(fleet)
    pdf = printed(window, "/plan?city=Rotterdam", A_DECIDED_CITY)
    assert pdf.count(b"/Type /Page\n") == 1
    window.page.emulate_media(media="print")
    window.page.set_viewport_size({"width": 1062, "height": 720})
    assert window.page.evaluate(OVERFLOWS) == []


def test_between_a_phone_and_a_desk_a_depots_notes_stand_below_its_day(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/depot?depot=LON-03")
    for width in (browser.SIZES["phone"][0], 800):
        window.fits(width)
        notes = window.page.locator(".hf-days tr.phone")
        assert notes.first.is_visible(), width
        assert not window.page.get_by_role("columnheader", name="Events").is_visible()


DEPOTS_AND_DECISIONS = """([nDepots, nDecided]) => {
    const told = 'Fri 27 Nov, Rotterdam: 13 short; risk accepted by Anna van den Berg, Thu 26 Nov, 08:41: ';
    const item = '<li class="decided"><b class="vans">Vans</b><div><a href="#">' + told
        + '“The customers have been told that some orders come a day later”</a></div></li>';
    document.querySelector('.hf-brief').insertAdjacentHTML('beforeend', `<ul>${item.repeat(nDecided)}</ul>`);
    const body = document.querySelector('.hf-fleet tbody:nth-of-type(2)');
    while (body.rows.length < nDepots) body.append(body.rows[1].cloneNode(true));
}"""


@pytest.mark.parametrize("size", [(30, 0), (24, 6)], ids=str)
def test_the_days_ahead_of_many_depots_print_on_one_sheet(fleet, visit, size):
    pdf = printed(visit(fleet), "/", DEPOTS_AND_DECISIONS, list(size))
    assert pdf.count(b"/Type /Page\n") == 1


@pytest.mark.parametrize(("path", "grid"), [("", ".hf-fleet"), ("depot", ".hf-depots")])
def test_the_heads_of_a_long_grid_stay_in_sight(fleet, visit, path, grid):
    window = visit(fleet, "phone")
    window.to(f"/{path}?city=Rotterdam")
    height = 450
    window.page.set_viewport_size(
        {"width": browser.SIZES["phone"][0], "height": height}
    )
    head = window.page.locator(f"{grid} thead th").nth(1)
    window.page.locator(f"{grid} tbody tr").last.scroll_into_view_if_needed()
    window.page.locator(f"{grid} tbody tr").last.evaluate(
        "row => row.scrollIntoView({block: 'center'})"
    )
    header = window.page.get_by_test_id("stHeader").bounding_box()
    box = head.bounding_box()
    assert header["height"] - 1 <= box["y"] < height / 2


def test_the_save_button_is_legible(fleet, visit):
    window = visit(fleet)
    styles = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    for scheme in ("dark", "light"):
        window.page.emulate_media(color_scheme=scheme)
        window.to("/plan?city=London&form=orders")
        button = window.page.get_by_role("button", name="Save", exact=True)
        colours = [re.findall(r"\d+", each)[:3] for each in button.evaluate(styles)]
        text, ground = ("#" + bytes(map(int, rgb)).hex() for rgb in colours)
        assert contrast(text, ground) >= 4.5, scheme
