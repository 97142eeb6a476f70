"""The morning brief: what it says needs a decision, in which order, and where it leads."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from dashboard.text import brief
from pipelines.planning import van_plan
from pipelines.planning.city_settings import CitySettings

TODAY = date(2026, 11, 22)  # a Sunday
UTC = ZoneInfo("UTC")
YESTERDAY = TODAY - timedelta(days=1)
FRIDAY = date(2026, 11, 27)
DAYS = pd.date_range(TODAY, periods=7).as_unit("s")
NO_EVENTS = pd.DataFrame(
    columns=["day_on", "what", "is_holiday", "city", "depots"]
).astype({"day_on": "datetime64[s]", "depots": int})


def city_days(*rows, chance=0.01):
    """Vans that cities are short of on days, and the chance of full delivery."""
    days = pd.DataFrame(rows, columns=["city", "target_on", "short"])
    days = days.assign(
        delivery_probability=chance, lacking=days["short"], kind="", extra=0,
        is_decided=False, off_road=0, note="", made_by="", made_at=None, vans=20, point=1000.0,
        needed=20 + days["short"], undelivered=0.0,
    )  # fmt: skip
    return days.astype(
        {"target_on": "datetime64[s]", "short": int, "lacking": int, "is_decided": bool}
    )


def depot_week(name, city, last_on=YESTERDAY, **values):
    """A depot with 100 orders a day, 80 a week before, and no change overnight."""
    row = {
        "depot_id": name.upper(), "name": name, "city": city,
        "last_on": pd.Timestamp(last_on), "is_late": last_on < YESTERDAY,
        "is_silent": False, "point": 100.0, "week_before": 80.0, "point_before": 100.0,
        "before_on": pd.Timestamp(YESTERDAY - timedelta(days=1)), "revised": 0.0,
        "origin_on": pd.Timestamp(YESTERDAY),
    }  # fmt: skip
    days = pd.DataFrame([row | values | {"target_on": day} for day in DAYS])
    days = days.assign(part=days["point"])
    return days if "model_point" in days else days.assign(model_point=days["point"])


def fleet(*depots):
    return pd.concat(depots, ignore_index=True)


CALM = fleet(
    depot_week("Poplar", "London"),
    depot_week("Barking", "London"),
    depot_week("Kamppi", "Helsinki"),
)


def events(*rows):
    columns = list(NO_EVENTS.columns)
    return pd.DataFrame(rows, columns=columns).astype({"day_on": "datetime64[s]"})


ALL_HAVE_VANS = city_days()
EVERYWHERE = events(
    (FRIDAY, "black_friday", False, "Helsinki", 1),
    (FRIDAY, "black_friday", False, "London", 2),
)


def decide(plan_days=ALL_HAVE_VANS, week=CALM, special=NO_EVENTS, at_pace=()):
    """The decisions, of days that need other vans at today's pace if `at_pace` has any."""
    needed = at_pace or plan_days["needed"]
    days = van_plan.with_shortage_at_pace(plan_days.assign(at_pace=needed))
    return brief.decisions(days, week, special, TODAY, YESTERDAY, UTC)


def test_a_calm_fleet_needs_no_decision():
    assert decide(city_days(("London", FRIDAY, 0))) == []


def test_a_day_short_of_vans_names_its_event_its_cities_and_the_plan():
    short = city_days(
        ("Helsinki", FRIDAY, 4), ("London", FRIDAY, 5), ("London", TODAY, 2)
    )
    sunday, friday = decide(short, special=EVERYWHERE)
    assert friday == brief.Decision(
        "Vans",
        "Fri 27 Nov: 9 vans short",
        "plan?day=2026-11-27",
        "Full delivery unlikely · Black Friday",
        (
            ("London 5", "plan?city=London&day=2026-11-27&form=vans"),
            ("Helsinki 4", "plan?city=Helsinki&day=2026-11-27&form=vans"),
        ),
        is_severe=True,
    )
    assert sunday.text == "Today, Sun 22 Nov: 2 vans short"
    assert sunday.places == (("London 2", "plan?city=London&day=2026-11-22&form=vans"),)


