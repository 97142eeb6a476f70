"""Each page as a user meets it: with data, without, and with something broken."""

import re

import pytest
import sqlalchemy as sa
import streamlit as st
from streamlit.testing.v1 import AppTest

from dashboard.queries import database
from pipelines import schema
from tests.dashboard.cells import Cells
from tests.dashboard.conftest import APP
from tests.dashboard.seed import seed

pytestmark = pytest.mark.db

VIEWS = ("fleet", "depot", "plan", "accuracy", "models", "pipeline")


def said(app):
    """Every sentence of a page, and its HTML."""
    kinds = (app.title, app.caption, app.info, app.warning, app.error, app.markdown)
    texts = [element.value for kind in kinds for element in kind]
    return " ".join([*texts, *(element.proto.body for element in app.get("html"))])


def in_url(app, name):
    """A parameter of the URL; AppTest gives back a list or what was set."""
    value = app.query_params[name]
    return value[0] if isinstance(value, list) else value


def assert_no_traceback(app):
    assert not app.exception, [error.message for error in app.exception]


def forget(write, *tables):
    for table in tables:
        write(sa.delete(table))


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_without_depots_says_how_to_load_them(dashboard, open_page, view):
    app = open_page(view)
    assert_no_traceback(app)
    assert "No depots yet" in app.info[0].value
    assert "harbor ingest PATH" in app.info[0].value


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_without_demand_says_what_to_load(seeded, write, open_page, view):
    forget(write, schema.demand_versions)
    app = open_page(view)
    assert_no_traceback(app)
    assert "they have no orders yet" in app.info[0].value


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_without_its_database_says_so(seeded, monkeypatch, open_page, view):
    monkeypatch.setenv("HARBOR_DATABASE_URL", "postgresql://u:secret@127.0.0.1:9/x")
    app = open_page(view)
    assert_no_traceback(app)
    assert "The database does not answer" in app.error[0].value
    assert "secret" not in said(app)


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_started_by_hand_names_the_command(
    dashboard, monkeypatch, open_page, view
):
    monkeypatch.delenv("HARBOR_DATABASE_URL")
    app = open_page(view)
    assert_no_traceback(app)
    assert "`harbor dashboard`" in app.error[0].value


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_says_how_new_its_numbers_are(seeded, open_page, view):
    app = open_page(view, depot="LON-01")
    assert_no_traceback(app)
    assert app.caption[0].value.startswith("Orders up to **")
    assert "forecast made" in app.caption[0].value
    assert not app.error


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_asks_at_most_six_questions(seeded, open_page, view):
    open_page("models")  # the frame is warm, so that what is counted is this page's
    st.cache_data.clear()
    asked = []
    engine = database.engine()
    sa.event.listen(
        engine, "before_cursor_execute", lambda *said: asked.append(said[2])
    )
    app = AppTest.from_file(str(APP), default_timeout=30)
    app.query_params["depot"] = "LON-01"
    if view != "fleet":
        app.switch_page(f"views/{view}.py")
    app.run()
    assert_no_traceback(app)
    assert app.title[0].value != ("Days ahead" if view != "fleet" else "")
    assert 0 < len(asked) <= 6, "\n".join(asked)


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_says_in_red_what_is_late(
    dashboard, clean_engine, yesterday, open_page, view
):
    seed(clean_engine, yesterday.replace(year=yesterday.year - 1, day=14), dashboard)
    app = open_page(view, depot="LON-01")
    assert_no_traceback(app)
    assert "The newest orders are from" in app.error[0].value
    assert "days ago" in app.error[0].value


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_says_that_its_forecast_is_of_a_late_feed(
    seeded, write, open_page, view
):
    metrics = {"late_depots": 1, "late_cities": {"London": 1}}
    write(sa.insert(schema.runs).values(step="forecast", state="done", metrics=metrics))
    write(sa.update(schema.forecasts).values(run_id=1))
    app = open_page(view, depot="LON-01")
    assert_no_traceback(app)
    assert "yet from some depots in London" in app.warning[0].value


def test_the_fleet_shows_its_total_and_every_depot(seeded, open_page):
    app = open_page("fleet")
    assert_no_traceback(app)
    shown = said(app)
    newest = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    assert f"{round(newest['p50'].sum()):,}" in shown
    for name in seeded.depots["name"]:
        assert name in shown
    assert "missing data after" in shown


def test_a_city_in_the_url_is_the_only_one_shown(seeded, open_page):
    app = open_page("fleet", city="London")
    assert app.pills(key="city").value == "London"
    shown = said(app)
    assert "Greenwich" in shown
    assert "Waalhaven" not in shown


def test_a_chosen_city_is_the_only_one_shown(seeded, open_page):
    app = open_page("fleet")
    app.pills(key="city").select("Rotterdam").run()
    assert "Waalhaven" in said(app)
    assert "Greenwich" not in said(app)


