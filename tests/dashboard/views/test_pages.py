"""Each page as a user meets it: with data, without, and with something broken."""

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pandas as pd
import pytest
import sqlalchemy as sa
import streamlit as st
from streamlit.testing.v1 import AppTest

from dashboard import queries
from dashboard.charts.encodings import LABEL_COLOUR
from dashboard.components import days_ahead, one_day, page_head, widgets
from dashboard.inference import what_if
from dashboard.inference.what_if import Scenario
from dashboard.planning import van_plan
from dashboard.queries import ScoreFilter, database
from dashboard.tables import html_tables
from dashboard.text import formatting, summaries
from pipelines import schema
from pipelines.planning import morning_message, words
from pipelines.runs.ledger import recorded
from tests.dashboard.cells import Cells
from tests.dashboard.conftest import APP
from tests.dashboard.planning.changing import set_city
from tests.dashboard.seed import DEPOTS, N_DAYS, seed
from tests.dashboard.seed_pipeline import seed_pipeline

pytestmark = pytest.mark.db

VIEWS = ("days_ahead", "depot", "plan", "accuracy", "models", "pipeline")


def page_text(app):
    """All text and HTML of a page."""
    kinds = (app.title, app.caption, app.info, app.warning, app.error, app.markdown)
    texts = [element.value for kind in kinds for element in kind]
    texts += [element.proto.body for element in app.get("html")]
    return " ".join(texts).replace("\N{NO-BREAK SPACE}", " ")


def in_url(app, name):
    """A parameter of the URL; AppTest gives back a list or what was set."""
    value = app.query_params[name]
    return value[0] if isinstance(value, list) else value


def assert_no_traceback(app):
    assert not app.exception, [error.message for error in app.exception]


def clear(write, *tables):
    for table in tables:
        write(sa.delete(table))


FROM_NOTHING = {
    "no depots": "No depots yet. Load orders with `harbor ingest PATH`",
    "no orders": "they have no orders yet",
    "no database": "The numbers cannot be read just now. Try again in a minute",
    "no settings": "`harbor dashboard`",
    "old orders": "The newest orders are from",
}


@pytest.mark.parametrize(
    ("view", "lacking"),
    [*(("days_ahead", each) for each in FROM_NOTHING), ("pipeline", "old orders")],
)
def test_a_page_says_what_is_lacking_and_what_to_do(
    dashboard, clean_engine, yesterday, write, monkeypatch, open_page, view, lacking
):
    """What stands above every page; the Pipeline goes on below it."""
    if lacking != "no depots":
        age = timedelta(days=400 if lacking == "old orders" else 0)
        seed(clean_engine, yesterday - age, dashboard)
    if lacking == "no orders":
        clear(write, schema.demand_versions)
    elif lacking == "no database":
        url = "postgresql://u:secret@127.0.0.1:9/x"
        monkeypatch.setenv("HARBOR_DATABASE_URL", url)
    elif lacking == "no settings":
        monkeypatch.delenv("HARBOR_DATABASE_URL")
    app = open_page(view)
    assert_no_traceback(app)
    told = app.info if lacking in ("no depots", "no orders") else app.error
    assert FROM_NOTHING[lacking] in told[0].value
    assert "secret" not in page_text(app)


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_states_its_data_freshness_and_runs_at_most_ten_queries(
    seeded, open_page, view
):
    """Five more explain a depot's next day, after the rest of the page."""
    open_page("models")  # the frame is warm, so that what is counted is this page's
    st.cache_data.clear()
    statements = []
    engine = database.engine()
    sa.event.listen(
        engine, "before_cursor_execute", lambda *event: statements.append(event[2])
    )
    app = AppTest.from_file(str(APP), default_timeout=30)
    app.query_params["depot"] = "LON-01"
    if view != "days_ahead":
        app.switch_page(f"views/{view}.py")
    app.run()
    assert_no_traceback(app)
    assert app.title[0].value != ("Days ahead" if view != "days_ahead" else "")
    most = 15 if view == "depot" else 10
    assert 0 < len(statements) <= most, "\n".join(statements)
    assert app.caption[0].value.startswith("Orders up to **")
    assert "forecast made" in app.caption[0].value
    assert [each.proto.label for each in app.get("download_button")] == [
        "Save as Excel"
    ]
    assert not app.error


def test_a_page_states_that_data_was_missing_at_forecast_time(seeded, write, open_page):
    metrics = {"late_depots": 1, "late_cities": {"London": 1}}
    write(sa.insert(schema.runs).values(step="forecast", state="done", metrics=metrics))
    write(sa.update(schema.publications).values(run_id=1))
    app = open_page("accuracy")
    assert "yet from some depots in London" in app.warning[0].value


def test_the_fleet_shows_its_total_and_every_depot_those_with_missing_data_first(
    seeded, open_page
):
    app = open_page("days_ahead")
    assert_no_traceback(app)
    text = page_text(app)
    newest = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    assert f"{newest.groupby('target_on')['p50'].sum().round().sum():,.0f}" in text
    assert "the depots need not add up to it" in text
    assert "orders</small></dd>" not in text, "no busiest day"
    for name in seeded.depots["name"]:
        assert name in text
    assert first_of(app, "London").startswith("Poplar missing data after")
    assert app.get("download_button")[0].proto.label == "Save as Excel"
    assert "Stronger colour: a depot's busier days" in text
    assert 'aria-label="Holidays and events"' not in text, "the list of a year"
    assert f'href="accuracy?period={seeded.through}"' in text, "yesterday"
    day = formatting.day(seeded.through + timedelta(days=3))
    first, _, month = day.rpartition(" ")  # the month stands once: Tue 1 – Thu 3 Dec
    days = rf"▲ {first}( {month})?( – [^:;]+)?\\: Promotion"
    assert re.search(days, text), "a marked day is named below the grid"