def test_a_day_on_which_the_vans_will_probably_do_is_not_severe():
    [decision] = decide(city_days(("London", FRIDAY, 2), chance=0.8))
    assert decision.text == ("Fri 27 Nov: 2 vans short")
    assert not decision.is_severe
    assert decision.about == ""


def test_a_running_day_begins_with_the_vans_that_lack_at_its_pace():
    short = city_days(("London", TODAY, 4), ("Helsinki", TODAY, 4))
    [half] = decide(short, at_pace=[20, 21])
    assert half.about == (
        "Full delivery unlikely in Helsinki · short at today's pace: London 0 and Helsinki 1"
    )
    assert half.text == "Today, Sun 22 Nov: 8 vans short"
    assert [name for name, _ in half.places] == ["Helsinki 4"], "as in its plan"
    [both] = decide(short, at_pace=[20, 20])
    assert both.text == "Today, Sun 22 Nov: 8 vans short"
    assert both.about == "short at today's pace: London 0 and Helsinki 0"
    assert (both.places, both.is_severe) == ((), False)
    assert (half.is_decided, both.is_decided) == (False, True), "nothing is left to do"
    [more] = decide(short, at_pace=[27, 27])
    assert more.about == (
        "Full delivery unlikely · short at today's pace: London 7 and Helsinki 7"
    )
    assert [name for name, _ in more.places] == ["London 4", "Helsinki 4"]
    accepted = short.assign(
        is_decided=short["city"].eq("London"),
        kind=["accept", ""],
        made_at=datetime(2026, 11, 22, 8, 12, tzinfo=UTC),
    )
    [some] = decide(accepted, at_pace=[24, 21])[:1]
    assert some.about == (
        "Full delivery unlikely · short at today's pace: Helsinki 1 · 4 more decided"
    ), "London is decided, and not among them"
    assert [name for name, _ in some.places] == ["Helsinki 4"]
    [other] = decide(city_days(("London", FRIDAY, 4)))
    assert other.about == "Full delivery unlikely"


def test_a_city_that_is_short_only_at_todays_pace_is_named():
    enough = city_days(("London", TODAY, 0))
    [day] = decide(enough, at_pace=[26])
    assert day.text == "Today, Sun 22 Nov: 6 vans short at today's pace"
    assert day.about == "Full delivery unlikely"
    assert [name for name, _ in day.places] == ["London 6"]
    assert decide(enough.assign(vans=float("nan")), at_pace=[26]) == []


def test_what_is_decided_comes_last_with_who_and_when():
    days = city_days(("London", TODAY, 5), ("London", FRIDAY, 0), ("Leeds", FRIDAY, 2))
    days["lacking"] = [5, 9, 2]
    hired = days["target_on"].eq(pd.Timestamp(FRIDAY)) & days["city"].eq("London")
    days["is_decided"] = hired
    days.loc[hired, ["kind", "extra", "made_by", "note"]] = ("hire", 9, "Ann", "Hertz")
    days["made_at"] = datetime(2026, 11, 22, 8, 12, tzinfo=UTC)
    late = depot_week("Poplar", "London", YESTERDAY - timedelta(days=1))
    told = decide(days, fleet(late, depot_week("Barking", "London")))
    assert [each.kind for each in told] == ["Vans", "Vans", "Data", "Vans"]
    assert [each.is_decided for each in told] == [False, False, False, True]
    assert told[1].text == "Fri 27 Nov: 2 vans short"
    assert told[-1].text == (
        "Fri 27 Nov, London: covered; 9 vans hired by Ann, Sun 22 Nov, 08:12: “Hertz”"
    )
    assert told[-1].link == "plan?city=London&day=2026-11-27&form=vans"


