"""The morning message: which cities it names, and that it has the pages' numbers."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pandas as pd
import pytest

from dashboard import queries
from dashboard.planning import van_decisions, van_plan
from dashboard.queries import database
from dashboard.text import formatting
from pipelines.planning.city_settings import ACCEPT, CitySettings, VanDecision
from pipelines.planning.morning_message import (
    Tables,
    message_lines,
    morning_message,
)
from pipelines.planning.van_plan import make_plan
from pipelines.settings import Settings
from tests.dashboard.planning.changing import set_city, settings_of
from tests.dashboard.planning.test_van_plan import DAYS, NO_BANDS, fleet

TODAY = date(2025, 11, 21)
YESTERDAY = date(2025, 11, 20)
MADE_AT = datetime(2025, 11, 21, 4, 31, tzinfo=UTC)


def rule(vans=1, days=3, percent=20.0, url=""):
    """The settings of the message."""
    return Settings(
        message_short_vans=vans,
        message_days=days,
        message_changed_percent=percent,
        dashboard_url=url,
    )


RULE = rule()
EVENTS = pd.DataFrame(
    [(DAYS[1], "black_friday", False, "London", 2)],
    columns=["day_on", "what", "is_holiday", "city", "depots"],
)
SCORED = pd.DataFrame(
    [("A", "Poplar", "London", 100.0, 97.0, 97.0, True)],
    columns=["depot_id", "name", "city", "actual", "point", "part", "is_expected"],
)


def week_of(before=150.0):
    """Two days of a depot of London, the second of which was forecast otherwise before."""
    week = fleet(
        ("A", "Poplar", DAYS[0], 100.0, "model"),
        ("A", "Poplar", DAYS[1], 200.0, "model"),
    )
    return week.assign(point_before=[100.0, before])


def lines(week, vans, settings=RULE, scored=SCORED, today=TODAY):
    plan = make_plan(week, {"London": CitySettings("London", vans, 50, 0.9)}, NO_BANDS)
    tables = Tables(plan, week, EVENTS, scored, YESTERDAY, MADE_AT)
    return message_lines(tables, settings, today)


def test_a_city_short_of_vans_is_named_with_reason_chance_and_yesterday():
    (line,) = lines(week_of(before=200.0), 4, rule(url="https://fleet.example"))
    assert line == (
        "London, forecast of Fri 21 Nov, 04:31. Sat 22 Nov: 1 van short (Black Friday), chance of full "
        "delivery 50 %. Yesterday 3 % too low. https://fleet.example/plan?city=London"
    )


@pytest.mark.parametrize(
    ("settings", "is_told"),
    [
        (rule(1, 2, 900), True),
        (rule(2, 2, 900), False),
        (rule(1, 1, 900), False),
        (rule(99, 2, 33), True),
        (rule(99, 2, 34), False),
        (rule(99, 1, 33), False),
    ],
)
def test_the_rule_decides(settings, is_told):
    """Short of 1 van on the second day, whose forecast rose by a third."""
    assert bool(lines(week_of(), 4, settings)) == is_told


def test_a_day_whose_fullest_shift_lacks_vans_is_short():
    """All orders of the second day come in its first hour, in half of a van's day."""
    hours = pd.DataFrame({"city": "London", "target_on": DAYS[1], "hour": range(24)})
    shares = hours.assign(share=(hours["hour"] == 8) * 1.0, concentration=500.0)
    settings = {"London": CitySettings("London", 5, 50, 0.9, shifts="06-14, 14-22")}
    plan = make_plan(week_of(200.0), settings, NO_BANDS, shares=shares)
    unset = {"London": replace(settings["London"], shifts="")}
    of_days = make_plan(week_of(200.0), unset, NO_BANDS, shares=shares)
    needed = of_days.cities["needed"].to_numpy()
    assert of_days.cities["short"].tolist() == [0, 0]
    assert plan.cities["needed"].tolist() == [
        needed[0],
        pytest.approx(2 * needed[1], abs=1),
    ]
    short = plan.cities["short"].tolist()
    assert short == [0, plan.cities["needed"][1] - 5]
    tables = Tables(plan, week_of(200.0), EVENTS, SCORED, YESTERDAY, MADE_AT)
    [line] = message_lines(tables, RULE, TODAY)
    assert f"Sat 22 Nov: {short[1]} vans short (Black Friday), chance of" in line
    assert message_lines(replace(tables, plan=of_days), RULE, TODAY) == []
    decision = VanDecision("London", DAYS[1].date(), ACCEPT)
    decided = {
        "London": replace(settings["London"], decisions={DAYS[1].date(): decision})
    }
    plan = make_plan(week_of(200.0), decided, NO_BANDS, shares=shares)
    assert message_lines(replace(tables, plan=plan), RULE, TODAY) == []