def test_a_city_in_the_url_is_the_only_one_shown_until_another_is_chosen(
    seeded, open_page
):
    app = open_page("days_ahead", city="London")
    assert app.pills(key="city").value == "London"
    assert "Greenwich" in grid_of(app)
    assert "Waalhaven" not in grid_of(app)
    app.pills(key="city").select("Rotterdam").run()
    assert "Waalhaven" in grid_of(app)
    assert "Greenwich" not in grid_of(app)


def test_an_unknown_city_is_explained_until_another_is_chosen(seeded, open_page):
    app = open_page("days_ahead", city="Atlantis")
    explained = "There is no city “Atlantis”. Shown instead: All cities."
    assert explained in page_text(app)
    assert "Greenwich" in page_text(app)
    assert "Waalhaven" in page_text(app)
    app.pills(key="city").select("London").run()
    assert "Atlantis" not in page_text(app)


def grid_of(app):
    """The HTML of the only grid on the page."""
    [grid] = [e.proto.body for e in app.get("html") if "<thead>" in e.proto.body]
    return grid


def first_of(app, city):
    """Name of the depot that comes first in a city's part of the grid."""
    names = [row[0] for row in Cells(grid_of(app)).text]
    [place] = [n for n, name in enumerate(names) if name.startswith(f"{city}")]
    return names[place + 1]


def test_without_a_forecast_the_page_says_how_the_champion_makes_one(
    seeded, write, open_page
):
    clear(write, schema.scores, schema.forecasts, schema.publications)
    for view in ("days_ahead", "plan", "depot"):
        app = open_page(view)
        assert_no_traceback(app)
        assert "No forecast has been made yet" in app.info[0].value
        assert "`harbor forecast`" in app.info[0].value
        assert "`harbor train`" not in app.info[0].value


@pytest.mark.parametrize(
    ("view", "name", "choice"),
    [("depot", "depot", "LON-03"), ("plan", "city", "London")],
)
def test_a_choice_is_kept_by_the_click_although_its_run_is_cut_short(
    seeded, open_page, monkeypatch, view, name, choice
):
    app = open_page(view)
    if name == "depot":
        app.selectbox(key="choice of depot").set_value(choice)
    else:
        app.pills(key="city").select(choice)
    monkeypatch.setattr(page_head, "show", lambda _: st.stop())
    app.run()
    assert app.session_state[f"{widgets.SESSION_PREFIX}{name}"] == choice


def test_the_list_of_depots_has_the_next_day_what_is_missing_and_the_last_error(
    seeded, open_page
):
    app = open_page("depot")
    assert app.title[0].value == "Depots"
    grid = grid_of(app)
    head, *rows = Cells(grid).text
    day = seeded.through + timedelta(days=1)
    head = [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in head]
    assert head[:3] == ["Depot", f"Orders {formatting.day(day)}", "7 days ahead"]
    assert head[-2:] == ["vs last 7 days", "Error, yesterday"]
    text = page_text(app)
    assert r"Missing data, listed first\: Poplar" in text
    ahead = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    by_name = {row[0].split(" ")[0]: row[1:] for row in rows}
    assert len(rows) == len(by_name) == len(DEPOTS)
    last = queries.last_day(queries.freshness()).set_index("depot_id")
    n_off = int(summaries.is_outside(last).sum())
    late = queries.fleet_week(queries.freshness()).query("is_silent or is_late")
    assert grid.count("outside the band") == n_off > 0
    assert grid.count(' · <b class="late">') == late["depot_id"].nunique()
    off = last["point"] - last["actual"]
    for depot_id, name, *_ in DEPOTS:
        own = ahead[ahead["depot_id"] == depot_id].set_index("target_on")["point"]
        first = f"{round(own[day]):,}" if own[day] else "closed"
        assert by_name[name][:2] == [first, f"{own.round().sum():,.0f}"]
        if depot_id in off.dropna():
            off_by = by_name[name][-1].removesuffix(" outside the band")
            assert off_by == formatting.signed(round(off[depot_id]))
    assert by_name["Poplar"][-1] == "–", "its last day is missing"
    assert 'Poplar</a><small>London · <b class="late">missing' in grid
    assert app.get("download_button")[0].proto.label == "Save as Excel"


def test_the_list_of_depots_begins_with_those_that_need_somebody_first(
    seeded, open_page
):
    """Missing data, then those of the whole fleet with most late orders."""
    set_city(vans=0)
    app = open_page("depot")
    grid = Cells(grid_of(app)).text
    assert grid[1][0].startswith("Poplar London · missing data after")
    head = [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in grid[0]]
    first = next(i for i, cell in enumerate(head) if cell.startswith("Vans short"))
    total = head.index("Late orders, 7 days ahead")
    own = van_plan.city_plan("London", queries.freshness()).depots
    for name, days in own.groupby("name"):
        [row] = [row for row in grid if row[0].split(" ")[0] == name]
        shown = [int(cell or 0) for cell in row[first:total]]
        # A day on which no depot lacks any has no column.
        assert [n for n in shown if n] == [n for n in days["needed"] if n]
        assert int(row[total].replace(",", "")) == round(days["undelivered"].sum())
    assert_no_traceback(app)
    day = seeded.through + timedelta(days=1)
    shown = [int(row[total].replace(",", "")) for row in grid[2:]]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] > 0
    assert re.search(
        rf"\*\*{formatting.day(day)}\\: \d of \d depots short, \d+ vans? in all\.\*\* Most late orders",
        page_text(app),
    )


def test_a_depot_says_whose_vans_it_gets_also_from_a_namesake(seeded, write, open_page):
    depots = sa.update(schema.depots).where(schema.depots.c.city == "Rotterdam")
    write(
        depots.values(
            name="Nord",
            vans=sa.case((schema.depots.c.depot_id == "RTM-01", 40), else_=0),
        )
    )
    app = open_page("depot", depot="RTM-03")
    bodies = [each.proto.body for each in app.get("html")]
    [grid] = [body for body in bodies if 'label="Orders of the days ahead"><' in body]
    vans = [row[3] for row in Cells(grid).text[1:] if len(row) > 1]
    lent = [cell for cell in vans if cell not in ("", "0")]
    got = r"(\d+)( of \d+)?( \d+ late)? \+\1 Nord · RTM-01"  # "of" where RTM-01 has too few to lend
    assert all(re.fullmatch(got, cell) for cell in lent), lent
    assert lent


