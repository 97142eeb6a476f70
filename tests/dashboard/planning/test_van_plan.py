"""The plan: over literal forecasts, and of the seeded fleet."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.planning import entered_changes, overrides, van_plan
from dashboard.planning.van_plan import POOL, Transfer, with_changes
from forecaster.inference import paths
from forecaster.inference.totals import QuantileForecasts
from pipelines import schema
from pipelines.planning.city_settings import CitySettings, VanDecision, estimate
from pipelines.planning.van_plan import LIKELY, make_plan
from tests.dashboard.no_override import as_forecast
from tests.dashboard.planning.changing import change

DAYS = pd.to_datetime(["2025-11-21", "2025-11-22"]).as_unit("s")
NO_BANDS = pd.DataFrame(columns=["city", "target_on", "p10", "p90"])
BANDS = pd.DataFrame(
    {"city": "London", "target_on": DAYS, "p10": [80.0, 320.0], "p90": [120.0, 378.0]}
)


def fleet(*rows, city="London", vans=3.0):
    columns = ["depot_id", "name", "target_on", "point", "basis"]
    table = pd.DataFrame(rows, columns=columns).assign(city=city, vans=vans)
    point = table["point"]
    table = table.assign(p10=0.8 * point, p50=point, p90=1.2 * point)
    return as_forecast(table)


def london(vans, level=0.5, drivers=1.0):
    return {"London": CitySettings("London", vans, 50, level, drivers)}


def plan_of(week, vans, bands=NO_BANDS, **settings):
    return make_plan(week, london(vans, **settings), bands)


@pytest.fixture
def week():
    return fleet(
        ("A", "Poplar", DAYS[0], 100.0, "model"),
        ("A", "Poplar", DAYS[1], 200.0, "model"),
        ("B", "Wapping", DAYS[0], 0.0, "closed"),
        ("B", "Wapping", DAYS[1], 149.0, "model"),
    )


def test_every_depot_gets_its_part_of_the_need_where_there_are_enough(week):
    plan = plan_of(week, 10)
    assert plan.depots["needed"].tolist() == [2, 4, 0, 3]
    assert plan.depots["allocated"].tolist() == [2, 4, 0, 3]
    assert plan.cities["needed"].tolist() == [2, 7]
    assert plan.cities["vans"].tolist() == [10, 10]
    assert plan.cities["short"].tolist() == [0, 0]


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("share", [-0.5, -0.004, 0.0, 0.004, 0.1, 0.37])
def test_a_running_day_needs_the_vans_of_a_plan_for_its_estimated_orders(
    week, level, share
):
    """Its orders are planned at every depot in proportion; a hair more or less changes nothing."""
    planned = week.loc[week["target_on"] == DAYS[1], "part"].sum()
    changes = {("London", DAYS[1]): share * planned, ("Ghent", DAYS[0]): 900.0}
    days = make_plan(week, london(7, level), NO_BANDS, changes=changes).cities
    ratio = 1 + share * (abs(share) > 0.005)
    numbers = ["point", "p10", "p50", "p90", "part", "model_part"]
    scaled = week.assign(**{name: ratio * week[name] for name in numbers})
    estimated = plan_of(scaled, 7, level=level).cities
    before = plan_of(week, 7, level=level).cities
    assert days["at_pace"].tolist() == [before["needed"][0], estimated["needed"][1]]
    assert days["needed"].tolist() == before["needed"].tolist()
    assert days["short_at_pace"].tolist() == [0, estimated["short"][1]]
    assert before["at_pace"].tolist() == before["needed"].tolist()


def test_no_more_orders_are_late_than_are_planned(week):
    """Without vans all are, although the mean of a skewed day is above its planned number."""
    skewed = week.assign(p90=3 * week["point"])
    days = plan_of(skewed, 0).cities
    assert days["undelivered"].tolist() == days["point"].tolist() == [100.0, 349.0]


def test_a_running_day_without_planned_orders_needs_the_planned_vans(week):
    none = week.assign(**dict.fromkeys(["point", "p10", "p50", "p90", "part"], 0.0))
    changes = {("London", DAYS[0]): 50.0}
    days = make_plan(none, london(7), NO_BANDS, changes=changes).cities
    assert days["at_pace"].tolist() == days["needed"].tolist() == [0, 0]


def test_too_few_vans_are_all_allocated(week):
    plan = plan_of(week, 5)
    # The third van of each is full in most cases, and the fourth of A carries more than
    # that: 200 orders fill it, 149 do not quite fill the third of B.
    assert plan.depots["allocated"].tolist() == [2, 3, 0, 2]
    assert plan.cities["short"].tolist() == [0, 2]
    assert plan.cities["drivers"].tolist() == [2, 5]


@pytest.mark.parametrize("bands", [NO_BANDS, BANDS], ids=["no band", "band"])
@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("vans", [2, 4, 6, 7, 8, 10])
def test_need_less_have_is_short_in_the_city_and_over_its_depots(
    week, vans, level, bands
):
    """And it is short exactly where its chance is below its service level."""
    plan = plan_of(week, vans, bands, level=level)
    days = plan.cities.set_index("target_on")
    parts = plan.depots.groupby("target_on")[["needed", "allocated"]].sum()
    assert parts["needed"].tolist() == days["needed"].tolist()
    assert (days["needed"] - parts["allocated"]).tolist() == days["short"].tolist()
    assert days["short"].tolist() == (days["needed"] - vans).clip(lower=0).tolist()
    assert ((days["short"] > 0) == (days["delivery_probability"] < level)).all()
    assert (plan.depots["needed"] >= plan.depots["allocated"]).all()


def test_a_depots_part_of_the_need_does_not_depend_on_the_vans_it_owns(week):
    """What it is given does: on a short day a van stays where it carries nearly as much."""
    day = week[week["target_on"] == DAYS[1]].assign(point=[190.0, 187.0])
    day = day.assign(p10=day["point"], p50=day["point"], p90=day["point"])
    for own, allocated in (
        ([3.0, 0.0], [3, 0]),
        ([0.0, 3.0], [0, 3]),
        ([np.nan, np.nan], [2, 1]),
    ):
        plan = plan_of(day.assign(vans=own), 3)
        assert plan.depots["needed"].tolist() == [4, 4]
        assert plan.depots["allocated"].tolist() == allocated


def shares_of(is_busy_at=(), closed=(), city="London"):
    """`days_ahead.city_shares`: some hours have nine times the others' orders."""
    share = pd.Series(1.0, range(24))
    share[list(is_busy_at)] = 9.0
    hours = pd.DataFrame({"hour": range(24), "share": share / share.sum()})
    shares = hours.merge(pd.DataFrame({"target_on": DAYS}), how="cross")
    shares.loc[shares["target_on"].isin(closed), "share"] = np.nan
    return shares.assign(city=city, concentration=1e6)


