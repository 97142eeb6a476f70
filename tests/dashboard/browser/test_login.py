"""A login at a provider of OpenID Connect, walked by a real browser."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.settings import login
from tests.conftest import empty_tables
from tests.dashboard.browser import browser
from tests.dashboard.browser.provider import CLIENT_ID, CLIENT_SECRET, Person, providing
from tests.dashboard.seed import seed
from tests.ports import free_port

pytestmark = [pytest.mark.browser, pytest.mark.db]

ANNA = Person("anna@example.com", "Anna Visser")
EVE = Person("eve@elsewhere.org", "Eve")
# At a provider where anybody may type any address.
MALLORY = Person("mallory@example.com", "Mallory", verified=None)
TRUDY = Person("trudy@example.com", "Trudy", verified="false")
STRANGERS = (EVE, MALLORY, TRUDY)
# Within the two minutes that a login forgives a provider's clock.
LATE = Person("late@example.com", "Late", lasts_s=-30)


def set_login(home, address, provider):
    file = home / login.FILE
    file.touch(0o600)
    file.write_text(f"""
        [auth]
        redirect_uri = "{address}/oauth2callback"
        cookie_secret = "a long secret that nobody guesses"
        client_id = "{CLIENT_ID}"
        client_secret = "{CLIENT_SECRET}"
        server_metadata_url = "{provider.address}/.well-known/openid-configuration"

        [allow]
        domains = ["example.com"]
        """)


@pytest.fixture
def guarded(clean_engine, database_url, tmp_path, chromium):
    """The address of a fleet's dashboard behind a login, and its provider."""
    seed(
        clean_engine,
        datetime.now(UTC).date() - timedelta(days=1),
        tmp_path / "artefacts",
    )
    port = free_port()
    with providing(ANNA, LATE, *STRANGERS) as provider:
        set_login(tmp_path, f"http://127.0.0.1:{port}", provider)
        with browser.serving(database_url, tmp_path, port) as address:
            yield address, provider.address
    empty_tables(clean_engine)


def log_in(page, person):
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name=person.email).click()


def test_only_listed_users_are_admitted_and_overrides_bear_their_names(guarded, visit):
    address, provider = guarded
    window = visit(address, beside=provider)
    page = window.page
    assert "Orders up to" not in window.to("/plan?city=Rotterdam")

    for stranger in STRANGERS:
        log_in(page, stranger)
        page.get_by_text("have no access to these pages").wait_for()
        assert "Orders up to" not in window.settled()
        page.get_by_role("button", name="Log out").click()

    log_in(page, LATE)
    page.get_by_text("Your login has expired").wait_for()
    assert "Orders up to" not in window.settled()

    log_in(page, ANNA)
    page.get_by_text("Orders up to").wait_for()
    window.to("/plan?city=Rotterdam&form=orders")
    assert not page.get_by_label("Your name").is_visible()
    page.get_by_label("Orders a day").fill("7777")
    reason = page.get_by_label("Or in your own words")
    reason.fill("A strike")
    reason.press("Enter")
    page.locator(".st-key-plan-form").get_by_text("Preview:").wait_for()
    page.get_by_text("Yes, that is right").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved: ").first.wait_for()
    page.get_by_text("All changes until now").click()
    changed = page.get_by_role("cell", name="Anna Visser, ")
    changed.or_(page.get_by_role("rowheader", name="Anna Visser, ")).nth(1).wait_for()
    window.to("/plan?city=Rotterdam")
    page.get_by_text("Your last change").wait_for()
    assert "harbor_planner" not in page.evaluate("() => document.cookie")
