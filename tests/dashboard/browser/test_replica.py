"""A planner saves a change in a real browser while the replica is behind."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.dashboard.browser import browser
from tests.dashboard.browser.test_plan import fill_in
from tests.dashboard.seed import seed
from tests.replicas import catch_up, paused, replica_of

pytestmark = [pytest.mark.browser, pytest.mark.db]


@pytest.fixture
def fleet(clean_engine, database_url, tmp_path):
    """The address of a dashboard that reads a replica, and the replica's URL."""
    seed(
        clean_engine,
        datetime.now(UTC).date() - timedelta(days=1),
        tmp_path / "artefacts",
    )
    with replica_of(database_url) as url:
        catch_up(database_url, url)
        with browser.serving(database_url, tmp_path, HARBOR_REPLICA_URL=url) as address:
            yield address, url


def test_a_change_is_seen_at_once_although_the_replica_does_not_have_it(fleet, visit):
    address, replica = fleet
    window = visit(address)
    window.to("/plan?city=Rotterdam")
    page = window.page
    marked = page.locator("table small.mark").get_by_text("set")
    with paused(replica):
        fill_in(page, "7777", "A fair", "Anna")
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_text("Saved: Delfshaven").first.wait_for()
        marked.wait_for()
        another = visit(address)
        another.to("/plan?city=Rotterdam")
        another.page.locator("table small.mark").get_by_text("set").wait_for()
    page.reload()
    marked.wait_for()