def test_the_list_of_depots_has_no_column_of_vans_where_none_are_short(
    seeded, write, open_page
):
    write(sa.update(schema.depots).values(vans=1000))
    text = page_text(open_page("depot"))
    assert "No depot is short of vans" in text
    assert "Vans short" not in text
    assert "Late orders" not in text


@pytest.mark.parametrize(
    "order", ["Largest error", "Falling most", "Rising most", "Name"]
)
def test_the_list_of_depots_is_sorted_and_saved_as_it_is_shown(
    seeded, write, open_page, monkeypatch, order
):
    write(sa.update(schema.depots).values(vans=1))
    sheets = {}
    monkeypatch.setattr(page_head, "save_as_excel", lambda *of: sheets.update(of[1]()))
    app = open_page("depot", first=order)
    head, *rows = Cells(grid_of(app)).text
    known = {name for _, name, *_ in DEPOTS}
    names = [row[0] for row in rows if row[0].split(" ")[0] in known]
    _, table = sheets["Depots"]
    columns = [name.rpartition(": ")[2] for name in table.columns]
    head = [re.sub("^(Orders|Vans short) ?", "", cell) for cell in head]
    assert columns == [
        "City",
        "Depot",
        "Depot id",
        *head[1:],
        "Status",
        "Outside its band",
        "Closed",
    ]
    vans = table.filter(like="Vans short").to_numpy()
    shown = [row[3 : 3 + vans.shape[1]] for row in rows]
    assert [[int(cell or 0) for cell in row] for row in shown] == vans.tolist()
    assert [name.split(" ")[0] for name in names] == table["Depot"].tolist()
    column = {
        "Largest error": "Error, yesterday",
        "Falling most": "vs last 7 days",
        "Rising most": "vs last 7 days",
        "Name": "Depot",
    }[order]
    # The largest errors, in either direction, come first.
    values = table[column].dropna()
    if order in ("Largest error", "Rising most"):
        values = -(values.abs() if order == "Largest error" else values)
    assert values.is_monotonic_increasing
    of_city = Cells(grid_of(open_page("depot", first=order, city="London"))).text
    own = [row for row in rows if " London" in row[0]]
    assert [row[1:] for row in of_city[1:]] == [row[1:] for row in own]
    assert sheets["Depots"][1]["City"].unique().tolist() == ["London"]


def test_the_list_of_depots_names_closed_days_if_there_are_any(
    seeded, write, open_page
):
    day = formatting.day(seeded.through + timedelta(days=2))
    assert f"closed on {day}" in page_text(open_page("depot"))
    forecasts = schema.forecasts
    write(
        sa.update(forecasts).where(forecasts.c.basis == "closed").values(basis="model")
    )
    app = open_page("depot")
    assert_no_traceback(app)
    assert "closed on" not in page_text(app)
    assert len(Cells(grid_of(app)).text) > 3


def test_before_the_first_forecast_a_page_says_how_far_its_training_is(
    seeded, write, open_page, clean_engine
):
    """As every page does that has no forecast to show."""
    empty = (schema.scores, schema.forecasts, schema.publications)
    clear(write, *empty, schema.scores_due, schema.models)

    def line(fit, epoch):
        write(
            sa.insert(schema.run_lines).values(
                run_id=run.run_id, written_at=datetime.now(UTC), level="info", event="fit",
                fields={"fit": fit, "epoch": epoch, "most": 50},
            )
        )  # fmt: skip
        return open_page("days_ahead").info[0].value

    with recorded(clean_engine, "train") as run:
        for view in ("days_ahead", "depot"):
            assert "Training … 0 %" in open_page(view).info[0].value
        assert "Training … 40 %" in line("evaluation", 40)
        assert "Training … 60 %" in line("production", 10)
    old = schema.demand_versions.c.service_on > seeded.through - timedelta(days=5)
    write(sa.delete(schema.demand_versions).where(old))
    with recorded(clean_engine, "backfill"):
        app = open_page("days_ahead")
        assert not app.error, "orders that are still being loaded are not late"
        text = app.info[0].value
        assert "Backfill … The forecast follows." in text
    with recorded(clean_engine, "demand"):
        st.cache_data.clear()
        assert "Counting orders … " in open_page("days_ahead").info[0].value
        assert "harbor" not in text
    st.cache_data.clear()
    app = open_page("days_ahead")
    assert "`harbor train`" in app.info[0].value
    assert "The newest orders are from" in app.error[0].value


def test_before_the_first_model_the_page_says_how_to_train_one(
    seeded, write, open_page
):
    """Hindcasts need a model, so that a backfill is no advice."""
    clear(write, schema.scores, schema.forecasts, schema.publications, schema.models)
    for view in ("days_ahead", "plan", "accuracy", "models"):
        app = open_page(view)
        assert_no_traceback(app)
        assert "`harbor train`" in app.info[0].value
        assert "backfill" not in app.info[0].value


def test_a_fleet_without_open_depots_has_a_message(seeded, write, open_page):
    write(sa.update(schema.depots).values(closed_on=seeded.through))
    for view in ("days_ahead", "plan", "depot"):
        app = open_page(view)
        assert_no_traceback(app)
        assert "no open depots" in app.info[0].value
    own = open_page("depot", depot="LON-01")
    assert_no_traceback(own)
    saved = [button.proto.label for button in own.get("download_button")]
    assert saved == ["Save as Excel"], "its past days"


