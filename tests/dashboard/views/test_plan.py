"""The page Plan as a planner meets it."""

import re
from datetime import timedelta

import pandas as pd
import pytest
import sqlalchemy as sa
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

from dashboard import queries
from dashboard.components import plan_parts, running_day
from dashboard.components.plan_forms import ALL_DEPOTS
from dashboard.planning import overrides, van_decisions, van_plan
from dashboard.planning.entered_changes import WITHDRAW
from dashboard.text import formatting
from forecaster.hours import today
from pipelines import schema
from pipelines.planning.city_settings import ACCEPT, VanDecision
from tests.dashboard.cells import Cells
from tests.dashboard.planning import changing
from tests.dashboard.planning.changing import cell, set_city, settings_of
from tests.dashboard.planning.changing import change as override
from tests.dashboard.views.test_pages import assert_no_traceback, page_text

pytestmark = pytest.mark.db
ROTTERDAM = {"Waalhaven", "Kralingen", "Delfshaven"}


def rerun(app, city="London"):
    """Runs the page of a city; AppTest forgets a value that is bound to the address."""
    return app.pills(key="city").select(city).run()


def city_page(open_page, city, form="orders", **keys):
    return open_page("plan", city=city, form=form, **keys)


def setting(app, label):
    """The field for a number with a label that begins so."""
    [found] = [box for box in app.number_input if box.label.startswith(label)]
    return found


def labelled(elements, label):
    """The only element with a label."""
    [found] = [each for each in elements if each.label == label]
    return found


def told(messages):
    """The first message, without the escapes of Markdown."""
    return messages[0].value.replace("\\", "").replace("\N{NO-BREAK SPACE}", " ")


def field(app, name):
    """The field of a form with a key that begins so."""
    fields = [*app.selectbox, *app.text_input, *app.number_input, *app.checkbox]
    [found] = [box for box in fields if str(box.key).startswith(name)]
    return found


def labels(app):
    """What the buttons say."""
    return {button.label for button in app.button}


def press(app, label):
    labelled(app.button, label).click()
    return rerun(app)


def choose_action(app, action):
    labelled(app.segmented_control, "Action").set_value(action)
    return rerun(app)


def decision(app):
    """The field for the kind of a decision."""
    return labelled(app.segmented_control, "Decision")


def decide(app, kind):
    decision(app).set_value(kind)
    return rerun(app)


def sign(app, name):
    field(app, "your name").set_value(name)
    return app


def fill_in(app, number, reason="Weather", name="Anna"):
    fields = {"number": number, "reason": reason, "your name": name}
    for each, value in fields.items():
        if value is not None:
            field(app, each).set_value(value)
    return app


def enter(app, number, **others):
    """Fills the form of changes in, without saving."""
    return rerun(fill_in(app, number, **others))


def change(app, number, **others):
    return press(fill_in(app, number, **others), "Save")


def test_the_whole_fleet_is_on_one_page_with_cities_as_rows(seeded, open_page):
    app = open_page("plan")
    assert_no_traceback(app)
    text = page_text(app)
    assert 'href="plan?city=London"' in text
    assert 'href="plan?city=Rotterdam"' in text
    assert "13 vans (estimated)" in text
    assert "Greenwich" not in text


def test_what_is_to_be_decided_and_what_is_decided_lead_to_their_forms(
    short_of_vans, open_page, tomorrow
):
    first = f"plan?city=Rotterdam&amp;day={tomorrow}&amp;form=vans"
    text = page_text(open_page("plan"))
    assert f'href="{first}" target="_self">Decide on Rotterdam, ' in text
    assert "Changed orders" not in text
    override(77.0, day=tomorrow + timedelta(days=2))
    override(66.0, day=tomorrow + timedelta(days=1))
    van_decisions.save(VanDecision("Rotterdam", tomorrow, kind="ask"), "Ben")
    app = open_page("plan")
    heads = [each.value for each in app.header]
    assert heads == ["Decisions on vans", "Changed orders"]
    of_city = city_page(open_page, "London")
    assert "Changed orders" in [each.value for each in of_city.header]
    grids = [element.proto.body for element in of_city.get("html")]
    [table] = [Cells(each).text for each in grids if 'aria-label="Changed' in each]
    assert table[0][:2] == ["Depot", "Day"], "without the city"
    assert [row[2] for row in table[1:]] == ["66", "77"]
    text = page_text(app)
    assert f'<th scope="row" class="fill short"><a href="{first}">Rotterdam</a>' in text
    links = re.findall(
        r'href="plan\?city=London&amp;day=([0-9-]+)&amp;depot=LON-01"', text
    )
    days = [f"{tomorrow + timedelta(days=n)}" for n in (1, 2)]
    assert links == days
    next_day = tomorrow + timedelta(days=1)
    action = f"plan?city=Rotterdam&amp;day={next_day}&amp;form=vans"
    assert f'href="{action}" target="_self">Decide on Rotterdam, ' in text
    assert_no_traceback(app)


@pytest.fixture
def short_of_vans(seeded, monkeypatch):
    """Rotterdam with vans for none of its depots' days, and too large for one grid."""
    monkeypatch.setattr(plan_parts, "MAX_DEPOTS", 2)
    set_city("Rotterdam", vans=0)


def depots_in_grid(app):
    text = page_text(app)
    return {name for name in ROTTERDAM if f">{name}</a><small>" in text}


