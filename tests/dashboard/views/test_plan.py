"""The page Plan as a planner meets it."""

import pytest
import sqlalchemy as sa

from dashboard import queries
from pipelines import schema
from tests.dashboard.seed import seed
from tests.dashboard.views.test_pages import assert_no_traceback, clear, page_text

pytestmark = pytest.mark.db


def fill(app, **fields):
    """Fills the form in and sends it."""
    form = {box.label: box for box in app.selectbox}
    form |= {box.label: box for box in [*app.text_input, *app.number_input]}
    for label, value in fields.items():
        form[label].set_value(value)
    return app.button[0].click().run()


def change(app, orders, reason="A strike", name="Anna"):
    return fill(
        app,
        **{"Orders (for “Set orders”)": orders, "Reason": reason},
        **{"Your name": name},
    )


def test_the_plan_of_a_city_names_its_depots_and_no_others(seeded, open_page):
    app = open_page("plan")
    app.pills(key="city").select("Rotterdam").run()
    assert_no_traceback(app)
    text = page_text(app)
    assert "Waalhaven" in text
    assert "Greenwich" not in text
    assert "Vans needed" in text


def test_the_assumptions_are_read_from_the_url(seeded, open_page):
    app = open_page("plan", carries="25", level="75")
    assert_no_traceback(app)
    assert "25 orders per van" in page_text(app)
    assert "service level 75 %" in page_text(app)


def test_costs_in_the_url_are_applied(seeded, open_page):
    app = open_page("plan", by="Costs", order="7", idle="90")
    assert_no_traceback(app)
    assert "7 per undelivered order and 90 per idle van" in page_text(app)


def test_an_override_is_in_the_plan_and_in_its_history(seeded, open_page):
    app = change(open_page("plan"), 4321)
    assert_no_traceback(app)
    assert not app.error
    assert " changed." in app.success[0].value
    text = page_text(app)
    assert "set 4,321" in text
    assert "A strike" in text
    assert "Anna" in text


def test_an_override_without_a_reason_is_refused(seeded, open_page):
    app = change(open_page("plan"), 4321, reason="")
    assert_no_traceback(app)
    assert "The reason has 0 letters" in app.error[0].value
    assert queries.overrides_ahead(queries.freshness()).empty


def test_a_city_can_be_locked_at_once(seeded, open_page):
    app = fill(
        open_page("plan"),
        Action="lock", Depot="", Reason="The roster is out", **{"Your name": "Anna"},
    )  # fmt: skip
    assert_no_traceback(app)
    assert " locked for 3 depots" in app.success[0].value
    assert page_text(app).count("<small>locked ") == 3
    refused = change(open_page("plan"), 1)
    assert "was locked by Anna" in refused.error[0].value


def test_without_a_forecast_there_is_no_plan(seeded, write, open_page):
    clear(write, schema.scores, schema.forecasts)
    app = open_page("plan")
    assert_no_traceback(app)
    assert "there is nothing to plan" in app.info[0].value


def test_without_known_vans_every_depot_gets_what_it_needs(seeded, write, open_page):
    write(sa.update(schema.depots).values(vans=None))
    app = open_page("plan")
    assert_no_traceback(app)
    text = page_text(app)
    assert "The number of vans in London is not known" in text
    assert 'class="short"' not in text
    assert "Vans to spare" not in text
    app.number_input(key="vans in London").set_value(3).run()
    text = page_text(app)
    assert "3 vans per day" in text
    assert 'class="short"' in text


def test_a_late_fleet_is_planned_with_a_warning(
    dashboard, clean_engine, yesterday, open_page
):
    seed(clean_engine, yesterday.replace(year=yesterday.year - 1, day=14), dashboard)
    app = open_page("plan")
    assert_no_traceback(app)
    assert "The newest orders are from" in app.error[0].value
    assert "Vans needed" in page_text(app)