def test_a_decided_day_is_told_as_decided_and_days_beyond_the_rule_are_counted():
    decisions = {
        DAYS[0].date(): VanDecision("London", DAYS[0].date(), "ask", made_by="Ann"),
        DAYS[1].date(): VanDecision("London", DAYS[1].date(), "hire", 1, made_by="Ben"),
    }
    settings = CitySettings("London", 1, 50, 0.9, decisions=decisions)
    week = week_of(200.0)
    plan = make_plan(week, {"London": settings}, NO_BANDS)
    tables = Tables(plan, week, EVENTS, SCORED, YESTERDAY, MADE_AT)
    short = plan.cities["short"].tolist()
    [line] = message_lines(tables, RULE, TODAY)
    assert (
        f"04:31. Fri 21 Nov: {short[0]} vans short, help asked for by Ann. "
        f"Sat 22 Nov: {short[1]} vans short (Black Friday), 1 van hired by Ben. Yesterday"
    ) in line
    undecided = {"London": replace(settings, decisions={})}
    plan = make_plan(week, undecided, NO_BANDS)
    [line] = message_lines(replace(tables, plan=plan), rule(days=1), TODAY)
    assert "1 more short day after these. Yesterday" in line
    enough = replace(decisions[DAYS[1].date()], extra=9)
    settled = replace(settings, decisions={DAYS[1].date(): enough})
    plan = make_plan(week, {"London": settled}, NO_BANDS)
    [line] = message_lines(replace(tables, plan=plan), RULE, TODAY)
    assert "Sat 22 Nov: covered (Black Friday), 9 vans hired by Ben." in line


def test_a_changed_day_is_told_and_a_small_one_is_not():
    (line,) = lines(week_of(), 99)
    assert "Sat 22 Nov: forecast +33 % since the last one." in line
    small = fleet(("A", "Poplar", DAYS[0], 30.0, "model")).assign(point_before=11.0)
    assert lines(small, 99) == []


@pytest.mark.parametrize(
    ("part", "actual", "today", "sentence"),
    [
        (104.0, 100.0, TODAY, "Yesterday 4 % too high."),
        (100.0, 100.2, TODAY, "Yesterday 0 % off."),
        (90.0, 100.0, date(2025, 11, 22), "Thu 20 Nov 10 % too low."),
        (90.0, float("nan"), TODAY, "delivery 50 %."),
    ],
)
def test_how_the_last_day_went(part, actual, today, sentence):
    scored = SCORED.assign(part=part, actual=actual)
    (line,) = lines(week_of(200.0), 4, scored=scored, today=today)
    assert line.endswith(sentence)


def test_the_worst_cities_come_first_and_at_most_ten():
    names = [f"City {n:02}" for n in range(12)]
    week = pd.concat(
        [
            fleet((name, name, DAYS[0], 100.0 + 50 * n, "model"), city=name)
            for n, name in enumerate(names)
        ],
        ignore_index=True,
    ).assign(point_before=100.0)
    settings = {name: CitySettings(name, 1, 50, 0.9) for name in names}
    tables = Tables(
        make_plan(week, settings, NO_BANDS), week, EVENTS, SCORED, YESTERDAY, MADE_AT
    )
    told = message_lines(tables, RULE, TODAY)
    assert [line[:7] for line in told[:-1]] == names[:1:-1]
    assert told[-1] == "And 2 more cities."


@pytest.mark.db
def test_its_numbers_are_those_of_the_pages(seeded):
    """A day that a planner has decided is not told; the seeded night is one of long ago."""
    freshness = queries.freshness()
    now = datetime.combine(freshness.origin, datetime.min.time(), UTC) + timedelta(
        days=1, hours=5
    )
    settings = database.settings()
    week_ahead = settings.model_copy(
        update={"message_days": 7, "message_changed_percent": 900.0}
    )

    def told():
        return " ".join(
            morning_message(database.engine(), week_ahead, freshness.origin, now)
        )

    def short_days():
        days = van_plan.fleet_plan(queries.freshness()).cities
        return days[(days["short"] > 0) & ~days["is_decided"]]

    for city in ("London", "Rotterdam"):
        set_city(city, vans=2)
    short = short_days()
    assert short["city"].nunique() > 1
    text = told()
    assert text.count(" short") == len(short)
    for day in short.to_dict("records"):
        assert f"{formatting.count(day['short'], 'van')} short" in text
        assert formatting.chance(day["delivery_probability"]) in text
    first = short.iloc[0]
    city, day = str(first["city"]), first["target_on"].date()
    decision = settings_of(city).decision_on(day)
    van_decisions.save(replace(decision, kind=ACCEPT), "Ann")
    assert len(short_days()) == len(short) - 1
    assert told().count(" short") == len(short)
    assert (
        f"{formatting.count(first['short'], 'van')} short, risk accepted by Ann."
        in told()
    )
    # Another origin than the one shown is nobody's morning.
    assert morning_message(database.engine(), week_ahead, YESTERDAY, now) == []
    off = Settings(home=settings.home, message_days=0)
    assert morning_message(database.engine(), off, freshness.origin, now) == []


def test_yesterday_of_some_depots_says_of_how_many():
    counted = ("A", "Poplar", "London", 100.0, 60.0, 60.0, True)
    others = [(name, name, "London", float("nan"), 500.0, 500.0, True) for name in "BC"]
    scored = pd.DataFrame([counted, *others], columns=SCORED.columns)
    (line,) = lines(week_of(), 4, scored=scored)
    assert "Yesterday 40 % too low at 1 of 3 depots." in line