def test_a_large_city_starts_with_the_depots_shortest_of_vans(short_of_vans, open_page):
    """Waalhaven has most orders, then Kralingen."""
    app = city_page(open_page, "Rotterdam")
    assert depots_in_grid(app) == {"Waalhaven", "Kralingen"}
    assert "2 of 3 depots, those shortest of vans;" in page_text(app)
    app = open_page("plan", city="Rotterdam", depot="RTM-03")
    assert depots_in_grid(app) == ROTTERDAM, "with the depot of the address"


def test_the_day_of_the_address_is_marked_with_the_grid_above_the_form(
    seeded, open_page, tomorrow
):
    text = page_text(open_page("plan", day=f"{tomorrow}"))
    assert text.count('aria-current="date"') == 1
    assert f"plan?city=Rotterdam&amp;day={tomorrow}" in text
    app = city_page(open_page, "London", day=f"{tomorrow}")
    text = page_text(app)
    assert text.count('aria-current="date"') == 1
    assert field(app, "choice of day").value == f"{tomorrow}"


def test_a_city_has_its_depots_and_no_form_until_the_address_asks_for_one(
    seeded, open_page
):
    app = city_page(open_page, "Rotterdam", form="")
    assert_no_traceback(app)
    text = page_text(app)
    assert "Waalhaven" in text
    assert "Greenwich" not in text
    assert '<th scope="row">Need</th>' in text
    assert text.count("per van (estimated). ") == 1
    assert text.count("Set your own") == 1
    assert not [*app.text_input, *app.number_input]
    plan = van_plan.fleet_plan(queries.freshness()).cities.query("city == 'Rotterdam'")
    for day in plan.sort_values("short").iloc[[0, -1]].to_dict("records"):
        name = formatting.day(day["target_on"])
        of_day = city_page(
            open_page, "Rotterdam", form="", day=f"{day['target_on']:%Y-%m-%d}"
        )
        assert (f">Decide on {name}<" in page_text(of_day)) == (day["short"] > 0)
    for form in ("settings", "orders", "vans"):
        on = "" if form == "settings" else "&amp;day=[0-9-]+"
        assert re.search(f'href="plan\\?city=Rotterdam{on}&amp;form={form}"', text)
        app = city_page(open_page, "Rotterdam", form=form)
        assert_no_traceback(app)
        assert labelled(app.text_input, "Your name"), "one alone"
        heading = f"Rotterdam: {plan_parts.FORMS[form]}"
        assert heading in [each.value for each in app.header]


SETTINGS = ("Vans", "Orders per van", "Service level", "Drivers per van")


@pytest.mark.parametrize(
    ("form", "entered", "told_of"),
    [
        ("vans", {"Hired vans": -900}, ["Hired vans: enter 0 or more, not −900."]),
        ("vans", {"Off the road": -900}, ["Vans off the road: enter 0 or more, not −900."]),
        ("vans", {"Hired vans": None}, ["Hire how many vans? Give a number, or accept the risk."]),
        ("vans", {"Off the road": 3}, ["Vans off the road: enter 2 or less, not 3."]),
        ("settings", {"Vans": -900}, ["Vans: enter 0 or more, not −900."]),
        ("settings", dict.fromkeys(SETTINGS), [
            "Vans: enter 0 or more.",
            "Orders per van: enter 1 or more.",
            "Service level in %: enter 50 or more.",
            "Drivers per van: enter 1 or more.",
        ]),
    ],
    ids=["extra", "off the road", "no number", "too many off", "vans", "emptied"],
)  # fmt: skip
def test_a_number_that_is_not_taken_or_emptied_is_told_and_nothing_is_saved(
    seeded, open_page, form, entered, told_of
):
    set_city(vans=2)
    app = sign(city_page(open_page, "London", form=form), "Ann")
    for label, number in entered.items():
        setting(app, label).set_value(number)
    app = press(app, "Save settings" if form == "settings" else "Save decision")
    for sentence in told_of:
        assert sentence in told(app.error)
    assert not app.success
    assert changing.history("vans").empty
    assert len(changing.history("settings")) == 1


@pytest.mark.parametrize(
    ("number", "told_of"),
    [
        (2.5, "2.5 is not a whole number of vans."),
        (None, "Hire how many vans? Give a number, or accept the risk."),
        (0, "Hire how many vans? Give a number, or accept the risk."),
        (100_001, "Hired vans: enter 100,000 or less, not 100,001."),
    ],
)
def test_what_is_wrong_with_hired_vans_is_told_before_they_are_saved(
    seeded, open_page, number, told_of
):
    set_city(vans=2)
    app = city_page(open_page, "London", form="vans")
    setting(app, "Hired vans").set_value(number)
    assert told(rerun(app).warning) == told_of
    assert "Preview:" not in page_text(app)


@pytest.mark.parametrize("form", ["vans", "orders", "settings", ""])
def test_a_day_that_is_not_ahead_is_told_of_once(seeded, open_page, form):
    set_city(vans=2)
    app = city_page(open_page, "London", form=form, day="2020-01-01")
    [message] = app.info
    assert ("Shown instead" in message.value) == (form in ("vans", "orders"))


def test_the_field_for_orders_says_that_a_negative_number_is_a_change(
    seeded, open_page
):
    number = field(city_page(open_page, "London"), "number")
    assert number.placeholder == "420, +30, −5 or +10 %"


def test_the_form_and_the_page_of_today_say_where_it_is_heading(
    seeded, open_page, tomorrow, monkeypatch
):
    set_city(vans=2)
    heading = {tomorrow: "on the way to 90 orders."}
    monkeypatch.setattr(running_day, "on_the_way", lambda *_: heading)
    app = city_page(open_page, "London", form="vans", day=f"{tomorrow}")
    assert "**Today:** on the way to 90 orders." in page_text(app), "in the form"
    captions = [each.value for each in city_page(open_page, "London").caption]
    assert "Today: on the way to 90 orders." in captions


