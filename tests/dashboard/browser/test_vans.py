"""A planner closes a shortage in a real browser: decide, see it decided, take it back."""

import re

import pytest
import sqlalchemy as sa
from playwright.sync_api import expect
from python_calamine import CalamineWorkbook

from pipelines import schema
from tests.dashboard.browser import browser

pytestmark = [pytest.mark.browser, pytest.mark.db]
ERROR_OF_FIELD = """() => {
    const name = document.querySelector('[aria-label="Your name"]');
    const sentence = document.getElementById(name.getAttribute('aria-describedby'));
    return [name.getAttribute('aria-invalid'), sentence?.textContent ?? null];
}"""
IS_IN_SIGHT = """() => {
  const field = document.activeElement, {x, y, width, height} = field.getBoundingClientRect();
  return document.elementFromPoint(x + width / 2, y + height / 2) === field;
}"""
"""Whether nothing lies over the middle of the field that has the cursor."""


@pytest.fixture(scope="module")
def fleet(serve_fleet):
    """Its cities lack vans on Friday."""
    same = {"vans": 22, "service_level": 0.9, "drivers_per_van": 1, "made_by": "Eva"}
    settings = [
        {"city": city, "orders_per_van": capacity} | same
        for city, capacity in (("London", 100), ("Rotterdam", 45))
    ]
    return serve_fleet(
        sa.insert(schema.city_settings).values(settings), has_nights=False
    )


def brief_of(window):
    window.to("/")
    return window.page.locator(".hf-brief")


def test_a_shortage_is_decided_where_the_brief_leads(fleet, visit):
    window = visit(fleet, "phone")
    page = window.page
    brief = brief_of(window)
    heading = brief.locator("h2").inner_text()
    brief.locator("li .places a", has_text="Rotterdam").first.click()
    page.wait_for_url("**/plan?city=Rotterdam&day=*")
    window.settled()
    form = page.locator(".st-key-plan-form")
    sentence = form.get_by_text("; chance of full delivery").first
    assert sentence.bounding_box()["y"] < browser.SIZES["phone"][1], (
        "on the first screen"
    )
    lacking = int(page.get_by_label("Hired vans").input_value())
    assert f": {lacking} van" in sentence.inner_text()
    assert window.too_wide() <= 0
    page.get_by_label("Note").fill("From Hertz")
    form.get_by_label("Your name").fill("Ann")
    form.get_by_role("button", name="Save decision").click()
    form.get_by_text(f"{lacking} van").first.wait_for()
    saved = form.get_by_test_id("stAlert").get_by_text("Saved: Rotterdam, ")
    saved.wait_for()
    window.settled()
    button = form.get_by_role("button", name="Undo").bounding_box()
    distance = button["y"] - saved.bounding_box()["y"]
    assert 0 < distance < 100, "right above Undo"
    assert form.get_by_role("button", name="Save decision").count() == 0
    covered = form.get_by_text(f"covered, {lacking} van")
    assert re.search(r"full delivery .*\s%\. Without them: ", covered.inner_text())
    row = page.locator("tr", has=page.get_by_role("rowheader", name="Decision"))
    assert f"+{lacking}" in row.inner_text()
    window.close_form()
    page.get_by_text("All changes until now").click()
    assert "From Hertz" in page.get_by_role("table", name="Changes").inner_text()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as Excel").click()
    book = CalamineWorkbook.from_path(str(saved.value.path()))
    head, *days = book.get_sheet_by_name("Cities").to_python()
    hired = [dict(zip(head, day, strict=True)) for day in days]
    words = f"{lacking} vans hired"
    [hired] = [day for day in hired if day["Decision"] == words]
    assert (hired["Hired vans"], hired["Decided by"]) == (lacking, "Ann")
    assert (hired["Short"], hired["Have"]) == (0, 22 + lacking)

    brief = brief_of(window)
    assert brief.locator("h2").inner_text() != heading
    decided = brief.locator("li.covered").inner_text()
    assert f"covered; {lacking} van" in decided
    assert "hired by Ann" in decided
    brief.locator("li.covered a").first.click()
    page.wait_for_url("**form=vans")
    form.get_by_text("Now: ").wait_for()