def test_a_city_that_asked_for_help_stays_among_what_is_open_below_its_day():
    days = city_days(("Helsinki", FRIDAY, 4), ("London", FRIDAY, 10))
    days["is_decided"] = days["city"].eq("Helsinki")
    days["kind"] = ["ask", ""]
    days["made_by"] = ["Ann", ""]
    days["made_at"] = datetime(2026, 11, 22, 8, 12, tzinfo=UTC)
    friday, asked = decide(days)
    assert friday.text == "Fri 27 Nov: 10 vans short"
    assert friday.about == "Full delivery unlikely · 4 more wait for help"
    assert [name for name, _ in friday.places] == ["London 10"]
    assert asked.text == (
        "Fri 27 Nov, Helsinki: 4 short; help asked for by Ann, Sun 22 Nov, 08:12"
    )
    assert not asked.is_decided
    later = city_days(("London", FRIDAY + timedelta(days=1), 1))
    alone = pd.concat([days[:1], later], ignore_index=True)
    assert [each.text[:10] for each in decide(alone)] == ["Fri 27 Nov", "Sat 28 Nov"]
    unsure, sure = (decide(days.assign(delivery_probability=p))[1] for p in (0.4, 0.6))
    assert (unsure.is_severe, unsure.about) == (True, "Full delivery unlikely")
    assert (sure.is_severe, sure.about) == (False, "")
    [risk] = decide(days[:1].assign(kind="accept", delivery_probability=0.4))
    assert (risk.is_severe, risk.is_decided) == (False, True)
    # Vans that came with the request suffice.
    helped = days[:1].assign(extra=4, short=0, lacking=4, vans=days["needed"])
    [covered] = decide(helped)
    assert (covered.is_covered, covered.is_decided) == (True, True)


def test_a_hire_that_does_not_do_at_todays_pace_says_what_is_short_still():
    hired = city_days(("London", TODAY, 0)).assign(
        is_decided=True, kind="hire", extra=4, lacking=4, made_by="Ann",
        made_at=datetime(2026, 11, 22, 8, 12, tzinfo=UTC),
    )  # fmt: skip
    [slow] = decide(hired)
    assert slow.is_covered
    [day] = decide(hired, at_pace=[22])
    assert day.text == (
        "Sun 22 Nov, London: covered by the plan, 2 short at today's pace; "
        "4 vans hired by Ann, Sun 22 Nov, 08:12"
    )
    assert (day.is_decided, day.is_covered) == (True, False)
    assert day.link == "plan?city=London&day=2026-11-22&form=vans"


def test_vans_short_and_orders_late_are_of_the_cities_that_have_not_decided():
    days = city_days(("Helsinki", FRIDAY, 4), ("London", FRIDAY, 10))
    days = days.assign(
        is_decided=[True, False], kind=["accept", ""], undelivered=[30.0, 70.0],
        made_at=datetime(2026, 11, 22, 8, 12, tzinfo=UTC),
    )  # fmt: skip
    friday = decide(days)[0]
    assert friday.text == "Fri 27 Nov: 10 vans short, about 70 orders late"
    assert friday.about == "Full delivery unlikely · 4 more decided"


def test_a_hire_that_is_too_small_leaves_a_trace():
    days = city_days(("London", FRIDAY, 5))
    days = days.assign(kind="hire", extra=4, lacking=9, made_by="Ann")
    [friday] = decide(days)
    assert friday.text == "Fri 27 Nov: 5 vans short"
    assert friday.about == "Full delivery unlikely · 4 hired in London by Ann"
    assert not friday.is_decided


def test_many_short_cities_are_counted():
    short = city_days(*((f"City {n}", FRIDAY, n) for n in range(1, 6)))
    [decision] = decide(short.assign(undelivered=15.1))
    assert decision.text == "Fri 27 Nov: 15 vans short, about 75 orders late"
    assert [name for name, _ in decision.places] == [
        "City 5 5", "City 4 4", "City 3 3", "2 more cities",
    ]  # fmt: skip
    assert decision.places[-1][1] == "plan?day=2026-11-27"


def test_a_depot_without_yesterdays_orders_leads_to_its_page():
    late = depot_week("Poplar", "London", YESTERDAY - timedelta(days=1))
    [decision] = decide(week=fleet(late, depot_week("Barking", "London")))
    assert decision == brief.Decision(
        "Data", "Poplar (London): yesterday's orders are missing", "depot?depot=POPLAR"
    )