def at_pace_of(monkeypatch, tomorrow):
    """The plan of London's next day; and what sets its pace, as a share of its orders."""
    days = van_plan.city_plan("London", queries.freshness()).cities
    [day] = days[days["target_on"].dt.date == tomorrow].to_dict("records")
    heading = dict.fromkeys(today.CITY_COLUMNS[3:], 0) | {"is_whole": True}
    heading |= {"city": "London", "target_on": day["target_on"]}
    heading["forecast"] = day["point"]

    def set_pace(share):
        pace = pd.DataFrame([heading | {"estimate": (1 + share) * day["point"]}])
        monkeypatch.setattr(queries, "running_cities", lambda *_: pace)
        days = van_plan.city_plan("London", queries.freshness()).cities
        [paced] = days[days["target_on"].dt.date == tomorrow].to_dict("records")
        return int(paced["at_pace"])

    return day, set_pace


def test_the_brief_and_the_plan_say_where_todays_pace_takes_fewer_vans(
    seeded, open_page, tomorrow, monkeypatch
):
    day, set_pace = at_pace_of(monkeypatch, tomorrow)
    set_city(vans=int(day["needed"]) - 1)
    set_city("Rotterdam", vans=999)
    paced = set_pace(-0.5)
    brief = page_text(open_page("days_ahead"))
    assert re.search(
        ": 1 van short[^<]*<small>short at today&#x27;s pace: [A-Z][a-z]+ 0<", brief
    )
    plan = page_text(city_page(open_page, "London"))
    has = int(day["needed"]) - 1
    assert f"are needed, not {day['needed']:,}; there are {has:,}." in plan
    assert f"<u>{paced} at pace</u>" in plan, "nothing is left to decide"
    form = city_page(open_page, "London", form="vans", day=f"{tomorrow}")
    assert decision(form).value == "", "no vans that the pace does not need"
    assert "Short at today's pace" not in page_text(open_page("plan"))
    at_pace = set_pace(-0.1)
    assert 1 < at_pace < day["needed"]
    set_city(vans=at_pace - 1)
    everywhere = page_text(open_page("plan")).partition("Short at today's pace: ")[2]
    link = f'<a href="plan?city=London&amp;day={tomorrow}" target="_self">London</a> 1.'
    assert everywhere.startswith(link), "as on page Days ahead"
    form = city_page(open_page, "London", form="vans", day=f"{tomorrow}")
    left = day["needed"] - at_pace
    assert setting(form, "Hired vans").value == left + 1, "as everywhere else"
    form = press(form, "Hire 1: enough at today's pace")
    name = formatting.day(tomorrow)
    preview = f"Preview:** enough at today's pace. By the plan: {name}: 1 van hired, {left} still short;"
    assert preview in page_text(form).replace("\\", "")
    decision(form).set_value("accept")
    setting(form, "Off the road").set_value(1)
    fewer = f"Preview:** 2 still short at today's pace. By the plan: {name}: "
    assert fewer in page_text(rerun(form)).replace("\\", "")


def test_a_suggestion_is_none_that_was_entered_also_when_the_pace_has_moved(
    seeded, open_page, tomorrow, monkeypatch
):
    set_city(vans=1)
    _, set_pace = at_pace_of(monkeypatch, tomorrow)
    set_pace(-0.1)
    app = city_page(open_page, "London", form="vans", day=f"{tomorrow}")
    suggested = int(setting(app, "Hired vans").value)
    set_pace(-0.3)
    app = decide(app, "accept")
    assert "Hired vans" not in [each.label for each in app.number_input]
    app = decide(app, "hire")
    assert setting(app, "Hired vans").value == suggested
    setting(app, "Hired vans").set_value(2)
    for kind in ("accept", "ask", "hire"):
        app = decide(rerun(app), kind)
    assert setting(app, "Hired vans").value == 2


def test_what_was_entered_for_a_day_is_there_after_a_look_at_another(
    seeded, open_page, tomorrow
):
    set_city(vans=1)
    app = city_page(open_page, "London", form="vans", day=f"{tomorrow}")
    app = decide(app, "ask")
    field(app, "note").set_value("from Hertz")
    app = rerun(app)
    for day in (tomorrow + timedelta(days=1), tomorrow):
        labelled(app.selectbox, "Day").set_value(f"{day}")
        app = rerun(app)
        is_there = day == tomorrow
        assert (decision(app).value == "ask") is is_there
        assert (field(app, "note").value == "from Hertz") is is_there


def test_a_reason_is_what_is_tapped_and_written_and_back_to_the_model_needs_none(
    seeded, open_page, tomorrow
):
    app = fill_in(city_page(open_page, "London"), "1234", reason="Ice hockey")
    labelled(app.pills, "Reason").set_value("Event nearby")
    app = press(app, "Save")
    assert changing.history()["reason"].tolist() == ["Event nearby: Ice hockey"]
    app = press(choose_action(app, WITHDRAW), "Save")
    assert "back to the model, 1,234 → " in told(app.success)
    assert not cell("LON-01", tomorrow).is_set
    assert changing.history()["orders"].isna().tolist() == [True, False]
    assert changing.history()["reason"].iloc[0] == "Back to the model"