def test_a_depot_with_missing_data_has_a_warning(seeded, open_page):
    late = open_page("depot", depot="LON-03")
    assert_no_traceback(late)
    assert "Missing data: this depot's newest orders" in late.warning[0].value


def test_a_day_ahead_of_a_depot_says_what_was_on_the_week_before(
    seeded, write, open_page
):
    day = seeded.through - timedelta(days=6)
    e = schema.events.c
    latest = (e.kind == "promotion") & (e.starts_on < seeded.through)
    write(sa.update(schema.events).where(latest).values(starts_on=day, ends_on=day))
    text = page_text(open_page("depot", depot="LON-01"))
    # In the table, and in the line of a phone.
    assert text.count("Last week: Promotion") == 2
    assert "Last week: Closed" not in page_text(open_page("depot", depot="RTM-03"))


def test_a_depots_history_is_of_eight_weeks_or_of_a_year(seeded, open_page):
    app = open_page("depot", depot="LON-01")
    assert "last 8 weeks and planned" in page_text(app)
    assert not app.warning, "no data is missing"
    app = open_page("depot", depot="LON-01", history="13 months")
    assert_no_traceback(app)
    assert "last 13 months and planned" in page_text(app)
    days = queries.depot_days("LON-01", queries.freshness())
    assert len(days) == 396 + 7
    assert days["actual"].notna().sum() == N_DAYS


def test_an_unknown_depot_is_explained(seeded, open_page):
    app = open_page("depot", depot="<b>NO-99")
    assert_no_traceback(app)
    assert "There is no depot “\\<b\\>NO-99”" in app.info[0].value
    assert 'href="depot?depot=LON-01"' in page_text(app), "the list to choose from"


def test_every_choice_of_a_depot_reaches_the_url_and_the_page(seeded, open_page):
    app = open_page("depot")
    names = {depot: name for depot, name, *_ in DEPOTS}
    for depot in ("LON-01", "RTM-02"):
        app.selectbox(key="choice of depot").select(depot).run()
        assert_no_traceback(app)
        assert in_url(app, "depot") == depot
        assert app.selectbox(key="choice of depot").value == depot
        assert app.title[0].value == names[depot]
        own = seeded.forecasts[seeded.forecasts["depot_id"] == depot]
        own = own[own["origin_on"] == seeded.through]["point"]
        assert f"{own.round().sum():,.0f}" in page_text(app)
    app.selectbox(key="choice of depot").set_value(None).run()
    assert "depot" not in app.query_params


def test_a_depot_without_forecast_or_scores_shows_its_history(seeded, write, open_page):
    clear(write, schema.scores, schema.forecasts, schema.publications)
    app = open_page("depot", depot="LON-01")
    assert_no_traceback(app)
    infos = " ".join(info.value for info in app.info)
    assert "This depot has no forecast yet" in infos
    assert "No forecast of this depot has been scored yet" in infos
    assert len(app.get("vega_lite_chart")) == 1


def test_a_depot_without_data_has_a_message(seeded, write, open_page):
    for table in (schema.scores, schema.forecasts, schema.demand_versions):
        write(sa.delete(table).where(table.c.depot_id == "LON-02"))
    app = open_page("depot", depot="LON-02")
    assert_no_traceback(app)
    assert "No data for this depot" in " ".join(i.value for i in app.info)


def test_past_hindcasts_are_labelled(seeded, write, open_page):
    write(sa.delete(schema.scores).where(schema.scores.c.is_live))
    app = open_page("depot", depot="LON-01")
    assert "**Hindcasts:**" in app.warning[0].value


def test_a_depots_past_days_have_their_error_and_its_likely_cause(
    seeded, write, open_page, monkeypatch
):
    sheets = {}
    monkeypatch.setattr(page_head, "save_as_excel", lambda *of: sheets.update(of[1]()))
    seen = queries.past_forecasts("LON-01", queries.freshness())
    last = seen.iloc[-1]
    override = {
        "depot_id": "LON-01", "target_on": last["target_on"], "orders": 900, "point": 800.0,
        "reason": "A strike", "made_by": "Ann", "origin_on": last["origin_on"],
        "model_version": last["model_version"],
    }  # fmt: skip
    write(sa.insert(schema.overrides).values(override))
    of_day = queries.last_day(queries.freshness()).set_index("depot_id")
    assert of_day["planner_orders"].dropna().to_dict() == {"LON-01": 900}
    young = seen.iloc[-2]
    of_young = {
        name: young[name] for name in ("origin_on", "target_on", "model_version")
    }
    forecasts = sa.update(schema.forecasts).filter_by(depot_id="LON-01", **of_young)
    write(forecasts.values(basis="cold_start"))
    text = page_text(open_page("depot", depot="LON-01"))
    assert "Ann set 900: “A strike”" in text
    ahead, past = (sheets[name][1] for name in ("Days ahead", "Past days"))
    assert past["Day"].tolist() == seen["target_on"].tolist()[::-1]
    first = past.iloc[0]
    assert first["Error"] == round(last["point"] - last["actual"])
    assert first["Note"] == "Ann set 900: “A strike”"
    assert past["Note"].iloc[1] == "No history"
    days = [seeded.through + timedelta(days=n + 1) for n in range(7)]
    assert ahead["Day"].dt.date.tolist() == days
    orders = sheets["Orders"][1]
    assert orders["Day"].iloc[0].date() == seeded.through
    assert len(orders) > len(past)
    assert ahead["Planned"].gt(0).all()


@pytest.mark.parametrize("vans", [0, 999])
def test_both_links_to_a_depots_change_lead_to_its_first_short_day_else_the_first(
    seeded, open_page, vans
):
    set_city(vans=vans)
    days = van_plan.city_plan("London", queries.freshness()).depots
    days = days[days["depot_id"] == "LON-01"]
    short = days[days["needed"] > days["allocated"]]
    assert short.empty == bool(vans)
    day = min((days if short.empty else short)["target_on"]).date()
    text = page_text(open_page("depot", depot="LON-01"))
    assert text.count(f"plan?city=London&amp;day={day}&amp;depot=LON-01") == 2