def with_shifts(week, vans, text, is_busy_at=(), bands=BANDS, closed=()):
    """The plan in shifts that a planner has set, or in those of a city that has set none."""
    settings = {"London": replace(london(vans, level=0.9)["London"], shifts=text)}
    return make_plan(week, settings, bands, shares=shares_of(is_busy_at, closed))


@pytest.mark.parametrize("width", [1.0, 0.05], ids=["wide", "narrow"])
@pytest.mark.parametrize("vans", [4, 9])
def test_a_shift_of_all_hours_plans_as_the_day_does(week, vans, width):
    middle = BANDS[["p10", "p90"]].mean(axis=1)
    bands = BANDS.assign(
        **{name: middle + width * (BANDS[name] - middle) for name in ("p10", "p90")}
    )
    shift = with_shifts(week, vans, "00-24", bands=bands)
    day = plan_of(week, vans, bands, level=0.9)
    for own, other in ((shift.depots, day.depots), (shift.cities, day.cities)):
        pd.testing.assert_frame_equal(own, other)
    assert shift.shifts["vans"].tolist() == day.cities["needed"].tolist()


@pytest.mark.parametrize("vans", [4, 9, 12])
def test_a_day_needs_the_vans_of_the_fullest_of_its_set_shifts(week, vans):
    """Nine tenths of the orders in one half: as many as if a van carried 1.8 times fewer a day."""
    busy = with_shifts(week, vans, "00-12, 12-24", range(12))
    settings = london(vans, level=0.9)["London"]
    slower = {"London": replace(settings, orders_per_van=50 / 1.8)}
    as_if = make_plan(week, slower, BANDS)
    for same in ("needed", "vans", "short"):
        assert busy.cities[same].tolist() == as_if.cities[same].tolist()
    chances = (plan.cities["delivery_probability"] for plan in (busy, as_if))
    np.testing.assert_allclose(*chances, atol=0.02)
    assert busy.shifts["vans"].tolist()[::2] == busy.cities["needed"].tolist()
    # One driver for each van that a shift needs and the city has.
    goes = busy.shifts["vans"].clip(upper=vans)
    assert busy.shifts["drivers"].tolist() == goes.tolist()
    assert busy.cities["drivers"].tolist() == [sum(goes[:2]), sum(goes[2:])]
    needed = busy.shifts["vans"]
    assert busy.shifts["drivers_needed"].tolist() == needed.tolist()
    assert busy.cities["drivers_needed"].tolist() == [sum(needed[:2]), sum(needed[2:])]
    # The quiet half is carried where the busy one is not.
    late, as_if_late = busy.cities["undelivered"], as_if.cities["undelivered"]
    assert (late <= as_if_late).all()
    assert (late >= plan_of(week, vans, BANDS, level=0.9).cities["undelivered"]).all()
    surely = busy.cities["delivery_probability"] == 1
    assert (late[surely] == 0).all()