def test_settings_are_saved_for_everybody_and_undone_by_one_more_row(seeded, open_page):
    before = settings_of("London")
    app = sign(city_page(open_page, "London", form="settings"), "Anna")
    for label, number in {
        "Vans": 20,
        "Orders per van": 33,
        "Service level": 75,
    }.items():
        setting(app, label).set_value(number)
    app = press(app, "Save settings")
    assert_no_traceback(app)
    assert "Saved: the settings of London" in told(app.success)
    text = page_text(city_page(open_page, "London", form="settings"))
    assert "20 vans, 33 orders per van, service level 75 %" in text
    assert "Set by Anna, " in text
    assert "estimated" not in text
    # Of the city that nobody has set, and so of all.
    assert page_text(open_page("plan")).count(" vans (estimated)") == 2
    app = press(app, "Undo")
    assert_no_traceback(app)
    assert told(app.success) == "Undone: the settings of London."
    after = settings_of("London")
    assert (after.vans, after.is_estimated) == (before.vans, True)
    assert changing.history("settings")["vans"].fillna(0).tolist() == [0, 20]
    text = page_text(app)
    assert "1 driver per van (undone)" in text
    back = "Undone, back to: vans and orders per van estimated, service level 90 %"
    assert back in text


def test_vans_that_nobody_knows_are_not_called_missing_before_an_entry(
    seeded, write, open_page
):
    write(sa.update(schema.depots).values(vans=None))
    app = city_page(open_page, "London", form="settings")
    assert_no_traceback(app)
    assert setting(app, "Vans").value is None
    assert not app.warning
    setting(app, "Orders per van").set_value(0)
    assert "Orders per van: enter 1 or more, not 0." in told(rerun(app).warning)
    text = page_text(open_page("plan", city="London"))
    assert "The vans of London are not known, so no shortage is shown" in text
    assert 'class="short"' not in text
    assert '<th scope="row">Have</th>' not in text
    everywhere = page_text(open_page("plan"))
    assert "The vans of London and Rotterdam are not known" in everywhere
    assert "Late orders" not in page_text(open_page("depot"))


def test_settings_are_previewed_before_they_are_saved(seeded, open_page):
    set_city(vans=30, orders_per_van=40)
    app = city_page(open_page, "London", form="settings")
    assert "**Preview:**" not in page_text(app)
    setting(app, "Vans").set_value(2)
    app = rerun(app)
    preview = next(each.value for each in app.caption if "**Preview:**" in each.value)
    setting(app, "Vans").set_value(-1)
    assert "**Preview:**" not in page_text(rerun(app)), "it is no number of vans"
    set_city(vans=2)
    headline = page_text(city_page(open_page, "London"))
    told = preview.removeprefix("**Preview:** ").replace("\N{NO-BREAK SPACE}", " ")
    first, _, others = told.partition(". ")
    assert "short of vans" in first
    assert f"**{first}.** {others}" in headline


def test_far_more_or_fewer_vans_are_asked_about(seeded, open_page):
    """More than three times as many, or fewer than a third, and more than 20 apart; or none."""
    set_city(vans=30)
    app = sign(city_page(open_page, "London", form="settings"), "Ann")
    before = 30
    for after, is_asked in ((60, False), (5, True), (0, True)):
        setting(app, "Vans").set_value(after)
        app = press(rerun(app), "Save settings")
        if is_asked:
            told_of = f"London would have {after} vans instead of {before}."
            assert told_of in told(app.warning)
            assert "Tick “Yes, that is right”" in told(app.error)
            [box] = app.checkbox
            box.check()
            app = press(app, "Save settings")
        assert "Saved: the settings of London" in told(app.success)
        assert settings_of("London").vans == after
        before = after


def test_shifts_that_are_saved_alone_leave_the_vans_estimated(seeded, write, open_page):
    write(sa.update(schema.depots).values(vans=5))
    app = city_page(open_page, "London", form="settings")
    field(app, "shifts").set_value("06-14, 14-22")
    sign(app, "Anna")
    app = press(app, "Save settings")
    assert told(app.success) == (
        "Saved: the settings of London, for everybody. Its vans stay estimated."
    )
    london = settings_of("London")
    assert (london.shifts, london.is_estimated) == ("06-14, 14-22", True)
    text = page_text(app)
    assert "Vans and orders per van are estimated; the rest was set by Anna" in text
    assert "Set your own" in text
    assert "**Preview:**" not in text, "of what is saved"
    assert "Save settings" not in labels(app), "nothing is left to save"
    # Opened again, and saved as they are: they are right.
    app = sign(city_page(open_page, "London", form="settings"), "Anna")
    app = press(app, "Save settings")
    assert not settings_of("London").is_estimated


def test_the_extra_vans_that_are_suggested_follow_the_settings(seeded, open_page):
    suggested = []
    for vans in (4, 1):
        set_city(vans=vans)
        app = city_page(open_page, "London", form="vans")
        suggested.append(setting(app, "Hired vans").value)
    assert suggested[1] == suggested[0] + 3


def test_a_confirmation_stays_with_the_city_and_the_day_it_speaks_of(
    seeded, tomorrow, open_page
):
    app = change(city_page(open_page, "London"), "+7")
    assert told(app.success).startswith("Saved: ")
    app = rerun(app, "Rotterdam")
    assert not app.success
    app = change(rerun(app), "+8")
    assert told(app.success).startswith("Saved: ")
    labelled(app.selectbox, "From").set_value(f"{tomorrow + timedelta(days=2)}")
    app = rerun(app)
    assert not app.success
    assert "Your last change" in page_text(app)


def test_another_city_drops_the_depot_of_the_one_before(seeded, open_page):
    app = open_page("plan", city="London", depot="LON-01")
    assert "There is no depot" not in page_text(app)
    app = rerun(app, "Rotterdam")
    assert "depot" not in app.query_params
    assert "There is no depot" not in page_text(app)
    by_hand = open_page("plan", city="Rotterdam", depot="LON-01")
    assert "There is no depot “LON-01”. Shown instead: " in page_text(by_hand)