def test_a_scenario_is_chosen_or_in_the_url(seeded, open_page):
    day = f"{seeded.through + timedelta(days=3):%Y-%m-%d}"
    app = open_page("depot", depot="LON-01", vans="0", on=day)
    n_charts = len(app.get("vega_lite_chart"))
    assert "With this scenario" not in page_text(app)
    app.selectbox(key="choice of scenario").select("closed").run()
    assert_no_traceback(app)
    assert len(app.get("vega_lite_chart")) == n_charts + 1
    app = open_page("depot", depot="LON-01", scenario="closed", on=day)
    assert app.selectbox(key="choice of on").value == day
    assert app.selectbox(key="choice of to").value == day
    assert "With this scenario" in page_text(app)


def test_a_scenario_over_days_is_kept_in_the_url(seeded, open_page):
    first, last = (f"{seeded.through + timedelta(days=n):%Y-%m-%d}" for n in (2, 4))
    keys = {"depot": "LON-01", "on": first, "to": last}
    app = open_page("depot", **keys, scenario="closed")
    assert_no_traceback(app)
    assert app.selectbox(key="choice of scenario").value == "closed"
    text = page_text(app)
    scenario = Scenario(
        "LON-01", *map(date.fromisoformat, (first, last)), kind="closed"
    )
    both = what_if.simulate(scenario, queries.freshness())
    before, outcome = both["forecast"], both["scenario"]
    assert outcome.iloc[1:4].tolist() == [0, 0, 0]
    then = round(before.sum()) + (outcome.round() - before.round()).sum()
    days = formatting.day_range(*map(date.fromisoformat, (first, last)))
    assert f"With this scenario on {days}: {then:,.0f} orders in" in text
    assert re.search(rf"London needs \d+ → \d+ van-days on {days}", text)
    assert "The number of its vans is not known" in text


@pytest.mark.parametrize(
    ("view", "name", "noun"),
    [("pipeline", "run", "run"), ("depot", "on", "day"), ("depot", "to", "day")],
)
def test_an_unknown_choice_in_the_url_is_explained(
    seeded, clean_engine, open_page, view, name, noun
):
    seed_pipeline(clean_engine, seeded.through)
    app = open_page(view, **{"depot": "LON-01", name: "NONE"})
    assert_no_traceback(app)
    assert f"There is no {noun} “NONE”. Shown instead:" in page_text(app)


def test_why_is_of_the_first_short_or_open_day_and_in_a_large_city_of_a_chosen_one(
    seeded, write, open_page
):
    def explained():
        return open_page("depot", depot="LON-01").selectbox(key="choice of why").value

    first, second = (seeded.through + timedelta(days=n) for n in (1, 2))
    app = open_page("depot", depot="LON-01")
    assert app.selectbox(key="choice of why").value == f"{first}"
    assert_no_traceback(app)
    decide = r'href="plan\?city=London&amp;day=[0-9-]+&amp;form=vans"'
    assert re.search(decide, page_text(app)), "a way to the vans of its city"
    assert len(app.get("vega_lite_chart")) == 2
    assert "From a usual day at this depot" in page_text(app)
    own = {"depot_id": "LON-01", "origin_on": seeded.through, "target_on": first}
    forecasts = sa.update(schema.forecasts).filter_by(**own)
    write(forecasts.values(basis="closed"))
    assert explained() == f"{second}"
    new = {
        "city": "London",
        "timezone": "Europe/London",
        "country": "GB",
        "is_complete": True,
    }
    rows = [new | {"depot_id": f"N-{n}", "name": f"New {n}"} for n in range(50)]
    write(sa.insert(schema.depots).values(rows))
    assert explained() is None


def test_the_first_page_begins_with_the_brief(seeded, write, open_page):
    # Else, on some weekdays, the promotion's day is short of vans, and named with that.
    write(sa.update(schema.depots).values(vans=1000))
    app = open_page("days_ahead")
    assert_no_traceback(app)
    text = page_text(app)
    brief, _, rest = text.partition("</section>")
    assert 'aria-label="Planned orders by depot and day"' in rest
    assert "today</h2>" in brief
    assert "Poplar (London): yesterday&#x27;s orders are missing" in brief
    assert "Promotion in London" in brief
    assert ">Yesterday</a>: " in brief
    city = open_page("days_ahead", city="Rotterdam")
    assert_no_traceback(city)
    brief, _, _ = page_text(city).partition("</section>")
    assert f'"accuracy?period={seeded.through}&amp;city=Rotterdam"' in brief
    assert "Poplar" not in brief
    assert "London" not in brief


@pytest.mark.parametrize("broken", ["missing", "corrupt"])
def test_a_broken_artefact_leaves_the_charts_and_names_a_remedy(
    dashboard, seeded, open_page, broken
):
    [path] = dashboard.glob("*.npz")
    if broken == "missing":
        path.unlink()
    else:
        path.write_bytes(b"PK\x03\x04 half a file")
    app = open_page("depot", depot="LON-01")
    assert_no_traceback(app)
    assert len(app.get("vega_lite_chart")) == 1
    assert path.name in app.error[0].value


@pytest.mark.parametrize(
    ("live", "hindcasts", "url", "expected"),
    [
        (True, True, {"scores": "Hindcast"}, "**Hindcasts:**"),
        (False, True, {}, "**Hindcasts:**"),
        (False, True, {"scores": "Live"}, "No live forecast has been scored yet"),
        (True, False, {"scores": "Hindcast"}, "No hindcast has been scored yet"),
        (False, False, {}, "No forecast has been scored yet"),
    ],
)
def test_accuracy_is_of_live_forecasts_or_labelled_hindcasts(
    dashboard, clean_engine, yesterday, open_page, live, hindcasts, url, expected
):
    seed(clean_engine, yesterday, dashboard, live=live, hindcasts=hindcasts)
    app = open_page("accuracy", **url)
    assert_no_traceback(app)
    text = page_text(app)
    assert expected in text
    assert ("scores=Live" in text) == (live and hindcasts)
    assert "why=" not in text, "nobody saw it"


