"""Postprocessing is chosen on holdout days, and only where it lowers the error."""

import numpy as np
import pytest

from forecaster.inference.network_share import describe_share
from forecaster.inference.postprocessing import (
    HoldoutForecasts,
    fit_network_share,
)

DEPOTS = tuple(f"D{number}" for number in range(6))
YEARS, WEEKS = 900, 60


def unseen_of(rng, plain_noise, network_noise, origins=22):
    """Holdout forecasts whose baseline and network have errors of this size, in log counts."""
    shape = (origins, len(DEPOTS), 7)
    actual = rng.lognormal(np.log(200), 0.05, shape)
    centre = np.full(shape, np.log1p(200.0))
    plain = centre + rng.normal(0, 1, shape) * plain_noise
    network = centre + rng.normal(0, 1, shape) * network_noise
    spread = np.full(shape, 0.2)
    valid = np.ones(shape, bool)
    return HoldoutForecasts(plain, network - plain, spread, np.round(actual), valid)


def test_a_lucky_month_of_a_young_fleet_convinces_less_than_of_an_old_one(rng):
    holdout = unseen_of(rng, plain_noise=0.1, network_noise=0.0)
    # The whole correction lowers the errors by a tenth.
    holdout = holdout._replace(correction=0.1 * holdout.correction)
    young, old = (fit_network_share(holdout, days) for days in (WEEKS, YEARS))
    assert young < 0.7 < old


def test_where_nothing_is_known_the_baseline_is_delivered(rng):
    holdout = unseen_of(rng, 0.1, 0.1)
    blank = holdout._replace(valid=np.zeros_like(holdout.valid))
    assert fit_network_share(blank, YEARS) == 0.0


@pytest.mark.parametrize("days", [WEEKS, 400, YEARS])
def test_a_correction_of_nothing_has_the_share_of_its_history(rng, days):
    holdout = unseen_of(rng, 0.1, 0.1)
    nothing = holdout._replace(correction=np.zeros_like(holdout.correction))
    share = fit_network_share(nothing, days)
    assert share == pytest.approx(np.interp(days, (285, 548), (0.0, 0.7)))


@pytest.mark.parametrize(("gain", "delivered"), [(0.02, False), (0.2, True)])
def test_a_small_share_is_none_at_all(rng, gain, delivered):
    """A young fleet's share is the gain on its holdout days, shrunk towards 0."""
    holdout = unseen_of(rng, 0.1, 0.1)
    correction = np.full_like(holdout.baseline, holdout.spread[0, 0, 0] * 1.3)
    actual = np.expm1(holdout.baseline + gain * correction)
    holdout = holdout._replace(correction=correction, actual=actual)
    # Mean square of the correction 1.69, weight of the prior 1.6.
    expected = pytest.approx(gain * 1.69 / (1.69 + 1.6)) if delivered else 0.0
    assert fit_network_share(holdout, WEEKS) == expected


def test_days_that_do_not_count_change_nothing(rng):
    holdout = unseen_of(rng, 0.1, 0.1)
    valid = holdout.valid.copy()
    valid[:, 3] = False
    known = holdout._replace(valid=valid)
    actual = holdout.actual.copy()
    actual[:, 3] = np.nan
    unknown = known._replace(actual=actual)
    assert fit_network_share(known, YEARS) == fit_network_share(unknown, YEARS)


def test_one_odd_day_does_not_decide(rng):
    holdout = unseen_of(rng, plain_noise=0.1, network_noise=0.02)
    actual = holdout.actual.copy()
    actual[5] = 1.0
    odd = fit_network_share(holdout._replace(actual=actual), YEARS)
    usual = fit_network_share(holdout, YEARS)
    assert odd == pytest.approx(usual, abs=0.15)


@pytest.mark.parametrize(
    ("plain_noise", "network_noise", "least", "most"),
    [
        pytest.param(0.3, 0.02, 0.8, 1.0, id="a network that helps, nearly whole"),
        pytest.param(0.3, 0.25, 0.3, 0.8, id="one that helps a little, in part"),
        pytest.param(0.02, 0.4, 0.0, 0.3, id="one that hurts, hardly"),
    ],
)
def test_the_share_is_the_least_of_a_penalised_robust_loss(
    rng, plain_noise, network_noise, least, most
):
    """Compared with the minimum of Huber's loss plus the penalty on a grid."""
    holdout = unseen_of(rng, plain_noise, network_noise)
    missed = (np.log1p(holdout.actual) - holdout.baseline) / holdout.spread
    correction = holdout.correction / holdout.spread
    shares = np.linspace(0, 1, 2001)

    def loss(share):
        rest = np.abs(missed - share * correction)
        huber = np.where(rest < 3, rest**2 / 2, 3 * (rest - 1.5))
        return huber.mean() + 1.6 * (share - 0.7) ** 2 / 2

    best = shares[np.argmin([loss(share) for share in shares])]
    chosen = fit_network_share(holdout, YEARS)
    assert chosen == pytest.approx(best, abs=0.002)
    assert least < chosen <= most


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        pytest.param(0.4, "40 % of the network's correction", id="a share"),
        pytest.param(0.0, "baseline", id="none of it"),
        pytest.param(1.0, "network", id="all of it"),
        pytest.param(None, "–", id="not recorded"),
    ],
)
def test_a_share_says_which_forecast_is_delivered(share, expected):
    assert describe_share(share) == expected