def test_settings_that_a_colleague_saved_meanwhile_are_seen_before_they_are_replaced(
    seeded, open_page
):
    mine = city_page(open_page, "London", form="settings")
    setting(mine, "Vans").set_value(20)
    sign(mine, "Bob")
    set_city(vans=30, service_level=0.95, shifts="07-15, 15-23")
    mine = press(mine, "Save settings")
    assert "The settings of London were saved by Mara after you had opened them" in (
        told(mine.error)
    )
    assert "London: 30 vans" in page_text(mine)
    assert setting(mine, "Vans").value == 20
    assert settings_of("London").vans == 30
    mine = press(mine, "Save settings")
    assert not mine.error
    assert "Saved: the settings of London" in told(mine.success)
    saved = settings_of("London")
    assert saved.vans == 20, "what Bob has entered"
    assert (saved.service_level, saved.shifts) == (0.95, "07-15, 15-23"), (
        "what Mara has"
    )


def test_an_offer_fills_in_a_hire_and_vans_that_leave_the_day_short_are_saved_unasked(
    seeded, tomorrow, open_page
):
    set_city(vans=1)
    app = city_page(open_page, "London", day=f"{tomorrow}", form="vans")
    suggested = int(setting(app, "Hired vans").value)
    setting(app, "Hired vans").set_value(2)
    decision(app).set_value("accept")
    sign(app, "Ben")
    [offer] = [
        each for each in app.button if each.label.startswith(f"Hire {suggested}")
    ]
    app = press(rerun(app), offer.label)
    assert setting(app, "Hired vans").value == suggested
    setting(app, "Hired vans").set_value(1)
    app = rerun(app)
    name = formatting.day(tomorrow)
    preview = f"Preview:** {name}: 1 van hired, {suggested - 1} still short; "
    text = page_text(app).replace("\\", "")
    assert preview in text
    assert re.search(
        r"Drivers to roster(, all shifts|), for \d+ vans that the plan sends out: \d+ → \d+\.",
        text.partition(preview)[2],
    )
    app = press(app, "Save decision")
    assert not app.error
    history = changing.history("vans")
    assert history[["kind", "extra"]].to_numpy().tolist() == [["hire", 1]]
    assert f"1 van hired, {suggested - 1} still short" in page_text(app)
    assert f">Decide on London, {name}<" in page_text(app), "what it lacks still"
    everywhere = page_text(open_page("plan"))
    assert f"1 van hired; {suggested - 1} short" in everywhere


def test_vans_may_be_hired_where_there_are_enough_and_the_form_opens_again(
    seeded, tomorrow, open_page
):
    set_city(vans=100)
    app = city_page(open_page, "London", day=f"{tomorrow}", form="vans")
    app = decide(app, "hire")
    setting(app, "Hired vans").set_value(2)
    app = rerun(app)
    assert_no_traceback(app)
    assert "That day would have 102 vans" in page_text(app)
    assert "Preview:" not in page_text(app), "it is confirmed first"
    van_decisions.save(VanDecision("London", tomorrow, kind="hire", extra=2), "Ben")
    again = city_page(open_page, "London", day=f"{tomorrow}", form="vans")
    assert_no_traceback(again)
    assert "covered, 2 vans hired; " in page_text(again)
    sign(again, "Ben")
    app = press(rerun(again), "Save decision")
    assert "You have saved this already." in page_text(app)
    sign(app, "Ann")
    app = press(rerun(app), "Save decision")
    assert app.success[0].value.startswith(r"Saved\: London"), "as her decision"


def test_a_planner_hires_some_vans_and_accepts_the_rest(seeded, tomorrow, open_page):
    set_city(vans=1)
    app = city_page(open_page, "London", day=f"{tomorrow}", form="vans")
    suggested = int(setting(app, "Hired vans").value)
    app = decide(app, "ask")
    assert "No message is sent" in page_text(app)
    assert "Save decision" in labels(app)
    app = decide(app, "accept")
    assert "No message is sent" not in page_text(app)
    risk = rf"Preview:.* {suggested} vans? short;.* orders late\. Risk accepted\."
    assert re.search(risk, page_text(app).replace("\\", "")), "before it is saved"
    app = decide(app, "hire")
    setting(app, "Hired vans").set_value(1)
    sign(app, "Ben")
    app = press(rerun(app), "Save decision")
    assert "Save decision" not in labels(app), "nothing is left to save"
    app = decide(app, "accept")
    assert not app.success
    app = press(app, "Save decision")
    assert not app.error
    words = "1 van hired, risk accepted"
    assert f"{tomorrow.day} {tomorrow:%b}: {words}" in told(app.success)
    [day] = (
        van_plan.city_plan("London", queries.freshness())
        .cities.query("made_by != ''")
        .to_dict("records")
    )
    assert (day["is_decided"], day["short"]) == (True, suggested - 1)
    again = city_page(open_page, "London", day=f"{tomorrow}", form="vans")
    assert setting(decide(again, "hire"), "Hired vans").value == 1
    assert f"{words}; {suggested - 1} short" in page_text(open_page("plan"))


def test_a_form_that_went_on_to_the_next_day_by_itself_offers_no_other_one(
    seeded, tomorrow, open_page
):
    set_city(vans=1)
    app = city_page(open_page, "London", form="vans")
    decision(app).set_value("accept")
    sign(app, "Ben")
    app = press(rerun(app), "Save decision")
    assert "Saved: London, " in told(app.success)
    later = tomorrow + timedelta(days=1)
    assert labelled(app.selectbox, "Day").value == f"{later}"
    assert ">Decide on London, " not in page_text(app)


