"""Sentences and key figures of a plan."""

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from dashboard.planning.van_plan import POOL, Transfer
from dashboard.text import plan_summaries
from pipelines.planning import van_plan
from pipelines.planning.city_settings import CitySettings
from pipelines.planning.shifts import NO_SHIFTS
from pipelines.planning.van_plan import Plan

ZONE = ZoneInfo("Europe/London")
A_DAY = pd.Timedelta(days=1)
DAYS = pd.to_datetime(["2025-11-27", "2025-11-28"]).as_unit("s")


def totals(*rows):
    columns = ["city", "target_on", "needed", "vans", "short", "delivery_probability"]
    days = pd.DataFrame(rows, columns=columns)
    return days.assign(
        point=100.0, undelivered=5.0, kind="", extra=0, off_road=0, is_decided=False, made_by="Ann",
    )  # fmt: skip


FLEET = totals(
    ("Helsinki", DAYS[0], 20, 25.0, 0, 0.99),
    ("Helsinki", DAYS[1], 32, 28.0, 4, 0.56),
    ("London", DAYS[0], 30, 40.0, 0, 1.0),
    ("London", DAYS[1], 49, 40.0, 9, 0.004),
)


def overview(days, chance=float("nan")):
    every_day = pd.DataFrame({"city": ["Ghent"], "delivery_probability": [chance]})
    days = at_plan(days)
    return plan_summaries.overview(Plan(days, days, every_day, days))


def at_plan(days):
    """The days with the pace of a day that has not begun."""
    return days.assign(is_enough=days["short"].eq(0))


def at_pace(days, *needed):
    """The days with the vans that each needs at today's pace."""
    return van_plan.with_shortage_at_pace(days.assign(at_pace=needed))


def short_days(days):
    return plan_summaries.short_days(at_plan(days))


def test_an_overview_counts_days_and_late_orders_and_leaves_the_rest_to_the_grid():
    assert overview(FLEET, 0.62) == (
        "Fri short of vans. About 20 orders late in the next 2 days, 5.0 % of all. "
        "Chance of full delivery every day: 62 %."
    )
    assert overview(FLEET.assign(undelivered=0.1)) == "Fri short of vans."
    # Whole orders of each day, as the grid shows them, and no more than are planned.
    assert "About 4 orders late" in overview(FLEET.assign(undelivered=1.4))
    many = FLEET.assign(point=9_000.0, undelivered=[1.0, *[0.0] * (len(FLEET) - 1)])
    assert "About 1 order late in the next 2 days, < 0.1 % of all" in overview(many)
    every = overview(FLEET.assign(undelivered=100.6))
    assert "About 400 orders late in the next 2 days, 100.0 % of all" in every
    below = "Fri short of vans. Chance of full delivery every day: < 1 %."
    assert overview(FLEET.assign(undelivered=0.1), 0.004) == below


def test_a_need_is_told_by_what_it_is_made_of():
    """Full vans for all orders, then whole ones at each depot, then those for the service level."""
    depots = pd.DataFrame({"target_on": DAYS[[0, 0, 1]], "part": [120.4, 60.0, 1.0]})
    days = FLEET[FLEET["city"] == "London"].assign(point=[180.4, 1.0])
    plan = Plan(depots, days, pd.DataFrame(), NO_SHIFTS)
    settings = CitySettings("London", 40, 50.0, 0.9)
    assert plan_summaries.need_sentence(plan, settings, DAYS[0].date()) == (
        "Need on Thu 27 Nov: 180 orders fill 4 vans; rounded up at each depot, 5; with a margin for "
        "full delivery at a chance of 90\N{NO-BREAK SPACE}%, 30."
    )
    # Shifts that are set decide the need by the fullest of them.
    shifts = pd.DataFrame(
        {
            "target_on": DAYS[[0, 0, 1]],
            "shift": ["06–14", "14–22", "06–14"],
            "orders": [60.0, 120.0, 1.0],
            "load": [0.7, 1.3, 9.0],
        }
    )
    in_shifts = replace(plan, shifts=shifts)
    with_set = replace(settings, shifts="06-14, 14-22")
    assert plan_summaries.need_sentence(in_shifts, with_set, DAYS[0].date()) == (
        "Need on Thu 27 Nov: 180 orders fill 4 vans if spread evenly; the fullest shift, 14–22, takes "
        "120 orders; with a margin for full delivery at a chance of 90\N{NO-BREAK SPACE}%, 30."
    )
    assert "rounded up at each depot" in plan_summaries.need_sentence(
        in_shifts, settings, DAYS[0].date()
    ), "usual shifts decide nothing"
    usual = "Shifts: usual ones, as nobody has set any."
    assert usual in plan_summaries.rules(in_shifts, settings)
    assert "fullest shift" in plan_summaries.rules(in_shifts, with_set)
    assert "Shifts" not in plan_summaries.rules(plan, settings)
    nothing = replace(plan, cities=days.assign(point=0.0))
    assert plan_summaries.need_sentence(nothing, settings, DAYS[0].date()) == ""