def test_accuracy_begins_with_how_good_it_was_and_how_the_last_day_was(
    seeded, open_page
):
    app = open_page("accuracy")
    shown = [element.type for element in app.main]
    assert shown.index("markdown") < shown.index("button_group")
    first = page_text(app)
    answer = " ".join(each.value for each in app.markdown)
    assert re.search(r"\d\N{NO-BREAK SPACE}% per depot", answer)
    assert "days scored since " in first
    assert "**Hindcasts:**" not in first
    assert "scores=Hindcast" in first, "the others, which are scored apart"
    assert "scores=Live" not in first
    assert "orders, forecast" in first
    assert "orders, forecast" not in answer, "a line of its own"
    assert f'href="accuracy?period={seeded.through}"' in first
    assert "No event known" not in first, "what is not known is said once"
    for heading in ("Forecast", "Actual", "Off by", "Error", "Bias"):
        assert f'<th scope="col" class="">{heading}</th>' in first, heading
    counts = '<th scope="col" class=" desk">Forecasts</th>'
    assert counts in first, "a phone goes without them"
    of_20_days = app.selectbox(key="choice of period")
    assert of_20_days.value == "56", "all days"
    assert_weeks_and_five_biggest_misses_stand_open(app)
    # A miss leads to why its day was forecast.
    links = re.findall(r'<a href="(depot[^"]+why-this-forecast)">', first)
    asked = dict(parse_qsl(urlsplit(unescape(links[0])).query))
    why = open_page("depot", **asked)
    assert_no_traceback(why)
    assert why.selectbox(key="choice of why").value == asked["why"]
    past = queries.past_forecasts(asked["depot"], queries.freshness())
    [scored] = past[past["target_on"] == asked["why"]].to_dict("records")
    assert summaries.outcome_sentence(scored) in page_text(why)
    # The city that another page has chosen goes along, for a link starts a new session.
    app.pills(key="city").select("London").run()
    assert f"accuracy?city=London&amp;period={seeded.through}" in page_text(app)
    # Of one depot, the sentence is on its own last day, and its city is chosen.
    of_depot = open_page("accuracy", depot="LON-01")
    of_day = ScoreFilter(live=True, depot="LON-01", days_back=1)
    [newest] = queries.largest_errors(of_day, queries.freshness()).to_dict("records")
    assert summaries.outcome_sentence(newest) in page_text(of_depot)
    assert of_depot.pills(key="city").value == "London"


def assert_weeks_and_five_biggest_misses_stand_open(app):
    def names_of(bodies):
        return [re.findall('aria-label="([^"]+)"', body) for body in bodies]

    folded = {
        each.label: [table.proto.body for table in each.get("html")]
        for each in app.expander
    }
    assert {name: names_of(bodies) for name, bodies in folded.items()} == {
        "Days ahead, bands and all measures": [
            ["By days ahead"], ["Bands"], ["All measures"],
        ],
    }  # fmt: skip
    closed = {body for bodies in folded.values() for body in bodies}
    bodies = [each.proto.body for each in app.get("html")]
    tables = [body for body in bodies if "<thead>" in body and body not in closed]
    assert names_of(tables) == [
        ["Newest day and weeks"], ["By city"], ["Depots furthest off"],
        ["Single days furthest off"],
    ]  # fmt: skip
    _, _, worst, misses = tables
    assert len(Cells(misses).text) == 1 + 5
    scope = ScoreFilter(live=True)
    every = queries.depot_accuracy(scope, queries.freshness())
    worst_first = every.sort_values("mape", ascending=False)["depot_id"].tolist()
    assert re.findall('depot=([^"]+)', worst) == worst_first[:10]
    largest = queries.largest_errors(scope, queries.freshness())
    days = [day.date() for day in largest["target_on"].head(5)]
    assert re.findall('accuracy\\?period=([^"]+)', misses) == [*map(str, days)]


@pytest.mark.parametrize(
    ("period", "name"),
    [("56", "Single days furthest off"), ("newest", "Forecast and orders")],
)
def test_the_accuracy_of_one_depot_names_it_once(seeded, open_page, period, name):
    """In the heading, and not in a column; its misses lead to the explanation of their day."""
    is_day = period == "newest"
    period = f"{seeded.through}" if is_day else period
    app = open_page("accuracy", depot="RTM-03", period=period)
    assert_no_traceback(app)
    depots = queries.depots(queries.freshness()).set_index("depot_id")
    [title] = [each.value for each in app.title]
    assert title.startswith(f"Accuracy of {depots.loc['RTM-03', 'name']}")
    text = page_text(app)
    assert "per depot and day" not in text
    outcome = re.search(r"\*\*.* orders, forecast [0-9,]+ .*\*\*", text)
    assert (outcome is not None) is is_day
    assert not [each.value for each in app.markdown if not each.value.strip("*")]
    [misses] = [
        each.proto.body
        for each in app.get("html")
        if f'aria-label="{name}"' in each.proto.body
    ]
    [heads, *rows] = re.findall("<tr.*?</tr>", misses)
    assert re.findall(">([^<>]+)</th>", heads)[0] == "Day"
    assert "Depot" not in heads
    for row in rows:
        assert re.search('<th[^>]*><a href="depot[?]depot=RTM-03&amp;why=', row)