def test_the_day_of_the_form_is_in_the_url_and_stays_when_a_colleague_decides(
    seeded, tomorrow, open_page
):
    set_city(vans=1)
    app = city_page(open_page, "London", form="vans")

    def day(of):
        return labelled(of.selectbox, "Day")

    assert day(app).value == f"{tomorrow}"
    van_decisions.save(VanDecision("London", tomorrow, kind=ACCEPT), "Ann")
    assert day(rerun(app)).value == f"{tomorrow}"
    later = tomorrow + timedelta(days=2)
    app = day(app).set_value(f"{later}").run()
    assert app.query_params["day"] in (f"{later}", [f"{later}"])
    head = page_text(app).partition('aria-current="date"')[2].partition("</th>")[0]
    assert f"day={later}" in head, "the grid marks the same day"


def test_a_refused_decision_shows_what_the_colleague_decided_where_nothing_was_entered(
    seeded, tomorrow, open_page
):
    set_city(vans=5)
    app = city_page(open_page, "London", day=f"{tomorrow}", form="vans")
    setting(app, "Hired vans").set_value(2)
    sign(app, "Ben")
    theirs = VanDecision(
        "London", tomorrow, ACCEPT, 0, 3, note="Two vans at the garage"
    )
    van_decisions.save(theirs, "Ann")
    app = press(rerun(app), "Save decision")
    assert "Not saved." in told(app.error)
    assert "Ann" in told(app.error)
    assert setting(app, "Off the road").value == 3
    assert field(app, "note").value == "", "Ann's note is about her decision"
    assert any("risk accepted, 3 vans off" in each.value for each in app.markdown)
    assert setting(app, "Hired vans").value == 2, "what Ben has entered"
    app = press(app, "Save decision")
    assert not app.error
    newest = changing.history("vans").iloc[0]
    assert [newest["kind"], newest["extra"], newest["off_road"]] == ["hire", 2, 3]
    assert newest["note"] == ""


def test_a_decision_that_is_withdrawn_takes_its_note(seeded, tomorrow, open_page):
    # Far more than are needed: nobody is asked, as none is hired.
    set_city(vans=500)
    accepted = VanDecision("London", tomorrow, kind=ACCEPT, note="Hertz has none")
    van_decisions.save(accepted, "Ann")
    app = city_page(open_page, "London", day=f"{tomorrow}", form="vans")
    assert field(app, "note").value == "Hertz has none"
    decision(app).set_value("")
    sign(app, "Ben")
    app = press(app, "Save decision")
    assert_no_traceback(app)
    history = changing.history("vans")
    assert history["note"].tolist() == ["", "Hertz has none"]


def test_a_change_is_previewed_saved_confirmed_and_undone_by_one_button(
    seeded, tomorrow, open_page
):
    app = enter(city_page(open_page, "London"), "1234")
    before = cell("LON-01", tomorrow).orders
    made = f"{before:,.0f} → 1,234 orders"
    assert f": {made}" in page_text(app).replace("\\", "")
    assert changing.history().empty
    app = press(app, "Save")
    assert_no_traceback(app)
    assert not app.error
    assert f"Saved: Greenwich, {formatting.day(tomorrow)}" in told(app.success)
    assert made in told(app.success)
    text = page_text(app)
    assert "1,234</u></small>" in text
    assert '<span class="desk">set by </span>Anna</small>' in text
    assert "Weather" in text
    assert field(app, "number").value == ""
    app = press(app, "Undo")
    assert "Undone: Greenwich, " in told(app.success)
    assert cell("LON-01", tomorrow).orders == before
    app = press(app, "Set this again")
    assert "Set again: Greenwich, " in told(app.success)
    assert cell("LON-01", tomorrow).orders == 1234
    of_depot = page_text(open_page("depot", depot="LON-01"))
    assert "Set by Anna: “Weather”" in of_depot
    assert "Save" not in labels(app), "nothing is left to save"
    app = press(city_page(open_page, "London"), "Save")
    assert "The new number is missing" in told(app.error)
    assert changing.history()["orders"].fillna(0).tolist() == [1234, 0, 1234]


def test_ones_own_newest_change_is_undone_from_the_history(seeded, tomorrow, open_page):
    """After a reload, and once another change is begun."""
    before = cell("LON-01", tomorrow).orders
    app = change(city_page(open_page, "London"), "1340")
    assert "Your last change" not in page_text(app)
    app = enter(app, "1350", reason=None)
    assert "Your last change" in page_text(app)
    app = city_page(open_page, "London")
    assert "Undo" not in labels(app), "nobody's"
    sign(app, "Anna ")
    app = rerun(app)
    day = formatting.day(tomorrow)
    assert f"Greenwich, {day}: 1,340 orders." in page_text(app).replace("\\", "")
    [changes] = [
        each for each in open_page("plan").get("html") if "Changes" in each.proto.body
    ]
    assert "Anna" in changes.proto.body, "also below the plan of all cities"
    assert "Undo" not in labels(rerun(app, "Rotterdam"))
    app = press(rerun(app), "Undo")
    assert "Undone: Greenwich, " in told(app.success)
    assert cell("LON-01", tomorrow).orders == before
    change(city_page(open_page, "London"), "1350", name="Mara")
    app = city_page(open_page, "London")
    sign(app, "Anna")
    assert not {"Undo", "Set this again"} & labels(rerun(app)), "hers is newer"


