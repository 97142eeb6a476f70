"""Totals cover their share of actuals, whether or not depots' errors are correlated."""

from dataclasses import replace

import numpy as np
import pytest

from forecaster.inference import totals
from forecaster.inference.baseline_errors import BaselineErrors
from forecaster.inference.totals import DepotsAhead, TotalErrors

ORIGINS, DEPOTS, HORIZON = 358, 12, 7
CITIES = ("Aden", "Bonn") * (DEPOTS // 2)
MEDIAN, SPREAD = 100.0, 0.1


def year(rng, together=0.0, sd=SPREAD, effect_sd=0.0, effect_miss=0.0):
    """A year of forecasts of 100; `together` is the share of the variance common to depots.

    One day in twelve is a holiday, misjudged by `effect_miss` at every depot at once.
    """
    shape = (DEPOTS, ORIGINS, HORIZON)
    own = rng.normal(0, sd, shape)
    shared = rng.normal(0, sd, (1, ORIGINS, HORIZON))
    error = np.sqrt(together) * shared + np.sqrt(1 - together) * own
    is_holiday_o = np.arange(ORIGINS) % 12 == 0
    miss_o = np.where(is_holiday_o, rng.choice([-1, 1], ORIGINS) * effect_miss, 0.0)
    sd_o = np.where(is_holiday_o, effect_sd, 0.0)
    return BaselineErrors(
        np.full(shape, np.log1p(MEDIAN), np.float32),
        (error + miss_o[:, None]).astype(np.float32),
        np.full(shape[:2], SPREAD, np.float32),
        np.broadcast_to(sd_o[:, None], shape).astype(np.float32),
    )


def table_of(errors, cities=CITIES):
    return totals.calibrate(TotalErrors.of([errors], cities))


def bands(table, errors, city=totals.FLEET, cities=CITIES):
    """Whether the total of a city or the fleet lay in its band, by origin and day ahead."""
    here_d = np.array([city in (totals.FLEET, each) for each in cities])
    actual_oh = np.expm1(errors.baseline_doh + errors.error_doh)[here_d].sum(axis=0)
    median_doh = np.expm1(errors.baseline_doh)
    ahead = DepotsAhead(
        median_doh,
        median_doh * errors.spread_do[..., None],
        median_doh * errors.effect_sd_doh,
    )
    low, _, high = totals.total(table, city, ahead.sum(here_d))
    return (low <= actual_oh) & (actual_oh <= high)


@pytest.mark.parametrize("together", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("city", [totals.FLEET, "Aden"])
def test_a_total_holds_eighty_percent_of_a_fresh_year(rng, together, city):
    table = table_of(year(rng, together))
    held = [bands(table, year(rng, together), city).mean() for _ in range(5)]
    assert np.mean(held) == pytest.approx(0.8, abs=0.05)


def test_a_holiday_misjudged_everywhere_is_not_averaged_out(rng):
    """All depots are off by 2.5 spreads in the same direction, and so is their total."""
    errors = year(rng, effect_sd=0.2, effect_miss=0.25)
    table = table_of(errors)
    fresh = year(rng, effect_sd=0.2, effect_miss=0.25)
    is_holiday_o = np.arange(ORIGINS) % 12 == 0
    held_oh = bands(table, fresh)
    assert held_oh[is_holiday_o].mean() > 0.74
    assert held_oh[~is_holiday_o].mean() == pytest.approx(0.8, abs=0.06)


def test_depots_whose_day_is_not_known_do_not_count(rng):
    errors = year(rng)
    unknown = errors.error_doh.copy()
    unknown[0] = np.nan
    broken = table_of(errors._replace(error_doh=unknown))
    without = table_of(errors.of_depots(np.arange(1, DEPOTS)), CITIES[1:])
    np.testing.assert_allclose(broken.fleet_q, without.fleet_q)
    np.testing.assert_allclose(broken.city_cq, without.city_cq)


def test_depots_in_chunks_give_the_same_totals(rng):
    errors = year(rng, together=0.3)
    parts = [
        errors.of_depots(np.arange(DEPOTS)[rows]) for rows in (slice(5), slice(5, None))
    ]
    whole, chunked = (
        totals.calibrate(TotalErrors.of(chunks, CITIES)) for chunks in ([errors], parts)
    )
    np.testing.assert_allclose(chunked.city_cq, whole.city_cq, rtol=1e-6)


def test_each_city_has_its_own_reach_and_a_new_one_that_of_all(rng):
    errors = year(rng)
    wild_d = (np.array(CITIES) == "Bonn")[:, None, None]
    error_doh = np.where(wild_d, 3 * errors.error_doh, errors.error_doh)
    table = table_of(errors._replace(error_doh=error_doh))
    calm, wide = (np.ptp(table.quantiles_of(name)) for name in ("Aden", "Bonn"))
    assert wide > 2 * calm
    np.testing.assert_array_equal(table.quantiles_of("Cork"), table.any_city_q)


def test_a_fleet_that_was_always_closed_has_the_usual_band(rng):
    errors = year(rng)
    table = table_of(errors._replace(error_doh=np.full_like(errors.error_doh, np.nan)))
    np.testing.assert_allclose(table.fleet_q, [totals.PRIOR_LOW, totals.PRIOR_HIGH])
    np.testing.assert_allclose(table.city_cq, np.tile(table.fleet_q, (2, 1)))
    assert table.level == 1


def test_a_total_has_a_median_of_its_own_and_those_of_cities_add_up_to_the_fleets(rng):
    """A depot's days are skewed; the median of their sum is 7 % above the sum of medians."""
    table = table_of(year(rng, sd=0.37))
    assert table.level == pytest.approx(1.034, abs=0.005)
    median_dh = np.full((DEPOTS, HORIZON), MEDIAN)
    ahead = DepotsAhead(median_dh, SPREAD * median_dh, 0 * median_dh)
    fleet, *by_city = totals.total_forecasts(table, ahead, CITIES)
    np.testing.assert_allclose(sum(city.p50_h for city in by_city), fleet.p50_h)
    for each in (fleet, *by_city):
        assert ((each.p10_h <= each.p50_h) & (each.p50_h <= each.p90_h)).all()


@pytest.mark.parametrize(("shift", "level"), [(-2.0, 0.95), (1.1, 1.05)])
def test_an_odd_year_moves_the_median_of_a_total_by_five_percent_at_most(
    rng, shift, level
):
    errors = year(rng)
    table = table_of(errors._replace(error_doh=errors.error_doh + np.float32(shift)))
    assert table.level == pytest.approx(level)


def test_a_total_is_never_negative():
    table = replace(totals.prior_table(), fleet_q=np.array([-3, 3], np.float32))
    ahead = DepotsAhead(*(np.array([each]) for each in (10.0, 50.0, 0.0)))
    low, median, high = totals.total(table, totals.FLEET, ahead)
    assert (low[0], median[0], high[0]) == (0.0, 10.0, 160.0)


def test_the_fleet_comes_first_and_then_each_city():
    median = np.array([[1.0], [2.0], [4.0]])
    table = totals.prior_table()
    ahead = DepotsAhead(median, median, 0 * median)
    result = totals.total_forecasts(table, ahead, ("Bonn", "Aden", "Bonn"))
    output = {total.city: [float(part[0]) for part in total[1:]] for total in result}
    assert output == {
        totals.FLEET: [1.75, 7.0, 12.25],
        "Aden": [0.5, 2.0, 3.5],
        "Bonn": [1.25, 5.0, 8.75],
    }


@pytest.mark.parametrize(("median", "sd"), [(0.5, 0.45), (20.0, 0.3)])
def test_a_depot_adds_to_a_total_between_its_median_and_its_mean(rng, median, sd):
    """Halfway, as factors of 1 + orders: the mean is that of drawn days."""
    mean = (np.exp(rng.normal(np.log1p(median), sd, 200_000)) - 1).mean()
    one_day = (np.array([each]) for each in (median, sd, 0.0))
    [center] = DepotsAhead.of(*one_day).center
    assert center + 1 == pytest.approx(np.sqrt((1 + median) * (1 + mean)), rel=0.002)
    assert median < center < mean