@pytest.mark.parametrize(
    ("last_on", "expected"),
    [
        pytest.param(YESTERDAY - timedelta(days=4), "no orders since Tue 17 Nov", id="days"),
        pytest.param(pd.NaT, "no orders yet", id="never"),
    ],
)  # fmt: skip
def test_a_longer_gap_says_since_when(last_on, expected):
    silent = depot_week("Poplar", "London").assign(
        last_on=pd.Timestamp(last_on), is_silent=True
    )
    [decision] = decide(week=fleet(silent, depot_week("Barking", "London")))
    assert decision.text == f"Poplar (London): {expected}"


def test_a_city_whose_depots_are_all_missing_is_one_decision():
    before = YESTERDAY - timedelta(days=1)
    week = fleet(
        depot_week("Poplar", "London", before), depot_week("Barking", "London", before)
    )
    [decision] = decide(week=week)
    assert decision == brief.Decision(
        "Data",
        "London: yesterday's orders are missing for all 2 depots (Barking and Poplar)",
        "pipeline",
    )


def test_depots_of_one_city_are_told_by_their_gaps():
    def missing(name, last_on):
        return depot_week(name, "London").assign(
            last_on=pd.Timestamp(last_on), is_silent=True
        )

    week = fleet(
        missing("Barking", YESTERDAY - timedelta(days=1)),
        missing("Poplar", YESTERDAY - timedelta(days=4)),
        missing("Wapping", YESTERDAY - timedelta(days=20)),
        missing("Acton", pd.NaT),
        missing("Brent", pd.NaT),
        depot_week("Ealing", "London"),
    )
    assert [decision.text for decision in decide(week=week)] == [
        "Barking (London): yesterday's orders are missing",
        "London: no orders since Sun 1 Nov or later for 2 of 6 depots (Poplar and Wapping)",
        "London: no orders yet for 2 of 6 depots (Acton and Brent)",
    ]


def test_an_event_has_its_days_its_cities_and_its_orders():
    promotion = events(*((day, "promotion", False, "London", 2) for day in DAYS[1:3]))
    [decision] = decide(special=promotion)
    assert decision == brief.Decision(
        "Event",
        "Mon 23 – Tue 24 Nov, Promotion in London: 400 orders planned",
        "plan?city=London&day=2026-11-23",
    )


def test_an_event_of_one_depot_says_so_and_a_holiday_keeps_its_name():
    special = events(
        (FRIDAY, "promotion", False, "London", 1),
        (FRIDAY, "Dia de los Muertos", True, "Helsinki", 1),
    )
    texts = [decision.text for decision in decide(special=special)]
    assert any("Dia de los Muertos in Helsinki: 100" in text for text in texts)
    assert "Fri 27 Nov, Promotion in London (1 of 2 depots)" in texts


def promotion(city, *days, depots=2):
    return [(day, "promotion", False, city, depots) for day in days]


@pytest.mark.parametrize(
    ("special", "short", "expected"),
    [
        pytest.param(promotion("London", YESTERDAY, TODAY), [], [], id="on already"),
        pytest.param(
            promotion("Helsinki", YESTERDAY, TODAY, FRIDAY, depots=1), [],
            ["Fri 27 Nov, Promotion"], id="on already, and again",
        ),
        pytest.param(
            promotion("Helsinki", *(DAYS[n].date() for n in (1, 2, 5)), depots=1), [],
            ["Mon 23 – Tue 24 Nov, Promotion in Helsinki: 200 orders planned",
             "Fri 27 Nov, Promotion in Helsinki: 100 orders"], id="twice in a week",
        ),
        pytest.param(
            [*promotion("London", DAYS[1], depots=1), *promotion("London", *DAYS[2:4])], [],
            ["Mon 23 Nov, Promotion in London (1 of 2 depots)",
             "Tue 24 – Wed 25 Nov, Promotion in London: 400 orders planned"],
            id="of more depots on its second day",
        ),
        pytest.param(
            [(FRIDAY, "black_friday", False, "London", 2)], [("London", FRIDAY, 1)],
            ["Fri 27 Nov: 1 van short (Black Friday (London))"], id="of a short day, once",
        ),
        pytest.param(
            promotion("London", FRIDAY), [("Helsinki", FRIDAY, 4)],
            ["Fri 27 Nov: 4 vans short", "Fri 27 Nov, Promotion in London: 200 orders"],
            id="elsewhere than the shortage",
        ),
        pytest.param(
            EVERYWHERE.to_numpy().tolist(), [("London", FRIDAY, 4)],
            ["Fri 27 Nov: 4 vans short (Black Friday)",
             "Fri 27 Nov, Black Friday in Helsinki: 100 orders"],
            id="of the fleet, where one city is short",
        ),
    ],
)  # fmt: skip
def test_an_event_is_told_once_by_its_days_and_its_cities(special, short, expected):
    decisions = decide(city_days(*short, chance=0.8), special=events(*special))
    assert len(decisions) == len(expected)
    for decision, start in zip(decisions, expected, strict=True):
        assert f"{decision.text} ({decision.about})".startswith(start)


