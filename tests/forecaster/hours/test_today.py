"""Estimates of the running day."""

import numpy as np
import pandas as pd
import pytest

from forecaster.hours.today import (
    depots_off,
    depots_so_far,
    estimate,
    running_cities,
    running_depots,
    share_until,
)

FLAT = np.full(24, 1 / 24, np.float32)


def one(value):
    return np.array([float(value)])


def test_share_until_counts_a_part_of_an_hour():
    assert share_until(FLAT[None], one(11.5))[0] == pytest.approx(11.5 / 24)
    assert share_until(FLAT[None], one(0))[0] == 0
    assert share_until(FLAT[None], one(24))[0] == pytest.approx(1)


def test_the_estimate_lies_between_forecast_and_count_and_narrows():
    before = None
    for hour in (2, 8, 12, 18, 23.9):
        share = hour / 24
        made = estimate(
            one(1.3 * 1000 * share), one(1000), one(800), one(1200), one(share), 500.0
        )
        assert 1000 < made.orders[0] < 1301
        width = made.p90[0] - made.p10[0]
        assert before is None or width < before
        before = width
    assert made.orders[0] == pytest.approx(1300, abs=8)


def test_at_the_start_the_forecast_stands_and_at_the_end_the_count():
    start = estimate(one(0), one(1000), one(800), one(1200), one(0.001), 500.0)
    assert start.orders[0] == pytest.approx(1000, rel=0.002)
    assert (start.p10[0], start.p90[0]) == pytest.approx((800, 1200), rel=0.05)
    end = estimate(one(700), one(1000), one(800), one(1200), one(1), 500.0)
    assert (end.orders[0], end.p10[0], end.p90[0]) == pytest.approx((700, 700, 700))


def test_bands_hold_for_days_that_are_drawn():
    """If days, shapes and counts are drawn as the estimate assumes, 80 % end in the band."""
    rng = np.random.default_rng(1)
    n, orders, sigma = 20_000, 600.0, 90.0
    day = orders * np.maximum(rng.normal(1, sigma / orders, n), 0.05)
    share = rng.beta(0.4 * 300, 0.6 * 300, n)
    so_far, rest = rng.poisson(day * share), rng.poisson(day * (1 - share))
    full = np.full(n, orders)
    half = 1.2815516 * sigma
    made = estimate(
        so_far.astype(float), full, full - half, full + half, np.full(n, 0.4), 300.0
    )
    total = so_far + rest
    inside = ((made.p10 <= total) & (total <= made.p90)).mean()
    assert 0.77 < inside < 0.83
    assert np.abs(made.orders - total).mean() < 0.6 * np.abs(full - total).mean()


def depots(**columns):
    frame = pd.DataFrame(
        {
            "depot_id": ["a", "b", "c"],
            "name": ["a", "b", "c"],
            "city": ["X", "X", "Y"],
            "target_on": pd.Timestamp("2026-11-25"),
            "until_hour": [12.0, 12.0, 6.0],
            "by_hour": [[10] * 24] * 3,
            "share": [FLAT.tolist()] * 3,
            "concentration": 200.0,
            "city_concentration": 500.0,
            "part": [240.0, 240.0, 120.0],
            "model_part": [240.0, 240.0, 120.0],
            "p10": [200.0, 200.0, 100.0],
            "p50": [240.0, 240.0, 120.0],
            "p90": [280.0, 280.0, 140.0],
            "city_p10": [400.0, 400.0, 100.0],
            "city_p50": [480.0, 480.0, 120.0],
            "city_p90": [560.0, 560.0, 140.0],
            "fleet_p10": 500.0,
            "fleet_p50": 600.0,
            "fleet_p90": 700.0,
        }
    )
    return frame.assign(**columns)


