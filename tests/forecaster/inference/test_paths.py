"""Paths agree with the bands of depots, cities and fleet, and keep days correlated."""

import math

import numpy as np
import pytest

from forecaster.inference import paths, totals
from forecaster.inference.paths import PathTable
from forecaster.inference.totals import FLEET, QuantileForecasts, Total, TotalErrors
from tests.forecaster.inference.test_totals import CITIES, DEPOTS, HORIZON, year

HALF = 12.8
SIGMA = HALF / 1.2816


def forecasts(n_depots=DEPOTS, half=HALF):
    median_dh = np.full((n_depots, HORIZON), 1000.0)
    return QuantileForecasts(median_dh - half, median_dh, median_dh + half)


def band(city, n_depots, sigma):
    total = 1000.0 * n_depots
    half = np.full(HORIZON, 1.2816 * sigma)
    return Total(city, total - half, np.full(HORIZON, total), total + half)


def table(rng, n_origins=358, together=0.0):
    """Errors of Aden and Bonn; `together` is their correlation."""
    shared = rng.standard_normal((n_origins, 1, HORIZON))
    own = rng.standard_normal((n_origins, 2, HORIZON))
    mixed = math.sqrt(together) * shared + math.sqrt(1 - together) * own
    return PathTable(("Aden", "Bonn"), mixed.astype(np.float32))


@pytest.mark.parametrize("correlation", [0.0, 0.25, 1.0])
def test_depots_keep_their_quantiles_and_cities_their_bands(rng, correlation):
    n_city = DEPOTS // 2
    sigma = SIGMA * math.sqrt(n_city + n_city * (n_city - 1) * correlation)
    bands = [band(city, n_city, sigma) for city in ("Aden", "Bonn")]
    drawn = paths.sample(table(rng), forecasts(), bands, CITIES, n_paths=4000)
    low, middle, high = np.quantile(drawn, (0.1, 0.5, 0.9), axis=0)
    np.testing.assert_allclose(low, 1000 - HALF, atol=2.5)
    np.testing.assert_allclose(middle, 1000, atol=2.5)
    np.testing.assert_allclose(high, 1000 + HALF, atol=2.5)
    in_aden = np.array(CITIES) == "Aden"
    spread_h = drawn[:, in_aden].sum(axis=1).std(axis=0)
    np.testing.assert_allclose(spread_h, sigma, rtol=0.12)


@pytest.mark.parametrize("correlation", [0.2, 0.9])
def test_cities_hang_together_as_the_fleets_band_says(rng, correlation):
    """On a holiday the fleet's band is wider than last year's ordinary errors imply."""
    n_city = DEPOTS // 2
    sigma = SIGMA * n_city
    fleet = band(FLEET, DEPOTS, sigma * math.sqrt(2 + 2 * correlation))
    bands = [fleet, *(band(city, n_city, sigma) for city in ("Aden", "Bonn"))]
    drawn = paths.sample(table(rng), forecasts(), bands, CITIES, n_paths=4000)
    spread_h = drawn.sum(axis=1).std(axis=0)
    np.testing.assert_allclose(
        spread_h, sigma * math.sqrt(2 + 2 * correlation), rtol=0.1
    )


def test_days_hang_together_as_they_did_last_year(rng):
    """If each week of a city was wholly high or wholly low, so is each path."""
    error_och = np.repeat(rng.standard_normal((358, 1, 1)), HORIZON, axis=2)
    replay = PathTable(("Aden",), error_och.astype(np.float32))
    whole = [band("Aden", 3, SIGMA * 3)]
    drawn = paths.sample(replay, forecasts(3), whole, ("Aden",) * 3)
    total_sh = drawn.sum(axis=1)
    assert np.corrcoef(total_sh[:, 0], total_sh[:, -1])[0, 1] > 0.95
    # High orders on any day of the week are then hardly likelier than on a given day.
    high_sh = total_sh > np.quantile(total_sh, 0.9, axis=0)
    assert high_sh.any(axis=1).mean() < 0.15