def test_a_decision_is_undone_and_set_again_after_a_reload(seeded, tomorrow, open_page):
    set_city(vans=1)
    van_decisions.save(VanDecision("London", tomorrow, kind="ask"), "Anna")
    app = rerun(
        sign(city_page(open_page, "London", form="vans", day=f"{tomorrow}"), "Anna")
    )
    day = formatting.day(tomorrow)
    assert f"London, {day}: help asked for." in page_text(app).replace("\\", "")
    app = press(app, "Undo")
    assert f"Undone: London, {day}." in told(app.success)
    assert decision(app).value == "", "nothing is suggested below what was undone"
    app = rerun(app)
    assert "help asked for" not in page_text(app)
    assert "help asked for" not in page_text(open_page("days_ahead")), "in the brief"
    app = press(app, "Set this again")
    assert f"Set again: London, {day}." in told(app.success)
    history = changing.history("vans")
    assert history["kind"].fillna("").tolist() == ["ask", "", "ask"]
    app = decide(press(app, "Undo"), "hire")
    app = press(app, "Save decision")
    assert not app.error, "what was taken back below the form is no surprise to it"
    assert "Saved: London" in told(app.success)


def test_undo_is_of_what_the_form_has_saved_in_its_city(seeded, tomorrow, open_page):
    """Not of an older decision in another city, nor of a change in another window."""
    for city in ("London", "Rotterdam"):
        set_city(city, vans=1)
    van_decisions.save(VanDecision("Rotterdam", tomorrow, kind="ask"), "Anna")
    app = city_page(open_page, "London", form="vans", day=f"{tomorrow}")
    sign(app, "Anna")
    app = press(app, "Save decision")
    assert "Saved: London" in told(app.success)
    assert not rerun(app, "Rotterdam").success
    app = press(rerun(app, "London"), "Undo")
    assert "Undone: London" in told(app.success)
    assert "Preview:" not in page_text(app), (
        "nothing is suggested below what was undone"
    )
    app = press(decide(app, "hire"), "Save decision")
    assert "Saved: London" in told(app.success)
    override(1234, day=tomorrow)
    app = rerun(app)
    assert not app.success
    day = formatting.day(tomorrow)
    assert f"Greenwich, {day}: 1,234 orders." in page_text(app).replace("\\", "")


def test_a_save_does_not_replace_what_a_colleague_saved_since(
    seeded, tomorrow, open_page
):
    mine = enter(city_page(open_page, "London"), "+10 %", name="Bob")
    change(city_page(open_page, "London"), "+10 %", name="Mara")
    saved = cell("LON-01", tomorrow)
    mine = press(mine, "Save")
    assert (
        f"{formatting.day(tomorrow)} at Greenwich was set to {saved.orders:.0f} by Mara after "
        "you had opened it. Look at it again, then save."
    ) in told(mine.error)
    assert cell("LON-01", tomorrow) == saved
    assert field(mine, "number").value == "+10 %"
    assert f": {saved.orders:,.0f} → " in page_text(mine).replace("\\", "")
    mine = press(mine, "Save")
    assert "Saved: Greenwich" in told(mine.success)
    assert cell("LON-01", tomorrow).orders == round(1.1 * saved.orders)


def test_a_new_forecast_is_seen_before_a_change_of_it_is_saved(
    seeded, tomorrow, write, open_page
):
    app = enter(city_page(open_page, "London"), "+10 %")
    f = schema.forecasts.c
    is_day = (f.depot_id == "LON-01") & (f.target_on == tomorrow)
    write(sa.update(schema.forecasts).where(is_day).values(point=f.point + 10))
    app = press(app, "Save")
    day = formatting.day(tomorrow)
    assert (
        f"A new forecast of {day} at Greenwich arrived after you opened the form. Check "
        "the numbers, then save."
    ) in told(app.error)
    model = cell("LON-01", tomorrow).orders
    app = press(app, "Save")
    assert not app.error
    assert cell("LON-01", tomorrow).orders == round(1.1 * round(model))


def test_a_name_that_was_cleared_is_not_put_back(seeded, open_page):
    app = city_page(open_page, "London")
    sign(app, "Anna")
    app = rerun(app)
    sign(app, "")
    app = change(app, "420", name=None)
    assert field(app, "your name").value == ""
    assert "name" in told(app.error)


def test_every_depot_and_several_days_change_by_a_percentage(
    seeded, tomorrow, open_page
):
    app = city_page(open_page, "London")
    field(app, "choice of depot").set_value(ALL_DEPOTS)
    last = tomorrow + timedelta(days=2)
    field(app, "choice of to").set_value(f"{last}")
    app = rerun(app)
    before = cell("LON-03", last).orders
    app = change(app, "+10 %")
    assert_no_traceback(app)
    assert "Saved: 3 depots" in told(app.success)
    assert len(changing.history()) == 9
    assert cell("LON-03", last).orders == round(1.1 * round(before))


def test_all_that_is_wrong_is_told_at_once_and_nothing_is_lost(seeded, open_page):
    app = enter(city_page(open_page, "London"), "10000000", reason=None, name=None)
    assert "That makes 10,000,000 orders a day, outside" in preview_notes(app)
    assert "Preview" not in page_text(app)
    app = enter(app, "lots", reason=None, name=None)
    assert "“lots” is not a number of orders" in preview_notes(app)
    assert "Preview" not in page_text(app)
    assert not app.error
    app = press(app, "Save")
    wrong = told(app.error)
    assert "“lots” is not a number of orders" in wrong
    assert "A reason is missing" in wrong
    assert "Your name is missing" in wrong
    assert field(app, "number").value == "lots"
    assert changing.history().empty