def test_cities_and_fleet_add_up_what_has_come():
    cities = running_cities(depots())
    assert list(cities["city"]) == ["", "X", "Y"]
    assert list(cities["orders_so_far"]) == [300, 240, 60]
    assert list(cities["until_hour"]) == [6, 12, 6]
    assert cities["usual_share"].to_list() == pytest.approx([0.45, 0.5, 0.25])
    assert cities["estimate"].iloc[1] == pytest.approx(480)
    assert cities["estimate"].iloc[2] > 120


def test_orders_of_later_hours_do_not_count():
    assert list(depots_so_far(depots())["orders_so_far"]) == [120, 120, 60]


def test_a_closed_city_and_one_without_a_usual_share_are_left_out():
    assert list(running_cities(depots(part=[0.0, 0.0, 120.0]))["city"]) == ["Y"]
    assert running_cities(depots(until_hour=0.05)).empty
    assert running_cities(pd.DataFrame()).empty


def test_days_that_differ_have_no_fleet():
    later = depots(target_on=pd.to_datetime(["2026-11-25"] * 2 + ["2026-11-26"]))
    assert list(running_cities(later)["city"]) == ["X", "Y"]


def test_a_city_of_which_nothing_has_come_keeps_the_fleet_from_being_told():
    assert list(running_cities(depots(fleet_p50=800.0))["city"]) == ["X", "Y"]


def test_a_city_of_which_a_depot_is_missing_says_so():
    missing = running_cities(depots(city_p50=[700.0, 700.0, 120.0]))
    assert missing.set_index("city")["is_whole"].to_dict() == {
        "": True,
        "X": False,
        "Y": True,
    }


def test_a_depots_day_is_estimated_as_a_city_of_its_own_would_be():
    by_hour = [[10] * 24, [15] * 24, [0] * 24]
    made = running_depots(depots(by_hour=by_hour, until_hour=[12.0, 12.0, 0.5]))
    usual, busy, early = made.to_dict("records")
    assert usual["estimate"] == pytest.approx(240)
    assert 200 < usual["low"] < 240 < usual["high"] < 280, "half of the day is known"
    of_busy = estimate(one(180), one(240), one(200), one(280), one(0.5), 200.0)
    assert (busy["estimate"], busy["low"], busy["high"]) == pytest.approx(
        (of_busy.orders[0], of_busy.p10[0], of_busy.p90[0])
    )
    assert 240 < busy["estimate"] < 360
    assert np.isnan([early["estimate"], early["low"], early["high"]]).all()
    closed = running_depots(depots(part=0.0, p10=0.0, p50=0.0, p90=0.0))
    assert closed["estimate"].isna().all()


def test_depots_far_from_what_was_to_come_are_told_worst_first():
    far_off = depots(by_hour=[[10] * 24, [1] * 24, [40] * 24], until_hour=12.0)
    assert list(depots_off(running_depots(far_off))["depot_id"]) == ["c", "b"]


def test_a_depot_is_estimated_when_its_city_is():
    at_night = depots(until_hour=[12.0, 0.2, 12.0], part=[10.0, 700.0, 120.0])
    made = running_depots(at_night).set_index("depot_id")["estimate"]
    assert "X" not in set(running_cities(at_night)["city"])
    assert list(made.dropna().index) == ["c"], "city X has not told yet"
    assert depots_off(running_depots(at_night))["city"].isin(["Y"]).all()


def test_a_city_that_lacks_one_depot_of_many_is_not_whole():
    n_depots = 1500
    many = pd.concat(
        [depots(city="X", until_hour=12.0)[:1]] * n_depots, ignore_index=True
    )
    total = {"p10": 0.9, "p50": 1.0, "p90": 1.1}
    many = many.assign(
        **{
            f"{of}_{name}": 240.0 * n_depots * part
            for of in ("city", "fleet")
            for name, part in total.items()
        }
    )
    assert running_cities(many)["is_whole"].tolist() == [True]
    assert running_cities(many[1:])["is_whole"].tolist() == [False]