def decide(days, city, day, **columns):
    """The days with a decision on the vans of a city on one of them."""
    rows = days["city"].eq(city) & days["target_on"].eq(day)
    decided = {"is_decided": True} | columns
    return days.assign(
        **{name: days[name].mask(rows, value) for name, value in decided.items()}
    )


def test_every_number_of_short_days_counts_days_however_many_cities_hire_on_them():
    both = pd.concat([FLEET, FLEET.assign(city="Ghent")])
    for city in ("London", "Ghent"):
        both = decide(both, city, DAYS[0], kind="hire", extra=3)
    assert short_days(both) == "Fri short of vans"
    hired = decide(both, "Ghent", DAYS[1], kind="hire", extra=9, short=0)
    assert short_days(hired) == "Fri short of vans"


def test_a_day_whose_pace_needs_fewer_vans_is_not_short():
    slow = at_pace(FLEET, 20, 31, 30, 40)
    assert plan_summaries.short_days(slow) == "Fri short of vans", "Helsinki is"
    slower = at_pace(FLEET, 20, 28, 30, 40)
    assert plan_summaries.short_days(slower) == ""
    faster = at_pace(FLEET[:1], 26)
    assert plan_summaries.short_days(faster) == "Thu short of vans"


def test_what_is_decided_is_counted_and_stays_short_until_it_is_covered():
    asked = decide(FLEET, "Helsinki", DAYS[1], kind="ask")
    assert short_days(asked) == "Fri short of vans", "London has not decided"
    both = decide(asked, "London", DAYS[1], kind="accept")
    assert short_days(both) == "Fri short of vans", "Helsinki waits for help"
    both = decide(both, "Helsinki", DAYS[1], kind="accept")
    assert short_days(both) == "Fri short of vans, decided"
    hired = decide(both, "London", DAYS[0], kind="hire", extra=3)
    assert short_days(hired) == "Fri short of vans, decided"
    london = hired[hired["city"] == "London"]
    assert shortages(at_plan(london)) == ["covered", "9 short"]


def shortages(days):
    return [plan_summaries.shortage_in_words(day) for day in days.to_dict("records")]


def test_hired_vans_that_do_not_do_at_todays_pace_cover_a_day_by_the_plan():
    hired = decide(FLEET, "London", DAYS[0], kind="hire", extra=3)
    paced = at_pace(hired, 20, 32, 43, 49)
    told = "covered by the plan, 3 short at today's pace"
    assert told in shortages(paced)
    assert plan_summaries.short_days(paced) == (
        "Fri short of vans, Thu covered by the plan"
    )
    london = paced[paced["city"] == "London"]
    assert plan_summaries.short_days(london[:1]) == "Thu covered by the plan"


def test_depots_short_of_vans_are_counted_on_the_first_day_that_has_any():
    depots = pd.DataFrame(
        {
            "target_on": [DAYS[0], DAYS[1], DAYS[1], DAYS[1]],
            "short": [0, 2, 0, 0],
            "undelivered": [0.3, 20.0, 0.0, 0.0],
            "city": ["London", "London", "London", "Ghent"], "name": ["A", "A", "B", "C"], "depot_id": ["a", "a", "b", "c"],
        }
    )  # fmt: skip
    cities = pd.DataFrame(
        {
            "city": ["London", "London", "Ghent"],
            "target_on": DAYS[[0, 1, 1]],
            "vans": [8, 8, float("nan")],
            "is_enough": [True, False, True],
        }
    )

    def short(depots, cities=cities):
        plan = Plan(depots, cities, pd.DataFrame(), NO_SHIFTS)
        return plan_summaries.short_depots(plan)

    first = "Fri 28 Nov: 1 of 2 depots short, 2 vans in all."
    assert short(depots) == f"{first} Most late orders in 2 days: A, about 20."
    both = depots.assign(short=[0, 2, 6, 0], undelivered=[0.3, 20.0, 50.4, 90.0])
    assert short(both) == (
        "Fri 28 Nov: all 2 depots short, 8 vans in all. Most late orders in 2 days: B, about 50."
    )
    assert short(depots.assign(undelivered=0.4)) == first
    enough = cities.assign(is_enough=True)
    assert short(depots, enough) == "No depot is short of vans."
    assert short(depots[:1]) == "No depot is short of vans."
    assert short(depots[3:]) == "", "nobody knows how many vans Ghent has"