def preview_notes(app):
    """What is told at the preview, before anything is saved."""
    return "\n".join(each.value for each in app.warning).replace("\\", "")


def click_again_while(monkeypatch, app, label, module, name):
    """Clicks a button, and once more while the function that writes is at work."""
    write = getattr(module, name)
    labelled(app.button, label).click()
    app.pills(key="city").select("London")
    clicked = app._tree.get_widget_states()

    def clicked_again(*arguments):
        monkeypatch.setattr(module, name, write)
        requests = get_script_run_ctx().script_requests
        hers = get_script_run_ctx().page_script_hash
        again = RerunData(widget_states=clicked, page_script_hash=hers)
        assert requests.request_rerun(again)
        return write(*arguments)

    monkeypatch.setattr(module, name, clicked_again)
    return app.run()


def test_a_second_click_on_save_finds_the_change_saved(
    seeded, tomorrow, open_page, monkeypatch
):
    before = cell("LON-01", tomorrow).orders
    app = enter(city_page(open_page, "London"), "+10 %")
    app = click_again_while(monkeypatch, app, "Save", overrides, "add")
    assert_no_traceback(app)
    assert not app.error
    assert "Saved: Greenwich" in told(app.success)
    assert field(app, "number").value == ""
    assert cell("LON-01", tomorrow).orders == round(1.1 * round(before))
    app = click_again_while(monkeypatch, app, "Undo", overrides, "undo")
    assert not app.error
    assert "Undone: Greenwich, " in told(app.success)
    assert cell("LON-01", tomorrow).orders == before


def test_a_second_click_on_save_shows_that_a_colleague_was_first(
    seeded, tomorrow, open_page, monkeypatch
):
    set_city(vans=1)
    app = city_page(open_page, "London", day=f"{tomorrow}", form="vans")
    sign(app, "Ben")
    van_decisions.save(VanDecision("London", tomorrow, kind="ask"), "Ann")
    app = click_again_while(monkeypatch, app, "Save decision", van_decisions, "save")
    assert "decided on by Ann after you had opened them" in told(app.error)
    history = changing.history("vans")
    assert history["kind"].tolist() == ["ask"]


def test_a_second_click_leaves_the_name_that_was_typed_last(
    seeded, open_page, monkeypatch
):
    app = enter(city_page(open_page, "London"), "+10 %", name="Bob")
    app = enter(app, "+10 %", name="Anna")
    app = click_again_while(monkeypatch, app, "Save", overrides, "add")
    assert not app.error
    assert field(app, "your name").value == "Anna"
    app.query_params["form"] = "settings"
    assert field(rerun(app), "your name").value == "Anna"


def test_a_tenfold_number_is_saved_only_with_a_tick(seeded, tomorrow, open_page):
    model = cell("LON-01", tomorrow).model_orders
    typed = f"{10 * model:.0f}"
    app = enter(city_page(open_page, "London"), f"{11 * model:.0f}")
    field(app, "sure ").check()
    app = enter(rerun(app), typed)
    label = "Yes, that is right"
    assert not field(app, "sure ").value, "a tick is for the number that it names"
    assert "More than three times the model's number: " in preview_notes(app)
    app = press(app, "Save")
    assert f"Tick “{label}”, or correct the number." in told(app.error)
    assert changing.history().empty
    assert field(app, "number").value == typed
    labelled(app.checkbox, label).check()
    app = press(app, "Save")
    assert not app.error
    assert cell("LON-01", tomorrow).orders == float(typed)


def test_the_address_of_a_cell_opens_its_form(seeded, tomorrow, open_page):
    day = tomorrow + timedelta(days=3)
    app = open_page("plan", city="London", depot="LON-03", day=f"{day}")
    assert_no_traceback(app)
    assert field(app, "choice of depot").value == "LON-03"
    days = [field(app, f"choice of {name}").value for name in ("day", "to")]
    assert days == 2 * [f"{day}"]


def test_depot_and_days_of_the_form_are_in_the_address(seeded, tomorrow, open_page):
    """A copied link has what was chosen; another first day is a day of its own."""
    app = open_page("plan", city="London", form="orders")
    field(app, "choice of depot").set_value("LON-02")
    field(app, "choice of to").set_value(f"{tomorrow + timedelta(days=1)}")
    app = rerun(enter(app, "777"))
    chosen = {name: app.query_params[name] for name in ("depot", "to")}
    assert chosen == {"depot": "LON-02", "to": f"{tomorrow + timedelta(days=1)}"}
    assert field(app, "number ").value == "777"
    later = tomorrow + timedelta(days=3)
    field(app, "choice of day").set_value(f"{later}")
    app = rerun(app)
    assert app.query_params["day"] == f"{later}"
    assert "to" not in app.query_params
    assert field(app, "choice of to").value == f"{later}"
    assert field(app, "number ").value == "777"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"depot": "RTM-01"}, "There is no depot “RTM-01”."),
        ({"day": "2020-01-01"}, "2020-01-01 is not among the days ahead"),
    ],
)
def test_an_address_that_cannot_be_changed_is_explained(
    seeded, open_page, keys, expected
):
    app = open_page("plan", city="London", **keys)
    assert_no_traceback(app)
    assert expected in app.info[0].value


def test_cities_that_differ_in_case_have_their_own_plans(seeded, open_page, write):
    is_third = schema.depots.c.depot_id == "LON-03"
    write(sa.update(schema.depots).where(is_third).values(city="london"))
    for city in ("London", "london"):
        assert open_page("plan", city=city).pills(key="city").value == city