def test_the_citys_own_band_makes_its_chance_surer(week):
    """Two depots that do not move together seldom have their worst day at once."""
    alone, banded = (
        plan_of(week, 8, bands).cities["delivery_probability"].iloc[1]
        for bands in (NO_BANDS, BANDS)
    )
    assert banded > alone


def test_the_chance_of_every_day_is_counted_on_the_same_paths(week):
    """Against a plain loop over paths; no better than the worst day or the worst city."""
    settings = london(6) | {"Rotterdam": CitySettings("Rotterdam", 2, 50, 0.5)}
    rotterdam = fleet(
        ("R", "Waalhaven", DAYS[0], 95.0, "model"),
        ("R", "Waalhaven", DAYS[1], 100.0, "model"),
        city="Rotterdam",
    )
    both = pd.concat([week, rotterdam], ignore_index=True)
    plan = make_plan(both, settings, NO_BANDS)
    carried = {"London": [], "Rotterdam": []}
    wide = both.pivot(index=["depot_id", "city"], columns="target_on")
    bands = [wide[name].to_numpy() for name in ("p10", "p50", "p90")]
    # All cities at once, a city without a band high and low together.
    drawn_sdh = paths.sample(
        paths.no_history(len(DAYS)),
        QuantileForecasts(*bands),
        [],
        list(wide.index.get_level_values("city")),
    )
    rows = wide["p50"].stack().index.to_frame(index=False)
    for orders_dh in drawn_sdh:
        vans = rows.assign(vans=-(-orders_dh.ravel() // 50))
        vans = vans.groupby(["city", "target_on"])
        most = vans["vans"].sum().groupby("city").max()
        for city, path in carried.items():
            path.append(most[city] <= settings[city].vans)
    all_cities = [all(path) for path in zip(*carried.values(), strict=True)]
    expected = [sum(path) / len(path) for path in [*carried.values(), all_cities]]
    assert plan.every_day["city"].tolist() == ["London", "Rotterdam", "All cities"]
    assert plan.every_day["delivery_probability"].tolist() == pytest.approx(expected)
    assert 0 < expected[2] < min(expected[:2])
    worst = plan.cities.groupby("city")["delivery_probability"].min()
    assert (worst.to_numpy() >= expected[:2]).all()
    unknown = make_plan(both, settings | london(None), NO_BANDS).every_day
    assert unknown["delivery_probability"].isna().tolist() == [True, False, True]


def decided(kind, extra=0, off_road=0):
    """Settings of London with 5 vans and a decision of the second day, which needs 7."""
    day = DAYS[1].date()
    decision = VanDecision("London", day, kind, extra, off_road)
    return {"London": CitySettings("London", 5, 50, 0.5, decisions={day: decision})}


def test_vans_of_a_day_are_those_of_the_city_and_hired_ones_without_those_off_the_road(
    week,
):
    plan = make_plan(week, decided("hire", 2, 1), NO_BANDS)
    assert plan.cities["vans"].tolist() == [5, 6]
    assert plan.cities["short"].tolist() == [0, 1]
    assert plan.cities["lacking"].tolist() == [0, 3]
    assert plan.depots["allocated"].tolist() == [2, 3, 0, 3]
    assert plan.cities["kind"].tolist() == ["", "hire"]
    assert plan.cities["is_decided"].tolist() == [False, False], "one is still short"
    enough = make_plan(week, decided("hire", 2), NO_BANDS).cities
    assert enough["is_decided"].tolist() == [False, True]
    some = make_plan(week, decided("accept", 1), NO_BANDS).cities
    assert some["short"].tolist() == [0, 1], "one is hired"
    assert some["is_decided"].tolist() == [False, True], "and the other one accepted"
    accepted = make_plan(week, decided("accept", 0, 9), NO_BANDS).cities
    assert accepted["vans"].tolist() == [5, 0], "no more than there are"
    assert accepted["is_decided"].tolist() == [False, True]


def test_what_extra_vans_buy_is_what_the_plan_has_once_they_are_hired(week):
    before = make_plan(week, london(5, 0.9), NO_BANDS).cities.iloc[1]
    for extra, level, told in (
        (before["lacking"], 0.9, before["full_chance"]),
        (before["for_likely"], LIKELY, before["likely_chance"]),
    ):
        for fewer in (0, 1):
            day = DAYS[1].date()
            hired = VanDecision("London", day, "hire", int(extra) - fewer)
            settings = replace(london(5, 0.9)["London"], decisions={day: hired})
            after = make_plan(week, {"London": settings}, NO_BANDS).cities
            chance = after["delivery_probability"].iloc[1]
            assert (chance >= level) == (not fewer), (extra, fewer)
            assert fewer or chance == told
    assert before["chance_without"] == before["delivery_probability"]
    assert before["undelivered_without"] == pytest.approx(before["undelivered"])
    assert after.iloc[1]["undelivered_without"] == before["undelivered_without"]


def test_late_orders_fall_to_none_as_the_chance_rises_to_one(week):
    """Both are of the same paths: orders are late exactly where not all are carried."""
    days = [plan_of(week, vans).cities.iloc[1] for vans in range(13)]
    late = [day["undelivered"] for day in days]
    assert late == sorted(late, reverse=True)
    assert late[0] > 300
    for day in days:
        assert (day["undelivered"] == 0) == (day["delivery_probability"] == 1)
    assert (days[-1]["undelivered"], days[-1]["delivery_probability"]) == (0, 1)


@pytest.mark.parametrize("vans", [0, 3, 6, 12])
def test_late_orders_of_depots_add_up_to_their_citys(week, vans):
    plan = plan_of(week, vans)
    by_day = plan.depots.groupby("target_on")["undelivered"].sum()
    np.testing.assert_allclose(by_day, plan.cities["undelivered"])


def test_without_known_vans_nothing_is_short_and_no_chance_is_known(week):
    plan = plan_of(week, None)
    assert plan.depots["allocated"].tolist() == plan.depots["needed"].tolist()
    assert plan.cities["short"].tolist() == [0, 0]
    unknown = ["vans", "delivery_probability", "undelivered"]
    assert plan.cities[unknown].isna().all(axis=None)
    assert plan.depots["undelivered"].isna().all()


def test_drivers_are_whole_and_follow_the_allocated_vans(week):
    depots = plan_of(week, 5, drivers=1.5).depots
    assert depots["drivers"].tolist() == [3, 5, 0, 3]
    needed = np.ceil(depots["needed"] * 1.5)
    assert depots["drivers_needed"].tolist() == needed.tolist()


def test_each_city_is_planned_with_its_own_settings(week):
    rotterdam = fleet(("R", "Waalhaven", DAYS[0], 100.0, "model"), city="Rotterdam")
    settings = london(10) | {"Rotterdam": CitySettings("Rotterdam", 10, 10, 0.5)}
    plan = make_plan(pd.concat([week, rotterdam]), settings, NO_BANDS)
    assert plan.of_city("Rotterdam").depots["needed"].tolist() == [10]
    assert plan.of_city("Rotterdam").cities["needed"].tolist() == [10]
    assert plan.of_city("London").depots["needed"].tolist() == [2, 4, 0, 3]


@pytest.mark.parametrize(
    ("own", "assigned", "expected"),
    [
        pytest.param({"A": 3, "B": 3}, {"A": 2, "B": 3}, [], id="enough at home"),
        pytest.param(
            {"A": 3, "B": 3}, {"A": 2, "B": 4}, [Transfer(1, "A", "B")], id="one van"
        ),
        pytest.param(
            {"A": 5, "B": 9, "C": 1}, {"A": 4, "B": 6, "C": 5},
            [Transfer(3, "B", "C"), Transfer(1, "A", "C")],
            id="the one with most to spare gives first",
        ),
        pytest.param(
            {"A": 2, "B": 2}, {"A": 2, "B": 4}, [Transfer(2, POOL, "B")], id="hired vans"
        ),
        pytest.param(
            {"A": 2, "X": None}, {"A": 2, "X": 4}, [], id="a depot without a number"
        ),
        pytest.param(
            {"A": 5, "B": 4, "C": 0, "D": 0}, {"A": 3, "B": 2, "C": 2, "D": 2},
            [Transfer(2, "A", "C"), Transfer(2, "B", "D")],
            id="whole lots",
        ),
    ],
)  # fmt: skip
def test_vans_move_from_who_has_more_than_their_part(own, assigned, expected):
    rows = {
        "name": list(own), "vans": list(own.values()), "allocated": assigned.values(),
    }  # fmt: skip
    depots = pd.DataFrame(rows).assign(target_on=DAYS[0]).astype({"vans": float})
    assert van_plan.transfers_by_day(depots) == {DAYS[0]: expected}


def test_after_the_moves_every_depot_has_its_part(rng):
    for _ in range(50):
        own, assigned = rng.integers(0, 9, 8), rng.integers(0, 6, 8)
        names = [f"D{n}" for n in range(8)]
        rows = {"name": names, "vans": own.astype(float), "allocated": assigned}
        depots = pd.DataFrame(rows).assign(target_on=DAYS[0])
        after = dict(zip(names, own, strict=True))
        for move in van_plan.transfers_by_day(depots)[DAYS[0]]:
            after[move.to_depot] += move.vans
            if move.from_depot != POOL:
                after[move.from_depot] -= move.vans
        assert all(after[name] >= assigned[n] for n, name in enumerate(names))


def test_vans_move_between_two_depots_of_one_name(week):
    """Names need not be unique in a city."""
    plan = plan_of(week.assign(name="Central", vans=[3.0, 3.0, 4.0, 4.0]), 10)
    moves = van_plan.transfers_by_day(plan.depots)
    assert moves == {DAYS[0]: [], DAYS[1]: [Transfer(1, "Central", "Central")]}


def test_a_closed_day_that_is_set_gets_vans(week):
    moved = van_plan.with_changes(week, {("B", DAYS[0]): 60.0})
    row = plan_of(moved, 10).depots.iloc[2]
    assert (row["p10"], row["p50"], row["p90"], row["needed"]) == (60, 60, 60, 2)
    assert row["point"] == 60


@pytest.mark.parametrize("text", ["00-12, 12-24", ""], ids=["shifts set", "not set"])
def test_a_planners_number_on_a_closed_day_plans_by_day(text):
    """The model takes it to be closed: its band is empty, and its hours have no shares."""
    closed = fleet(
        ("A", "Poplar", DAYS[0], 100.0, "model"),
        ("A", "Poplar", DAYS[1], 0.0, "closed"),
    )
    week = van_plan.with_changes(closed, {("A", DAYS[1]): 120.0})
    bands = BANDS.assign(p10=[80.0, 0.0], p90=[120.0, 0.0])
    plan = with_shifts(week, 2, text, range(12), bands, closed=DAYS[1:])
    assert set(plan.shifts["target_on"]) == {DAYS[0]}
    day = plan.cities.set_index("target_on").loc[DAYS[1]]
    shown = day[["needed", "short", "drivers", "undelivered"]].tolist()
    assert shown == pytest.approx([3, 1, 2, 20], abs=1e-4)


@pytest.mark.parametrize("text", ["00-12, 12-24", ""], ids=["shifts set", "not set"])
@pytest.mark.parametrize("orders", [0.05, 0.4, 2.0])
def test_a_day_of_hardly_any_orders_needs_one_van_at_most(orders, text):
    week = fleet(*(("A", "Poplar", day, orders, "model") for day in DAYS))
    bands = BANDS.assign(p10=0.0, p90=2 * orders)
    plan = with_shifts(week, 3, text, range(12), bands)
    assert plan.cities["needed"].isin([0, 1]).all()
    assert plan.shifts[["vans", "drivers"]].isin([0, 1]).all(axis=None)
    assert plan.cities["undelivered"].tolist() == [0, 0]


@pytest.mark.parametrize("closed", [DAYS, []], ids=["all days closed", "no times"])
def test_a_city_without_shares_leaves_the_shifts_of_another(week, closed):
    rotterdam = fleet(("R", "Waalhaven", DAYS[0], 100.0, "model"), city="Rotterdam")
    settings = london(10) | {"Rotterdam": CitySettings("Rotterdam", 10, 10, 0.5)}
    own = shares_of(closed=closed, city="Rotterdam") if len(closed) else None
    plan = make_plan(
        pd.concat([week, rotterdam]), settings, BANDS,
        shares=pd.concat([shares_of(), own]),
    )  # fmt: skip
    alone = make_plan(week, london(10), BANDS, shares=shares_of())
    pd.testing.assert_frame_equal(plan.shifts, alone.shifts)
    assert plan.of_city("Rotterdam").cities["needed"].tolist() == [10]


@pytest.mark.parametrize("vans", [None, 5])
def test_vans_are_planned_from_the_quantiles_whatever_the_point(week, vans):
    lower = {name: 0.9 * week[name] for name in ("point", "model_point")}
    plan, same = (
        plan_of(each, vans, BANDS) for each in (week, week.assign(**lower))
    )  # fmt: skip
    points = ["point", "model_point"]
    for one, other in ((plan.depots, same.depots), (plan.cities, same.cities)):
        pd.testing.assert_frame_equal(
            one.drop(columns=points), other.drop(columns=points)
        )


@pytest.mark.parametrize(
    ("number", "total"),
    [
        pytest.param(180.0, 180.0 + 149 * 1.05, id="a planner's number as it is"),
        pytest.param(200.0, 349 * 1.05, id="the model's own"),
    ],
)
def test_a_preview_has_the_total_that_the_saved_change_will_have(week, number, total):
    parts = dict.fromkeys(("part", "model_part"), 1.05 * week["point"])
    moved = van_plan.with_changes(week.assign(**parts), {("A", DAYS[1]): number})
    days = plan_of(moved, 5).cities
    assert days["point"].iloc[1] == pytest.approx(total)
    assert days["model_point"].iloc[1] == pytest.approx(349 * 1.05)


@pytest.mark.parametrize(
    ("number", "quantiles"), [(180.0, [144, 180, 216]), (90.0, [80, 100, 120])]
)
def test_a_planners_number_is_the_median_unless_it_is_the_models_own(
    week, number, quantiles
):
    lower = week.assign(model_point=0.9 * week["model_point"])
    row = van_plan.with_changes(lower, {("A", DAYS[0]): number}).iloc[0]
    assert row["point"] == number
    assert [row["p10"], row["p50"], row["p90"]] == pytest.approx(quantiles)


@pytest.mark.db
def test_the_seeded_fleet_is_planned_by_city(freshness):
    """No shortage is known of London: of one of its depots no vans are."""
    days = van_plan.fleet_plan(freshness).cities
    assert list(days["city"]) == ["London"] * 7 + ["Rotterdam"] * 7
    assert list(days["target_on"][:7]) == sorted(set(days["target_on"]))
    assert set(days["vans"][7:]) == {6 + 4 + 3}
    assert days[["vans", "delivery_probability"]][:7].isna().all(axis=None)
    assert not days["short"][:7].any()


@pytest.mark.db
def test_a_planners_number_is_in_the_shortage(freshness, tomorrow):
    before = van_plan.fleet_plan(freshness).cities.iloc[7]
    change(orders=9000, depot="RTM-01", day=tomorrow)
    after = van_plan.fleet_plan(queries.freshness()).cities.iloc[7]
    assert after["point"] > before["point"] + 7000
    assert after["needed"] > before["needed"]
    assert after["short"] > 0
    assert after["delivery_probability"] < 0.01


def test_estimated_orders_per_van_do_not_depend_on_planners_numbers():
    """Or a planner who sets one depot would change the need of every day, unlike the preview."""
    rows = [
        (depot, name, day, 200.0, "model")
        for depot, name in (("A", "Poplar"), ("B", "Wapping"))
        for day in DAYS[:2]
    ]
    week = fleet(*rows, vans=5.0)
    is_wide = week["depot_id"] == "B"
    for name in ("p90", "model_p90"):
        week[name] = week[name].mask(is_wide, 320.0)
    busy = pd.DataFrame({"city": ["London"], "orders": [400.0]})
    before = estimate(week, busy)["London"].orders_per_van
    shut = with_changes(week, {("A", day): 0.0 for day in DAYS})
    assert estimate(shut, busy)["London"].orders_per_van == before


@pytest.mark.parametrize("orders", [100.0, 150.0, 500.0])
def test_a_number_on_a_closed_day_needs_the_vans_that_it_fills(orders):
    """A planner's number on a day that the model takes to be closed has no band."""
    set_day = {"p10": orders, "p50": orders, "p90": orders, "is_set": True}
    of_model = {"model_point": 0.0, "model_part": 0.0}
    week = fleet(("A", "Poplar", DAYS[0], orders, "closed")).assign(
        **set_day, **of_model
    )
    plan = plan_of(week, 100, level=0.9)
    assert plan.depots["needed"].tolist() == [orders / 50]
    assert plan.cities["needed"].tolist() == [orders / 50]
    exact = plan_of(week, int(orders // 50), level=0.9).cities
    assert exact["short"].tolist() == [0]
    assert exact["delivery_probability"].tolist() == [1.0]
    assert exact["undelivered"].tolist() == [0]


@pytest.mark.db
def test_a_preview_holds_where_vans_are_estimated(seeded, write):
    forecasts = schema.forecasts.c
    is_wide = forecasts.depot_id.in_(["RTM-03", "RTM-02"]) & (forecasts.p50 > 0)
    is_shown = forecasts.origin_on == seeded.through
    wide = sa.update(schema.forecasts).where(is_wide & is_shown)
    write(wide.values(p90=forecasts.p50 * 1.6))
    freshness = queries.freshness()
    week = van_plan.city_plan("Rotterdam", freshness).depots
    cells = entered_changes.cells(week[week["depot_id"] == "RTM-03"])
    changes = entered_changes.changes(cells, entered_changes.parse("0"))
    plan = partial(van_plan.plan_of, freshness=freshness)
    orders = entered_changes.new_orders(changes)
    preview = entered_changes.preview(week, orders, plan).set_index("target_on")
    overrides.add(changes, "why", "Ann")
    after = van_plan.city_plan("Rotterdam", queries.freshness()).cities.set_index(
        "target_on"
    )
    assert preview["need_after"].tolist() == after["needed"].loc[preview.index].tolist()