def test_the_same_forecast_always_has_the_same_chances(rng):
    replay = table(rng)
    one, other = (paths.sample(replay, forecasts(), [], CITIES) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert one.shape == (paths.N_PATHS, DEPOTS, HORIZON)


def test_without_a_year_and_without_bands_depots_of_a_city_are_high_together():
    drawn = paths.sample(paths.no_history(HORIZON), forecasts(), [], CITIES)
    assert np.corrcoef(drawn[:, 0, 0], drawn[:, 2, 0])[0, 1] > 0.999
    assert abs(np.corrcoef(drawn[:, 0, 0], drawn[:, 0, 1])[0, 1]) < 0.2


def test_a_closed_day_has_no_orders_on_any_path(rng):
    some = forecasts()
    closed = QuantileForecasts(
        *(np.where(np.arange(HORIZON) == 2, 0.0, q) for q in some)
    )
    bands = [band(FLEET, DEPOTS, SIGMA)]
    bands = [
        total._replace(**{name: np.where(np.arange(HORIZON) == 2, 0.0, getattr(total, name))
                          for name in ("p10_h", "p50_h", "p90_h")})
        for total in bands
    ]  # fmt: skip
    drawn = paths.sample(table(rng), closed, bands, CITIES)
    assert (drawn[:, :, 2] == 0).all()
    assert (drawn[:, :, 3] > 0).all()


def test_a_year_is_kept_as_normal_scores_in_its_own_order(rng):
    errors = year(rng, together=1.0)
    made = paths.calibrate(TotalErrors.of([errors], CITIES), 1.0, errors, HORIZON)
    assert made.cities == ("Aden", "Bonn")
    assert made.error_och.shape == (358, 2, HORIZON)
    np.testing.assert_allclose(made.error_och.std(axis=0), 1.0, atol=0.02)
    order = np.argsort(errors.error_doh[0, :, 0])
    np.testing.assert_array_equal(order, np.argsort(made.error_och[:, 0, 0]))
    np.testing.assert_allclose(made.error_och[:, 0], made.error_och[:, 1], atol=1e-6)


def test_a_depots_own_noise_lasts_as_long_as_it_did(rng):
    errors = year(rng)
    constant = errors._replace(
        error_doh=np.repeat(errors.error_doh[..., :1], HORIZON, axis=2)
    )
    lasting, fleeting = (
        paths.calibrate(TotalErrors.of([each], CITIES), 1.0, each, HORIZON).persistence
        for each in (constant, errors)
    )
    assert lasting == pytest.approx(0.9)
    assert fleeting < 0.1


def test_a_short_history_is_not_replayed(rng):
    errors = year(rng)
    few = type(errors)(*(part[:, :40] for part in errors))
    made = paths.calibrate(TotalErrors.of([few], CITIES), 1.0, few, HORIZON)
    assert len(made.error_och) == 0


def test_the_sum_over_a_path_agrees_with_the_band_of_the_total(rng):
    """End to end: totals and paths that are calibrated on a year's errors have the same bands."""
    errors = year(rng, together=0.4)
    of_totals = TotalErrors.of([errors], CITIES)
    totals_table = totals.calibrate(of_totals)
    replay = paths.calibrate(of_totals, totals_table.level, errors, HORIZON)
    median_dh = np.full((DEPOTS, HORIZON), 100.0)
    ahead = totals.DepotsAhead(median_dh, 0.1 * median_dh, 0 * median_dh)
    bands = totals.total_forecasts(totals_table, ahead, CITIES)
    quantiles = QuantileForecasts(
        101 * math.exp(-0.12816) - 1 + 0 * median_dh,
        median_dh,
        101 * math.exp(0.12816) - 1 + 0 * median_dh,
    )
    drawn = paths.sample(replay, quantiles, bands, CITIES)
    low_h, high_h = np.quantile(drawn.sum(axis=1), (0.1, 0.9), axis=0)
    np.testing.assert_allclose(
        high_h - low_h, bands[0].p90_h - bands[0].p10_h, rtol=0.2
    )


def test_a_city_draws_the_same_paths_alone_as_beside_others(rng):
    replay = table(rng)
    bands = [band(city, DEPOTS // 2, 3 * SIGMA) for city in ("Aden", "Bonn")]
    in_bonn = np.array(CITIES) == "Bonn"
    whole = paths.sample(replay, forecasts(), bands, CITIES)[:, in_bonn]
    some = forecasts(DEPOTS // 2)
    alone = paths.sample(replay, some, bands, ("Bonn",) * len(some.p50))
    np.testing.assert_array_equal(alone, whole)