@pytest.mark.parametrize("days_before", [0, 3])
def test_a_day_is_told_by_depot_and_yesterday_as_the_first_page_has_it(
    seeded, open_page, days_before
):
    day = seeded.through - timedelta(days=days_before)
    app = open_page("accuracy", period=f"{day}")
    assert_no_traceback(app)
    text = page_text(app)
    bodies = [each.proto.body for each in app.get("html")]
    [table] = [body for body in bodies if 'aria-label="By depot"' in body]
    of_day = replace(queries.freshness(), last_on=day)
    scored = queries.last_day(of_day).dropna(subset=["point"])
    assert len(scored) > 1
    for row in scored.to_dict("records"):
        error = formatting.signed(round(row["point"] - row["actual"]))
        actual = f"{row['actual']:,.0f}"
        if not row["p10"] <= row["actual"] <= row["p90"]:
            actual = html_tables.marked(actual)
        numbers = [f"{row['point']:,.0f}", actual, error]
        cells = "".join(f'<td class="">{each}</td>' for each in numbers)
        assert f"{row['name']}</a></th>{cells}" in table
    assert summaries.outside_sentence(scored) in text.replace("\\", "")
    night = seeded.scores[seeded.scores["is_live"]].dropna(subset=["seasonal_naive"])
    night = night[night["target_on"] == day]
    night = night[night["origin_on"] == day - timedelta(days=1)]
    own, naive = (
        (abs(night[name] - night["actual"]) / night["actual"]).mean()
        for name in ("point", "seasonal_naive")
    )
    both = pd.DataFrame(
        {"forecaster": ["forecast", "seasonal naive"], "mape": [own, naive]}
    )
    error = summaries.error_sentence(
        "The forecast of the night before was", both, "per depot"
    )
    told = text.replace("\\", "").replace("\N{NO-BREAK SPACE}", " ")
    assert f"{error[:-1]}; all forecasts of the day, 1 to 7 days ahead: " in told
    for other in (
        "Newest day and weeks",
        "Single days furthest off",
        "By days ahead",
        "MAPE",
    ):
        assert other not in text, "it is of several origins"
    neighbours = [day - timedelta(days=1), day + timedelta(days=1)]
    arrows = 'href="accuracy[?]period=([^"&]+)"[^>]*>(?:‹ [^<]+|[^<]+ ›)<'
    linked = re.findall(arrows, "".join(bodies))
    assert linked == [f"{each}" for each in neighbours if each <= seeded.through]


def test_a_period_that_is_not_offered_is_explained(seeded, open_page):
    n_days = seeded.scores.loc[seeded.scores["is_live"], "target_on"].nunique()
    for period in ("2019-01-01", "junk"):
        app = open_page("accuracy", period=period)
        assert_no_traceback(app)
        told = f"There is no period “{period}”. Shown instead: All {n_days} days."
        assert told in page_text(app).replace("\\", "")


def test_yesterday_is_a_date_in_the_url(seeded, open_page):
    app = open_page("accuracy")
    app.selectbox(key="choice of period").select_index(0).run()
    assert_no_traceback(app)
    assert f"{seeded.through}" in app.query_params["period"]
    assert app.selectbox(key="choice of period").value == f"{seeded.through}"


@pytest.mark.parametrize(("live", "depot"), [(True, "LON-01"), (False, "")])
def test_a_day_of_one_depot_or_of_hindcasts_can_be_opened(
    seeded, open_page, live, depot
):
    scores = seeded.scores[seeded.scores["is_live"] == live]
    if depot:
        scores = scores[scores["depot_id"] == depot]
    day = sorted(set(scores["target_on"]))[-4]
    place = {"depot": depot} if depot else {"scores": "hindcast"}
    app = open_page("accuracy", period=f"{day}", **place)
    assert_no_traceback(app)
    of_day = scores[scores["target_on"] == day].sort_values("origin_on")
    last = of_day.groupby("depot_id").last()
    [table] = [
        Cells(each.proto.body).text[1:]
        for each in app.get("html")
        if "Actual<" in each.proto.body
    ]
    assert len(table) == len(last)
    forecasts = {row[1] for row in table}
    assert forecasts == {f"{point:,.0f}" for point in last["point"]}


def test_yesterday_says_which_day_it_was(seeded, open_page, monkeypatch):
    names = {"London": {pd.Timestamp(seeded.through): "Boat race"}}
    monkeypatch.setattr(
        one_day.days_ahead, "day_names", lambda city, *_: names.get(city, {})
    )
    told = [page_text(open_page("accuracy", city=city)) for city in ("London", "")]
    assert ["On that day: Boat race." in each for each in told] == [True, False]


@pytest.mark.parametrize("city", ["", "London"])
def test_headline_table_and_morning_message_have_one_number_for_yesterday(
    seeded, open_page, city
):
    scored = queries.last_day(queries.freshness()).dropna(subset=["actual", "point"])
    here = scored[scored["city"] == city] if city else scored
    miss = words.miss(here["part"].sum(), here["actual"].sum())
    totals = [f"{here[name].sum():,.0f}" for name in ("part", "actual")]
    chosen = {"city": city} if city else {}
    text = page_text(
        open_page("accuracy", period=f"{seeded.through}", **chosen)
    ).replace("\\", "")
    assert f"Yesterday: {totals[1]} orders" in text
    assert f"forecast {totals[0]} ({miss})." in text
    cells = (f'<td class="">{totals[0]}</td>', f'<td class="">{totals[1]}</td>')
    name = city or "All cities"
    address = f"accuracy?period={seeded.through}&amp;city={name.replace(' ', '+')}"
    link = f'<a href="{address}">{name}</a>'
    row = f"{link}</th>{''.join(cells)}"
    # One city's total stands in the headline, and with the others' in the table.
    assert (row in text) == (not city)
    text = page_text(open_page("accuracy", period=f"{seeded.through}"))
    assert row in text
    number, _, direction = miss.partition(" too ")
    signed = {"high": "+", "low": "−", "": ""}[direction] + number
    assert text.partition(row)[2].partition("</td>")[0].endswith(f">{signed}")
    if city:
        today = seeded.through + timedelta(days=1)
        told = morning_message.last_day_sentence(scored, city, seeded.through, today)
        assert told == f"Yesterday {miss}."


