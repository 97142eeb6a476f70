"""Shifts and the running day in a real browser, on a phone and at a desk."""

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import sqlalchemy as sa
from python_calamine import CalamineWorkbook

from pipelines import schema
from tests.dashboard.browser import browser

pytestmark = [pytest.mark.browser, pytest.mark.db]

SHARE = np.full(24, 0.5 / 22)
SHARE[[9, 16]] = 0.3, 0.2
SO_FAR = 3
"""Orders of each hour of the running day."""


def add_hours(engine, through):
    """Shares of the days ahead, and a running day of which orders have come until now."""
    now = datetime.now(UTC)
    with engine.begin() as connection:
        depots = connection.execute(sa.select(schema.depots)).all()
        shares = [
            {
                "origin_on": through, "depot_id": depot.depot_id, "share": SHARE.tolist(),
                "target_on": through + timedelta(days=ahead), "concentration": 50.0,
                "city_concentration": 500.0,
            }
            for depot in depots
            for ahead in range(1, 8)
        ]  # fmt: skip
        connection.execute(sa.insert(schema.hour_shares), shares)
        file = sa.insert(schema.files).values(
            path="today.csv", sha256="today", options_sha256="", kind="orders",
            source="default", accepted=1, unchanged=0, rejected=0,
            ignored_columns=[], loaded_at=now,
        )  # fmt: skip
        file_id = connection.scalar(file.returning(schema.files.c.file_id))
        for depot in depots:
            local = now.astimezone(ZoneInfo(depot.timezone))
            by_hour = [SO_FAR * (hour <= local.hour) for hour in range(24)]
            counted = {
                "depot_id": depot.depot_id, "file_id": file_id, "last_file_id": file_id,
            }  # fmt: skip
            rows = [
                counted
                | {
                    "service_on": local.date(), "orders": sum(by_hour),
                    "by_hour": by_hour, "last_time": local.time(),
                },
                counted
                | {
                    "service_on": through, "orders": 24, "by_hour": [1] * 24,
                    "last_time": time(23, 30),
                },
            ]  # fmt: skip
            if local.date() == through:
                rows.pop()
            connection.execute(sa.insert(schema.order_counts), rows)


@pytest.fixture(scope="module")
def fleet(engine, serve_fleet):
    """With orders by the hour; it is about noon."""
    now = datetime.now(UTC)
    # Zones of this name have the sign turned round.
    at_noon = sa.update(schema.depots).values(timezone=f"Etc/GMT{now.hour - 12:+d}")
    address = serve_fleet(at_noon)
    add_hours(engine, now.date() - timedelta(days=1))
    return address


def test_days_ahead_says_where_the_running_day_is_heading(fleet, visit):
    window = visit(fleet, "phone")
    window.to("/")
    section = window.page.get_by_role("region", name="Today so far")
    cities = section.locator("tbody th").all_inner_texts()
    assert set(cities) >= {"London", "Rotterdam"}
    assert "to" in section.locator("tbody tr").last.inner_text()
    for size in ("desk", "phone"):
        window.fits(browser.SIZES[size][0])
    section.get_by_role("link", name="London").click()
    window.page.wait_for_url("**/plan?city=London")
    text = window.settled()
    assert "Drivers 14–22" in text, "one tap from tomorrow's afternoon"
    window.to(f"/plan?city=Rotterdam&form=vans&day={datetime.now(UTC).date()}")
    way = window.page.locator(".st-key-plan-form").get_by_text("by the end of the day")
    assert re.search(
        r"about [\d,]+ orders by the end of the day \([\d,]+ to [\d,]+\)\. The vans",
        way.inner_text(),
    )


def test_the_plan_of_a_city_has_shifts_that_its_planner_sets(fleet, visit):
    window = visit(fleet, "phone")
    page = window.page
    window.to("/plan?city=London")
    assert "09–10" in row_of(page, "Busiest hour")
    assert window.too_wide() <= 0
    page.locator("a[href*='form=settings']").click()
    page.wait_for_url("**form=settings")
    window.settled()
    page.get_by_role("textbox", name="Shifts").fill("05-13, 13-21")
    page.get_by_label("Vans", exact=True).fill("40")
    page.locator(".st-key-your-name input").fill("Ann")
    page.get_by_role("button", name="Save settings").click()
    first, second = "05–13", "13–21"
    page.get_by_role("rowheader", name=f"Drivers {first}", exact=True).wait_for()
    shifts = [numbers(row_of(page, f"Drivers {shift}")) for shift in (first, second)]
    # 40 vans are enough for each, and each has a driver.
    assert [max(day) for day in zip(*shifts, strict=True)] == numbers(
        row_of(page, "Need")
    ), "the fullest shift needs the day's vans"
    assert [sum(day) for day in zip(*shifts, strict=True)] == numbers(
        row_of(page, "Drivers to roster, all shifts")
    )
    orders = [numbers(row_of(page, f"Orders {shift}")) for shift in (first, second)]
    planned = numbers(row_of(page, "Orders"))
    for total, own in zip(planned, zip(*orders, strict=True), strict=True):
        assert sum(own) == pytest.approx(total, abs=1)
    for width in (320, browser.SIZES["desk"][0]):
        window.fits(width)
    window.settled()
    # The form lies over the page's head.
    page.get_by_role("link", name="Close").click()
    window.settled()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as Excel").click()
    book = CalamineWorkbook.from_path(str(saved.value.path()))
    sheet = book.get_sheet_by_name("Shifts").to_python()
    assert {first, second} < {cell for row in sheet for cell in row}


def row_of(page, name):
    """The texts of a row of the city's grid, a day each."""
    row = page.get_by_role("rowheader", name=name, exact=True)
    return row.locator("xpath=..").get_by_role("cell").all_inner_texts()


def numbers(texts):
    return [int(text.replace(",", "")) for text in texts]


EIGHT_DEPOTS = """() => {
    // Its first row says what the cells of the depots below are.
    const body = document.querySelectorAll('.hf-plan tbody')[1];
    while (body.rows.length < 1 + 8) body.append(body.rows[1].cloneNode(true));
}"""
LETTERS = """selector => [...document.querySelectorAll(selector)]
    .map(cell => 0.75 * parseFloat(getComputedStyle(cell).fontSize) * cell.currentCSSZoom)"""


def test_a_city_of_eight_depots_prints_on_one_sheet_from_the_dark_theme(fleet, visit):
    window = visit(fleet)
    page = window.page
    page.emulate_media(color_scheme="dark")
    window.to("/plan?city=London")
    page.evaluate(EIGHT_DEPOTS)
    assert page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") == 1
    page.emulate_media(media="print", color_scheme="dark")
    grid = page.locator(".hf-plan")
    assert min(page.evaluate(LETTERS, ".hf-plan :is(th, td, small)")) >= 9
    assert page.get_by_role("rowheader", name="Busiest hour").is_visible()
    assert not page.get_by_text("Set your own").is_visible()
    ground = "e => getComputedStyle(e).backgroundColor"
    heads = grid.locator("thead th").first.evaluate(ground)
    assert heads in {"rgba(0, 0, 0, 0)", "rgb(255, 255, 255)"}