def test_a_city_that_is_none_shows_all_of_them(seeded, open_page):
    shown = said(open_page("fleet", city="Atlantis"))
    assert "Greenwich" in shown
    assert "Waalhaven" in shown


def first_of(app, city):
    """Name of the depot that comes first in a city's part of the grid."""
    [grid] = [e.proto.body for e in app.get("html") if "<thead>" in e.proto.body]
    names = [row[0] for row in Cells(grid).text]
    return names[names.index(city) + 1]


def test_depots_come_in_the_order_that_is_asked_for(seeded, open_page):
    app = open_page("fleet")
    assert first_of(app, "London").startswith("Poplar")
    assert "missing data after" in first_of(app, "London")
    app.pills(key="first").select("Name").run()
    assert_no_traceback(app)
    assert first_of(app, "London").startswith("Greenwich")
    assert "depots by name" in said(app)


def test_an_order_in_the_url_is_kept_with_its_reasons(seeded, open_page):
    app = open_page("fleet", first="Widest band")
    assert app.pills(key="first").value == "Widest band"
    assert re.search(
        r"Greenwich\D*[\d,]+ – [\d,]+ on \w{3} \d+", first_of(app, "London")
    )


def test_the_numbers_are_not_made_before_they_are_asked_for(seeded, open_page):
    app = open_page("fleet")
    assert not app.dataframe
    app.session_state["data days-ahead"] = True
    app.run()
    assert_no_traceback(app)
    assert len(app.dataframe[0].value) == 42


def test_without_a_forecast_the_fleet_says_how_to_make_one(seeded, write, open_page):
    forget(write, schema.scores, schema.forecasts)
    app = open_page("fleet")
    assert_no_traceback(app)
    assert "No forecast has been made yet" in app.info[0].value


def test_without_a_champion_or_forecast_pages_still_stand(seeded, write, open_page):
    forget(write, schema.scores, schema.forecasts, schema.models)
    for view in VIEWS:
        app = open_page(view, depot="LON-01")
        assert_no_traceback(app)
        assert app.info, view


def test_a_fleet_whose_depots_are_all_gone_says_so(seeded, write, open_page):
    write(sa.update(schema.depots).values(closed_on=seeded.through))
    app = open_page("fleet")
    assert_no_traceback(app)
    assert "no open depots" in app.info[0].value


def test_a_depot_in_the_url_is_shown(seeded, open_page):
    app = open_page("depot", depot="RTM-03")
    assert_no_traceback(app)
    assert app.selectbox(key="choice of depot").value == "RTM-03"
    own = seeded.forecasts.query("depot_id == 'RTM-03'")
    own = own[own["origin_on"] == seeded.through]
    assert f"{round(own['p50'].sum()):,}" in said(app)


def test_a_depot_whose_orders_are_late_says_so_and_the_others_do_not(seeded, open_page):
    late = open_page("depot", depot="LON-03")
    assert_no_traceback(late)
    assert "Missing data: this depot's newest orders" in late.warning[0].value
    assert not open_page("depot", depot="LON-01").warning


def test_a_depot_without_a_url_asks_to_choose(seeded, open_page):
    app = open_page("depot")
    assert_no_traceback(app)
    assert "Choose a depot above" in app.info[0].value


def test_an_unknown_depot_is_named_and_not_shown(seeded, open_page):
    app = open_page("depot", depot="<b>NO-99")
    assert_no_traceback(app)
    assert "There is no depot “\\<b\\>NO-99”" in app.info[0].value


def test_every_choice_of_a_depot_reaches_the_url_and_the_page(seeded, open_page):
    app = open_page("depot")
    for depot in ("LON-01", "RTM-02", "LON-03", "RTM-02"):
        app.selectbox(key="choice of depot").select(depot).run()
        assert_no_traceback(app)
        assert in_url(app, "depot") == depot
        assert app.selectbox(key="choice of depot").value == depot
        assert app.get("download_button")[0].proto.label == "Save as CSV"


def test_clearing_the_depot_clears_the_url(seeded, open_page):
    app = open_page("depot", depot="LON-01")
    app.selectbox(key="choice of depot").set_value(None).run()
    assert_no_traceback(app)
    assert "depot" not in app.query_params


def test_a_depot_without_forecast_or_scores_shows_its_history(seeded, write, open_page):
    forget(write, schema.scores, schema.forecasts)
    app = open_page("depot", depot="LON-01")
    assert_no_traceback(app)
    infos = " ".join(info.value for info in app.info)
    assert "This depot has no forecast yet" in infos
    assert "No forecast of this depot has been scored yet" in infos
    assert len(app.get("vega_lite_chart")) == 1