def test_a_fleet_with_enough_vans_says_so_and_which_vans_are_not_known():
    enough = FLEET[FLEET["short"] == 0].assign(undelivered=0.0)
    assert overview(enough) == "Every city has enough vans every day."
    assert overview(enough[1:]) == "London has enough vans every day."
    unknown = enough.assign(vans=enough["vans"].where(enough["city"] == "London"))
    assert overview(unknown) == (
        "Every other city has enough vans every day. The vans of Helsinki are not known."
    )
    assert overview(enough.assign(vans=float("nan"))) == (
        "The vans of Helsinki and London are not known, so no shortage is shown."
    )


def test_a_plan_opens_on_the_first_short_day_that_is_left_to_decide():
    """Else on the first short one, else on the first."""

    def first(days):
        slow = days.assign(is_enough=~days["vans"].lt(days["needed"]))
        return plan_summaries.first_to_look_at(slow)

    assert first(FLEET) == DAYS[1].date()
    both = pd.concat([FLEET, FLEET.assign(target_on=FLEET["target_on"] + 7 * A_DAY)])
    assert first(both) == DAYS[1].date()
    decided = both["target_on"].eq(DAYS[1])
    assert first(both.assign(is_decided=decided)) == DAYS[1].date() + 7 * A_DAY
    assert first(both.assign(is_decided=True)) == DAYS[1].date()
    hired = decide(FLEET, "London", DAYS[0], kind="hire", extra=3)
    assert first(hired.assign(vans=99.0)) == DAYS[0].date()


def test_a_day_is_enough_or_due_by_the_vans_that_its_pace_needs():
    """Where the vans are not known, nothing says that they do not suffice."""
    one = at_pace(FLEET, 20, 33, 30, 49)
    assert one["short_at_pace"].tolist() == [0, 5, 0, 9]
    assert one["is_enough"].tolist() == [True, False, True, False]
    assert one["is_due"].tolist() == [False, True, False, True]
    decided = at_pace(one.assign(is_decided=[False, True, True, False]), 20, 33, 30, 49)
    assert decided["is_due"].tolist() == [False, False, False, True]
    unknown = at_pace(FLEET.assign(vans=np.nan), 20, 33, 30, 49)
    assert unknown["is_enough"].all()


def test_drivers_are_told_by_shift_where_each_shift_has_one():
    def told(number, n_shifts):
        city = CitySettings("London", 40, 52.0, drivers_per_van=number)
        return plan_summaries.settings_text(city, ZoneInfo("UTC"), n_shifts)

    assert ", 1 driver per van and shift (estimated)." in told(1, 2)
    assert ", 1 driver per van and shift (estimated)." in told(1.5, 2)
    assert ", 3 drivers per van (estimated)." in told(3, 2)
    assert ", 1 driver per van (estimated)." in told(1, 0)


def test_short_days_have_names_where_these_are_few_and_of_one_week():
    of = {n: FLEET.assign(target_on=FLEET["target_on"] + n * A_DAY) for n in range(8)}
    assert (
        short_days(pd.concat([of[0], of[2], of[3]])) == "Fri, Sun and Mon short of vans"
    )
    assert short_days(pd.concat([of[n] for n in range(5)])) == "5 days short of vans"
    assert short_days(pd.concat([of[0], of[7]])) == "2 days short of vans", (
        "two Fridays"
    )
    many = pd.concat([of[n] for n in range(5)])
    asked = decide(many, "Helsinki", DAYS[1], kind="ask")
    assert short_days(asked) == "5 days short of vans"
    settled = decide(asked, "Helsinki", DAYS[1], kind="accept")
    settled = decide(settled, "London", DAYS[1], kind="accept")
    assert short_days(settled) == "4 days short of vans, 1 day decided"
    few = decide(pd.concat([of[0], of[2]]), "London", DAYS[1], kind="accept")
    few = decide(few, "Helsinki", DAYS[1], kind="accept")
    assert short_days(few) == "Sun short of vans, Fri decided"
    hired = {"kind": "hire", "extra": 9, "short": 0}
    far = decide(of[7], "London", of[7]["target_on"].max(), **hired)
    far = decide(far, "Helsinki", of[7]["target_on"].max(), **hired)
    assert short_days(pd.concat([of[0], far])) == "Fri short of vans"


