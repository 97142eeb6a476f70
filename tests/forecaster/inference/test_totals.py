"""Totals hold their share of what happened, whether depots miss together or apart."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from forecaster.inference import totals
from forecaster.inference.totals import QuantileForecasts

ORIGINS, DEPOTS, HORIZON = 400, 12, 7
CITIES = ("Aden", "Bonn") * (DEPOTS // 2)


def forecasts_around(point_odh, half):
    return QuantileForecasts(point_odh - half, point_odh, point_odh + half)


def days(rng, together):
    """Orders around a point of 100, and the 80 % intervals of each depot."""
    shape = (ORIGINS, DEPOTS, HORIZON)
    shared = rng.normal(0, 10, (ORIGINS, 1, HORIZON)) * np.ones(shape)
    miss = shared if together else rng.normal(0, 10, shape)
    point = np.full(shape, 100.0)
    return forecasts_around(point, 12.8), point + miss


def share_inside(forecasts, actual, table):
    low, _, high = (
        np.stack(part)
        for part in zip(
            *(
                totals.total(QuantileForecasts(*one), table.level, table.fleet_q)
                for one in zip(*forecasts, strict=True)
            ),
            strict=True,
        )
    )
    total = actual.sum(axis=1)
    return ((low <= total) & (total <= high)).mean()


@pytest.mark.parametrize("together", [True, False])
def test_a_total_holds_eighty_percent_of_fresh_days(rng, together):
    forecasts, actual = days(rng, together)
    valid = np.ones(actual.shape, bool)
    table = totals.calibrate(forecasts, actual, valid, CITIES)
    _, fresh = days(rng, together)
    assert share_inside(forecasts, fresh, table) == pytest.approx(0.8, abs=0.03)


def test_depots_that_miss_apart_make_a_total_surer_than_the_sum_of_their_intervals(rng):
    forecasts, actual = days(rng, together=False)
    valid = np.ones(actual.shape, bool)
    table = totals.calibrate(forecasts, actual, valid, CITIES)
    one = QuantileForecasts(*(part[0] for part in forecasts))
    low, point, high = totals.total(one, table.level, table.fleet_q)
    sums = (one.p90 - one.p10).sum(axis=0)
    # The root of the number of depots is what chance would give.
    np.testing.assert_allclose((high - low) / sums, DEPOTS**-0.5, rtol=0.15)
    assert (low <= point).all()
    assert (point <= high).all()


def test_depots_whose_day_is_not_known_do_not_count(rng):
    forecasts, actual = days(rng, together=False)
    valid = np.ones(actual.shape, bool)
    valid[:, 0] = False
    broken = actual.copy()
    broken[:, 0] = np.nan
    there = QuantileForecasts(*(part[:, 1:] for part in forecasts))
    without = totals.calibrate(there, actual[:, 1:], valid[:, 1:], CITIES[1:])
    table = totals.calibrate(forecasts, broken, valid, CITIES)
    np.testing.assert_allclose(table.fleet_q, without.fleet_q)
    np.testing.assert_allclose(table.city_cq, without.city_cq)


def test_each_city_has_its_own_reach_and_a_new_one_that_of_all(rng):
    forecasts, actual = days(rng, together=False)
    wild = np.array(CITIES) == "Bonn"
    actual[:, wild] = 100 + 3 * (actual[:, wild] - 100)
    table = totals.calibrate(forecasts, actual, np.ones(actual.shape, bool), CITIES)
    calm, wide = (np.ptp(table.quantiles_of(name)) for name in ("Aden", "Bonn"))
    assert wide > 2 * calm
    np.testing.assert_array_equal(table.quantiles_of("Cork"), table.any_city_q)


def test_a_fleet_that_was_always_closed_has_the_sums_of_its_intervals():
    nothing = np.zeros((3, 2, 1))
    table = totals.calibrate(
        QuantileForecasts(nothing, nothing, nothing), nothing, nothing == 0, ("A", "A")
    )
    np.testing.assert_array_equal(table.fleet_q, [-1, 1])
    assert table.level == 1


def test_a_total_has_a_median_of_its_own_and_those_of_cities_add_up_to_the_fleets(rng):
    """A depot's days are skewed; the median of their sum is 7 % above the sum of medians."""
    median = np.full((ORIGINS, DEPOTS, HORIZON), 100.0)
    forecasts = forecasts_around(median, 40.0)
    actual = median * np.exp(rng.normal(0, 0.37, median.shape))
    table = totals.calibrate(forecasts, actual, np.ones(actual.shape, bool), CITIES)
    one = QuantileForecasts(*(part[0] for part in forecasts))
    fleet, *by_city = totals.total_forecasts(table, one, CITIES)
    off = [
        np.median(actual.sum(axis=1)) / sums[0] - 1
        for sums in (fleet.p50_h, one.p50.sum(0))
    ]
    assert off == pytest.approx([0.034, 0.07], abs=0.005)
    np.testing.assert_allclose(sum(city.p50_h for city in by_city), fleet.p50_h)
    for each in (fleet, *by_city):
        assert ((each.p10_h <= each.p50_h) & (each.p50_h <= each.p90_h)).all()