def test_a_depot_of_which_nothing_is_known_says_so(seeded, write, open_page):
    for table in (schema.scores, schema.forecasts, schema.demand_versions):
        write(sa.delete(table).where(table.c.depot_id == "LON-02"))
    app = open_page("depot", depot="LON-02")
    assert_no_traceback(app)
    assert "No data for this depot" in " ".join(i.value for i in app.info)


def test_past_forecasts_that_are_hindcasts_say_so(seeded, write, open_page):
    write(sa.delete(schema.scores).where(schema.scores.c.is_live))
    app = open_page("depot", depot="LON-01")
    assert "**Hindcasts:**" in app.warning[0].value


def test_what_if_answers_at_once(seeded, open_page):
    app = open_page("depot", depot="LON-01")
    n_charts = len(app.get("vega_lite_chart"))
    app.selectbox(key="what if").select("closed").run()
    assert_no_traceback(app)
    assert len(app.get("vega_lite_chart")) == n_charts + 1
    assert "With this scenario" in said(app)


def test_a_forecast_is_taken_apart_when_asked(seeded, open_page):
    app = open_page("depot", depot="LON-01")
    assert "Usual day" not in said(app)
    app.toggle(key="drivers").set_value(True).run()
    assert_no_traceback(app)
    assert "Usual day" in " ".join(each.proto.body for each in app.get("html"))


@pytest.mark.parametrize("broken", ["missing", "corrupt"])
def test_a_broken_artefact_leaves_the_page_and_says_what_to_do(
    dashboard, seeded, open_page, broken
):
    [path] = dashboard.glob("*.npz")
    if broken == "missing":
        path.unlink()
    else:
        path.write_bytes(b"PK\x03\x04 half a file")
    app = open_page("depot", depot="LON-01")
    assert_no_traceback(app)
    assert len(app.get("vega_lite_chart")) == 2
    assert path.name in app.error[0].value


def test_accuracy_is_of_live_forecasts_unless_asked(seeded, open_page):
    app = open_page("accuracy")
    assert_no_traceback(app)
    assert app.get("button_group")[0].value == "Live"
    assert "**Live:**" in said(app)
    assert not app.warning


def test_hindcasts_are_shown_when_asked_for_and_labelled(seeded, open_page):
    app = open_page("accuracy", scores="Hindcast")
    assert_no_traceback(app)
    assert "**Hindcasts:**" in app.warning[0].value


def test_without_live_scores_hindcasts_are_shown_and_labelled(
    dashboard, clean_engine, yesterday, open_page
):
    seed(clean_engine, yesterday, dashboard, live=False)
    app = open_page("accuracy")
    assert_no_traceback(app)
    assert "**Hindcasts:**" in app.warning[0].value


def test_asking_for_live_scores_before_there_are_any_says_so(
    dashboard, clean_engine, yesterday, open_page
):
    seed(clean_engine, yesterday, dashboard, live=False)
    app = open_page("accuracy", scores="Live")
    assert_no_traceback(app)
    assert "No live forecast has been scored yet" in app.info[0].value


def test_asking_for_hindcasts_where_there_are_none_says_how(
    dashboard, clean_engine, yesterday, open_page
):
    seed(clean_engine, yesterday, dashboard, hindcasts=False)
    app = open_page("accuracy", scores="Hindcast")
    assert_no_traceback(app)
    assert "There are no hindcasts" in app.info[0].value


def test_without_any_scores_accuracy_says_when_they_come(
    dashboard, clean_engine, yesterday, open_page
):
    seed(clean_engine, yesterday, dashboard, live=False, hindcasts=False)
    app = open_page("accuracy")
    assert_no_traceback(app)
    assert "No forecast has been scored yet" in app.info[0].value


def test_names_from_the_database_cannot_become_html_or_markdown(
    seeded, write, open_page
):
    nasty = "<img src=x onerror=alert(1)> :red[x]"
    write(sa.update(schema.depots).values(name=nasty, city=nasty))
    for view in VIEWS:
        app = open_page(view, depot="LON-01")
        assert_no_traceback(app)
        for html in app.get("html"):
            assert "<img" not in html.proto.body
        assert ":red[x]" not in " ".join(element.value for element in app.caption)
        for pills in app.get("button_group"):
            offered = [option.content for option in pills.proto.options]
            assert not [content for content in offered if ":red[x]" in content]


def test_a_city_of_an_awkward_name_can_be_chosen(seeded, write, open_page):
    write(
        sa.update(schema.depots)
        .where(schema.depots.c.city == "London")
        .values(city="*Lon* [don]")
    )
    app = open_page("fleet")
    app.pills(key="city").select("*Lon* [don]").run()
    assert_no_traceback(app)
    assert "Greenwich" in said(app)
    assert "Waalhaven" not in said(app)