@pytest.mark.parametrize(
    ("extra", "short", "expected", "offered"),
    [
        (
            0, 33, "33 vans short; chance of full delivery 9 %, about 120 orders late.",
            {33: "Hire 33: full delivery 92 %", 21: "Hire 21: full delivery 74 %"},
        ),
        (
            20, 13, "20 vans hired, 13 still short; chance of full delivery 9 %, about 120 orders late.",
            {33: "Hire 33 in all: full delivery 92 %", 21: "Hire 21 in all: full delivery 74 %"},
        ),
        (
            33, 0, "covered, 33 vans hired; chance of full delivery 9 %. Without them: < 1 %, and about 682 orders late.",
            {},
        ),
    ],
)  # fmt: skip
def test_a_day_with_hired_vans_begins_with_them(extra, short, expected, offered):
    day = {
        "target_on": DAYS[1], "lacking": 33, "for_likely": 21.0, "short": short, "chance_without": 0.002,
        "undelivered_without": 682.0, "extra": extra, "full_chance": 0.92, "likely_chance": 0.74, "delivery_probability": 0.09, "undelivered": 120.2,
    }  # fmt: skip
    assert plan_summaries.shortage_sentence(day) == f"Fri 28 Nov: {expected}"
    assert plan_summaries.offers(day) == offered
    as_many = plan_summaries.offers(day | {"for_likely": 33.0})
    assert list(as_many) == [33] * bool(short)


def test_vans_hired_where_there_are_enough_are_told_with_the_chance_that_they_buy():
    day = {
        "target_on": DAYS[1], "lacking": 0, "short": 0, "extra": 3, "delivery_probability": 0.97,
        "chance_without": np.nan, "undelivered_without": np.nan,
    }  # fmt: skip
    told = "Fri 28 Nov: covered, 3 vans hired; chance of full delivery 97 %."
    assert plan_summaries.shortage_sentence(day) == told
    enough = "There are enough vans on that day."
    assert plan_summaries.shortage_sentence(day | {"extra": 0}) == enough


@pytest.mark.parametrize(
    ("undoes", "is_undone", "expected"),
    [
        (np.nan, False, "2 vans hired, 1 van off the road"),
        (np.nan, True, "2 vans hired, 1 van off the road (undone)"),
        (7.0, False, "Undone, back to: 2 vans hired, 1 van off the road"),
    ],
)
def test_the_history_marks_an_undo_and_what_it_took_back(undoes, is_undone, expected):
    saved = {"kind": "hire", "extra": 2, "off_road": 1}
    row = {"what": "vans", "saved": saved, "undoes": undoes, "is_undone": is_undone}
    assert plan_summaries.change_in_history(row) == expected


ONLY_SHIFTS = CitySettings(
    "London", 40, 52.0, made_by="Anna", made_at=datetime(2025, 11, 21, 6, 31, tzinfo=UTC),
    settings_id=3, shifts="06-14, 14-22", has_estimated_vans=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            CitySettings("London", 40, 52.0),
            "40 vans, 52 orders per van, service level 90 %, 1 driver per van (estimated).",
        ),
        (
            CitySettings(
                "London", None, 1.0, 0.8, 1.5, "Anna", datetime(2025, 11, 21, 6, 31, tzinfo=UTC), 3
            ),
            "vans not known, 1 order per van, service level 80 %, 1.5 drivers per van. Set by Anna, Fri 21 Nov, 06:31.",
        ),
        (
            replace(ONLY_SHIFTS, shifts=""),
            "40 vans, 52 orders per van, service level 90 %, 1 driver per van (estimated).",
        ),
        (
            ONLY_SHIFTS,
            ("40 vans, 52 orders per van, service level 90 %, 1 driver per van, shifts 06-14, 14-22. Vans and "
            "orders per van are estimated; the rest was set by Anna, Fri 21 Nov, 06:31."),
        ),
    ],
)  # fmt: skip
def test_settings_are_stated_with_who_saved_them(settings, expected):
    text = plan_summaries.settings_text(settings, ZONE)
    assert text == f"London: {expected}"


def test_a_depot_is_told_whose_vans_it_gets_and_who_gets_its_own():
    moves = [
        Transfer(1, "Alexander", "Waalhaven"),
        Transfer(2, POOL, "Waalhaven"),
        Transfer(1, "Kralingen", "Overschie"),
        Transfer(1, "Waalhaven", "Overschie"),
    ]
    assert plan_summaries.moved_vans("Waalhaven", moves) == (
        "+1\N{NO-BREAK SPACE}Alexander\n+2\N{NO-BREAK SPACE}hired or city's own\n−1\N{NO-BREAK SPACE}Overschie"
    )
    assert plan_summaries.moved_vans("Charlois", moves) == ""