def test_a_phones_first_screen_says_what_is_short_and_what_is_decided(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/plan?city=London")
    assert window.page.inner_text("h1") == "London"
    for name in ("Short", "Decision"):
        header = window.page.get_by_role("rowheader", name=name, exact=True)
        box = header.bounding_box()
        assert box["y"] + box["height"] < browser.SIZES["phone"][1], name


def test_what_is_not_decided_is_open_on_paper(fleet, visit):
    window = visit(fleet)
    window.to("/plan?city=London")
    undecided = window.page.locator('.hf-plan a[aria-label$=": decide"]').first
    assert undecided.inner_text() == "decide"
    window.page.emulate_media(media="print")
    assert undecided.inner_text() == ""
    shown = undecided.evaluate("link => getComputedStyle(link, '::after').content")
    assert shown == '"to decide"'


def test_a_missing_name_is_said_at_its_field_which_has_the_cursor_and_enter_saves(
    fleet, visit
):
    window = visit(fleet, "phone")
    page = window.page
    window.to("/plan?city=London&form=vans")
    form = page.locator(".st-key-plan-form")
    form.get_by_text("Accept the risk").click()
    form.get_by_label("Your name").fill("")  # the browser may have kept one
    form.get_by_role("button", name="Save decision").click()
    form.locator(".hf-missing", has_text="Your name is missing.").wait_for()
    form.get_by_text("Not saved.").wait_for()
    page.wait_for_function("() => document.activeElement.ariaLabel === 'Your name'")
    assert page.evaluate(IS_IN_SIGHT), "nothing lies over the field"
    assert page.evaluate(ERROR_OF_FIELD) == ["true", "Your name is missing."]
    page.keyboard.type("Cleo")
    page.keyboard.press("Enter")
    form.locator(".hf-missing").wait_for(state="detached")
    window.settled()
    assert page.evaluate(ERROR_OF_FIELD) == [None, None]
    page.keyboard.press("Enter")
    form.get_by_test_id("stAlert").get_by_text("Saved: London, ").wait_for()
    form.get_by_role("button", name="Undo").click()
    form.get_by_test_id("stAlert").get_by_text("Undone: London").wait_for()


def test_the_list_of_depots_that_lack_vans_fits_a_phone(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/depot")
    table = window.page.get_by_role("table", name="Depots")
    assert (
        table.get_by_role(
            "columnheader", name="Late orders, 7 days ahead", exact=True
        ).count()
        == 1
    )
    assert window.too_wide() <= 0
    window.fits(320)
    assert window.too_wide() <= 0


def test_a_form_that_opens_has_the_cursor_and_its_first_field_is_the_next_stop(
    fleet, visit
):
    window = visit(fleet)
    window.to("/plan")
    action = window.page.locator("a.hf-action").first
    action.focus()
    action.press("Enter")
    window.page.wait_for_url("**form=vans*")
    window.settled()
    form = window.page.locator(".st-key-plan-form")
    expect(form).to_be_focused()
    window.page.keyboard.press("Tab")
    assert form.evaluate("form => form.contains(document.activeElement)")


def test_an_offer_is_filled_in_by_a_click(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/plan?city=Rotterdam&form=vans")
    offers = window.page.get_by_role("button", name=re.compile(r"^Hire \d+: "))
    # One where the same number is both likely and sure enough.
    assert 1 <= offers.count() <= 2
    for offer in reversed(offers.all()):
        [number] = re.findall(r"Hire (\d+)", offer.inner_text())
        offer.click()
        expect(window.page.get_by_label("Hired vans")).to_have_value(number)
    assert window.too_wide() <= 0


def test_far_more_vans_than_are_needed_are_asked_about(fleet, visit):
    window = visit(fleet)
    page = window.page
    window.to("/plan?city=Rotterdam&form=vans")
    form = page.locator(".st-key-plan-form")
    form.get_by_text("Hire", exact=True).click()
    page.get_by_label("Hired vans").fill("999")
    page.get_by_label("Hired vans").press("Enter")
    form.get_by_text("That day would have ").wait_for()
    form.get_by_label("Your name").fill("Ann")
    save = form.get_by_role("button", name="Save decision")
    save.click()
    form.get_by_text("Not saved.").wait_for()
    form.get_by_text("Yes, that is right", exact=True).click()
    form.get_by_text(re.compile(r"999 vans hired; .* delivery >\s99\s%")).wait_for()
    window.settled()
    save.click()
    form.get_by_text("Saved: Rotterdam, ").wait_for()
    window.settled()
    assert not save.count(), "nothing is left to be saved"
    name, bar = (
        form.locator(each).bounding_box()
        for each in (".st-key-your-name", ".st-key-plan-save")
    )
    assert name["y"] + name["height"] <= bar["y"], "a confirmation covers no field"
    page.wait_for_function("() => document.activeElement.role === 'status'")
    page.keyboard.press("Tab")
    focused = "() => document.activeElement.innerText"
    assert "Undo" in page.evaluate(focused), "the next stop after the confirmation"
    page.keyboard.press("Enter")
    form.get_by_text("Undone: Rotterdam").wait_for()


def test_what_was_entered_is_not_dropped_unasked(fleet, visit):
    window = visit(fleet)
    page, asked = window.page, []
    window.to("/plan?city=London&form=vans")

    def stay(dialog):
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    form = page.locator(".st-key-plan-form")
    note = form.get_by_label("Note")
    note.click()
    note.press_sequentially("from Hertz")
    form.get_by_label("Your name").fill("Ann")
    window.settled()
    page.get_by_role("link", name="Close", exact=True).click()
    page.wait_for_function("() => !document.hidden")
    page.get_by_role("link", name="Accuracy", exact=True).first.click()
    assert asked == ["beforeunload", "confirm"], "also by the menu"
    assert note.input_value() == "from Hertz"
    form.get_by_text("Accept the risk", exact=True).click()
    window.settled()
    form.get_by_role("button", name="Save decision").click()
    form.get_by_text("Saved: London, ").wait_for()
    window.close_form()
    page.get_by_role("link", name="Accuracy", exact=True).first.click()
    page.get_by_role("heading", name="Accuracy of London", exact=True).wait_for()
    assert len(asked) == 2, "nothing is lost any more"


@pytest.mark.parametrize(("path", "number"), [("/", "33,760"), ("/plan", "5,171")])
def test_the_sums_of_a_thousand_depots_fit_a_phone(fleet, visit, path, number):
    window = visit(fleet, "phone")
    window.to(path)
    sums = window.page.locator(".hf .total td.day")
    assert sums.count() >= 7
    sums.evaluate_all(
        "(cells, number) => cells.forEach(cell => cell.innerHTML = number)", number
    )
    for width in (browser.SIZES["phone"][0], 320):
        window.page.set_viewport_size({"width": width, "height": 800})
        window.page.wait_for_function(f"() => ({browser.TOO_WIDE})() <= 0")


@pytest.mark.parametrize(
    ("page", "sheet", "first"),
    [
        ("models", "Models", "Trained up to"),
        ("pipeline", "Nightly runs", "Night after"),
    ],
)
def test_excel_of_a_system_page_has_its_table(fleet, visit, page, sheet, first):
    window = visit(fleet)
    window.to(f"/{page}")
    with window.page.expect_download() as saved:
        window.page.get_by_role("button", name="Save as Excel").click()
    book = CalamineWorkbook.from_path(str(saved.value.path()))
    head, *rows = book.get_sheet_by_name(sheet).to_python()
    assert head[0] == first
    shown = window.page.locator("table.hf", has_text=first).locator("tbody th")
    assert [row[0] for row in rows] == shown.all_inner_texts()