def test_an_odd_month_moves_the_median_of_a_total_by_five_percent_at_most():
    forecasts = forecasts_around(np.full((28, 2, 1), 100.0), 10.0)
    valid = np.ones((28, 2, 1), bool)
    for orders, level in ((10.0, 0.95), (300.0, 1.05)):
        actual = np.full((28, 2, 1), orders)
        table = totals.calibrate(forecasts, actual, valid, ("A", "B"))
        assert table.level == pytest.approx(level)


def test_the_band_of_a_depot_without_bounds_leaves_the_median_of_its_total_alone():
    """A depot that opens again after days of 0 may have a P90 of any height."""
    part = np.array([[50.0], [100.0], [1e13]])
    table = replace(totals.additive_table(), level=1.02)
    wide = QuantileForecasts(part / 2, np.full((3, 1), 100.0), part * 2)
    _, median, _ = totals.total(wide, table.level, table.fleet_q)
    assert median == pytest.approx(306)


def test_a_total_is_never_negative():
    one = QuantileForecasts(np.array([[1.0]]), np.array([[10.0]]), np.array([[12.0]]))
    low, _, _ = totals.total(one, 1.0, np.array([-3, 3], np.float32))
    assert low[0] == 0.0


def test_the_fleet_comes_first_and_then_each_city():
    point = np.array([[1.0], [2.0], [4.0]])
    result = totals.total_forecasts(
        totals.additive_table(),
        QuantileForecasts(point / 2, point, point * 2),
        ("Bonn", "Aden", "Bonn"),
    )
    output = {total.city: [float(part[0]) for part in total[1:]] for total in result}
    assert output == {
        totals.FLEET: [3.5, 7.0, 14.0],
        "Aden": [1.0, 2.0, 4.0],
        "Bonn": [2.5, 5.0, 10.0],
    }


def test_a_month_of_misses_that_last_for_days_still_promises_eighty_percent(rng):
    """Each draw lasts half a week; the next month's are others."""
    held = []
    for _ in range(300):
        miss = np.repeat(rng.normal(0, 10, 16), (3, 4) * 8)[:, None, None]
        forecasts = forecasts_around(np.full((56, 1, 1), 100.0), 12.8)
        seen = QuantileForecasts(*(part[:28] for part in forecasts))
        valid = np.ones((28, 1, 1), bool)
        table = totals.calibrate(seen, 100 + miss[:28], valid, ("Aden",))
        ahead = QuantileForecasts(*(part[28:] for part in forecasts))
        held.append(share_inside(ahead, 100 + miss[28:], table))
    assert np.mean(held) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("draws", [2, 4, 20, 1000])
def test_few_draws_widen_as_students_t_does(draws):
    exact = special.stdtrit(draws, 0.9) / special.ndtri(0.9)
    assert totals.widening(draws) == pytest.approx(exact, rel=0.022)


def test_few_days_alone_make_no_interval_wider_than_the_sums(rng):
    forecasts, actual = days(rng, together=True)
    few = QuantileForecasts(*(part[:7] for part in forecasts))
    valid = np.ones((7, DEPOTS, HORIZON), bool)
    miss = 0.8 * (actual[:7] - few.p50)
    table = totals.calibrate(few, few.p50 + miss, valid, CITIES)
    raw = np.quantile((miss / 12.8)[:, 0], [0.1, 0.9])
    assert (np.abs(raw) < 1).all()
    np.testing.assert_allclose(table.fleet_q, [-1, 1])