def test_a_large_change_of_the_model_leads_to_its_depot():
    changed = depot_week(
        "Poplar", "London", point=300.0, model_point=100.0, point_before=80.0, revised=0.25
    )  # fmt: skip
    [decision] = decide(week=fleet(changed, depot_week("Barking", "London")))
    assert decision == brief.Decision(
        "Change",
        "Poplar (London): forecast +25 % since Fri 20 Nov (+140 orders)",
        "depot?depot=POPLAR",
    )


def test_a_change_of_few_orders_or_few_percent_is_no_decision():
    few = depot_week("Poplar", "London", point=1.0, point_before=0.5, revised=1.0)
    small = depot_week("Barking", "London", point_before=95.0, revised=0.05)
    assert decide(week=fleet(few, small)) == []


def test_the_three_largest_changes_are_told():
    depots = [
        depot_week(f"D{n}", "London", point_before=80.0 - n, revised=0.3)
        for n in range(5)
    ]
    changes = decide(week=fleet(*depots))
    assert [decision.text[:2] for decision in changes] == ["D4", "D3", "D2"]


def test_urgency_is_vans_then_data_then_events_then_changes():
    week = fleet(
        depot_week("Poplar", "London", YESTERDAY - timedelta(days=1)),
        depot_week("Kamppi", "Helsinki", point_before=80.0, revised=0.25),
    )
    special = events((TODAY, "promotion", False, "Helsinki", 1))
    kinds = [d.kind for d in decide(city_days(("London", FRIDAY, 1)), week, special)]
    assert kinds == ["Vans", "Data", "Event", "Change"]


def test_cities_whose_shortages_rest_on_estimated_vans():
    settings = {
        "London": CitySettings("London", 12, 25.0, settings_id=1),
        "Delft": CitySettings("Delft", 12, 25.0),
    }
    known, guessed = ("London", FRIDAY, 1), ("Delft", FRIDAY, 1)
    assert brief.estimated_cities(city_days(known), settings) == []
    assert brief.estimated_cities(city_days(known, guessed), settings) == ["Delft"]


def test_a_days_events_name_the_cities_where_they_are_not_everywhere():
    day = pd.Timestamp("2026-11-27")
    special = pd.DataFrame(
        [
            (day, "black_friday", False, "Helsinki", 1),
            (day, "black_friday", False, "London", 2),
            (day, "promotion", False, "London", 2),
        ],
        columns=["day_on", "what", "is_holiday", "city", "depots"],
    )
    assert brief.day_names(special, 2) == {day: "Black Friday + Promotion (London)"}
    assert brief.day_names(special, 2, "Helsinki") == {day: "Black Friday"}
    of_three = {day: "Black Friday (Helsinki and London) + Promotion (London)"}
    assert brief.day_names(special, 3) == of_three
    a_year_on = pd.Timestamp("2027-11-26")
    both = {a_year_on: "Black Friday + Promotion (London)"}
    assert brief.names_of_last_year(special, 2) == both
    of_london = {a_year_on: "Black Friday + Promotion"}
    assert brief.names_of_last_year(special, 2, "London") == of_london


def test_an_event_of_other_cities_too_is_not_said_to_be_of_the_short_one_alone():
    special = events(*promotion("London", FRIDAY), *promotion("Helsinki", FRIDAY))
    week = fleet(CALM, depot_week("Alexander", "Rotterdam"))
    [friday] = decide(city_days(("London", FRIDAY, 2), chance=0.8), week, special)[:1]
    assert friday.about == "Promotion (Helsinki and London)"