def test_a_depot_whose_orders_were_withdrawn_is_not_told_of_yesterday(
    seeded, write, open_page
):
    """Its score stands until the night; the headline is of the others, and so is the table."""
    mine = schema.demand_versions.c
    is_withdrawn = (mine.depot_id == "LON-01") & (mine.service_on == seeded.through)
    write(sa.delete(schema.demand_versions).where(is_withdrawn))
    text = page_text(open_page("accuracy", period=f"{seeded.through}"))
    assert re.search(r"orders of \d of \d depots", text)
    assert "depot?depot=LON-02" in text
    assert "depot?depot=LON-01" not in text


def test_days_ahead_has_the_orders_of_past_holidays_and_events(seeded, open_page):
    chart = page_text(open_page("days_ahead", history="13 months", city="London"))
    assert "Orders per day: the last 13 months" in chart
    app = open_page("days_ahead", city="London")
    app = app.pills(key="history").select(days_ahead.OCCASIONS).run()
    assert_no_traceback(app)
    text = page_text(app)
    assert "Orders per day" not in text, "the list stands in place of the chart"
    london = seeded.depots.loc[seeded.depots["city"] == "London", "depot_id"]
    own = seeded.demand[seeded.demand["depot_id"].isin(london)]
    of_days = own.groupby("service_on")["orders"].sum()
    days = [seeded.through + timedelta(days=n) for n in (-12, -11, -10)]
    promoted = " · ".join(f"{of_days[day]:,.0f}" for day in days)
    assert f'Promotion</td><td class="fill word">{promoted}</td>' in text


def test_the_filters_of_accuracy_are_in_the_url(seeded, open_page):
    app = open_page("accuracy", period="7")
    app.pills(key="city").select("London").run()
    assert_no_traceback(app)
    text = page_text(app)
    days = sorted(set(seeded.scores.loc[seeded.scores["is_live"], "target_on"]))
    assert 7 < len(days) <= 21
    named = [f"{day:%a} {day.day} {day:%b}" for day in days]
    promoted = {
        f"{day:%a} {day.day} {day:%b}"
        for day in (seeded.through + timedelta(days=n) for n in (-12, -11, -10))
    }
    assert app.selectbox(key="choice of period").options == [
        # 4 and 26 weeks would hold the same days as the default.
        "Yesterday", "Last 7 days", f"All {len(days)} days",
        *[f"{day} · Promotion" if day in promoted else day for day in named[-2::-1]],
    ]  # fmt: skip
    assert f"The 7 days scored since {named[-7]} were" in text
    address = "accuracy?period=7&amp;city=London&amp;depot=LON-02"
    assert {*re.findall(r"accuracy\?[^\"]*depot=LON-02", text)} == {address}
    assert "depot=RTM-02" not in text
    assert "same day last week" in text
    for other in ("Naive MAPE", "repeating last week", "beat last week"):
        assert other not in text
    one = page_text(open_page("accuracy", depot="RTM-03"))
    assert "depot=LON-02" not in one


def test_a_choice_without_scores_has_a_message(seeded, write, open_page):
    write(sa.delete(schema.scores).where(schema.scores.c.depot_id == "LON-02"))
    new = sa.select(sa.literal("GHE-01"), sa.literal("Sluis"), sa.literal("Ghent"))
    depots = schema.depots.c
    same = [depots.timezone, depots.country, depots.closed_weekdays, depots.is_complete]
    columns = [depots.depot_id, depots.name, depots.city, *same]
    like = new.add_columns(*same).where(depots.depot_id == "LON-02")
    write(sa.insert(schema.depots).from_select(columns, like))
    for chosen in ({"depot": "LON-02"}, {"city": "Ghent"}):
        for period in ("56", f"{seeded.through}"):
            app = open_page("accuracy", period=period, **chosen)
            assert_no_traceback(app)
            assert "No scores for this choice" in app.info[0].value


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


def test_a_city_with_markdown_in_its_name_can_be_chosen(seeded, write, open_page):
    write(
        sa.update(schema.depots)
        .where(schema.depots.c.city == "London")
        .values(city="*Lon* [don]")
    )
    app = open_page("days_ahead")
    app.pills(key="city").select("*Lon* [don]").run()
    assert_no_traceback(app)
    assert "Greenwich" in grid_of(app)
    assert "Waalhaven" not in grid_of(app)


def test_every_chart_has_legible_labels(seeded, open_page):
    app = open_page("depot", depot="LON-01", scenario="promotion")
    specs = [chart.proto.spec for chart in app.get("vega_lite_chart")]
    assert len(specs) == 3
    for spec in specs:
        assert json.loads(spec)["config"]["axis"]["labelColor"] == LABEL_COLOUR


def test_after_a_day_on_which_all_were_closed_no_page_says_that_orders_are_late(
    seeded, write, open_page
):
    demand, depots = schema.demand_versions, schema.depots
    write(sa.delete(demand).where(demand.c.service_on == seeded.through))
    write(sa.update(depots).values(closed_weekdays=[seeded.through.isoweekday()]))
    st.cache_data.clear()
    page = open_page("days_ahead")
    assert not page.exception
    assert not [error.value for error in page.error]


@pytest.mark.parametrize(
    "choice",
    [{}, {"period": "newest"}, {"depot": "LON-01"}],
    ids=["all", "day", "depot"],
)
def test_hindcasts_are_shown_before_the_first_forecast(
    seeded, write, open_page, choice
):
    """History is loaded, a model trained, and the history backfilled."""
    write(sa.delete(schema.publications))
    for table in (schema.scores, schema.forecasts):
        write(sa.delete(table).where(table.c.is_live))
    if "period" in choice:
        choice = {"period": f"{seeded.through}"}
    page = open_page("accuracy", **choice)
    assert not page.exception
    assert any("Hindcasts" in each.value for each in page.warning)
