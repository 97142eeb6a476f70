"""Postprocessing is chosen on holdout days, and only where it lowers the error."""

import numpy as np
import pytest

from forecaster.inference.network_share import describe_share
from forecaster.inference.postprocessing import (
    HoldoutForecasts,
    Postprocessing,
    fit_postprocessing,
)

DEPOTS = tuple(f"D{number}" for number in range(6))
YEARS, WEEKS = 900, 60


def unseen_of(rng, plain_noise, network_noise, origins=22):
    """Forecasts that miss by so much."""
    shape = (origins, len(DEPOTS), 7)
    actual = rng.lognormal(np.log(200), 0.05, shape)
    centre = np.full(shape, np.log1p(200.0))
    plain = centre + rng.normal(0, 1, shape) * plain_noise
    network = centre + rng.normal(0, 1, shape) * network_noise
    spread = np.full(shape, 0.2)
    valid = np.ones(shape, bool)
    return HoldoutForecasts(plain, network - plain, spread, np.round(actual), valid)


def test_a_network_that_helps_is_delivered_whole(rng):
    chosen = fit_postprocessing(
        unseen_of(rng, plain_noise=0.3, network_noise=0.02), YEARS
    )
    assert chosen.network_share == 1.0


def test_a_network_that_hurts_is_delivered_in_part_or_not_at_all(rng):
    chosen = fit_postprocessing(
        unseen_of(rng, plain_noise=0.02, network_noise=0.4), YEARS
    )
    assert chosen.network_share < 0.3


def test_a_lucky_month_of_a_young_fleet_convinces_less_than_of_an_old_one(rng):
    holdout = unseen_of(rng, plain_noise=0.1, network_noise=0.0)
    # The whole correction lowers the errors by a tenth.
    holdout = holdout._replace(correction=0.1 * holdout.correction)
    young, old = (
        fit_postprocessing(holdout, days).network_share for days in (WEEKS, YEARS)
    )
    assert young < 0.7 < old


def test_where_nothing_is_known_the_baseline_is_delivered(rng):
    holdout = unseen_of(rng, 0.1, 0.1)
    blank = holdout._replace(valid=np.zeros_like(holdout.valid))
    assert fit_postprocessing(blank, YEARS) == Postprocessing(network_share=0.0)


def test_where_all_counts_are_zero_the_baseline_is_delivered(rng):
    holdout = unseen_of(rng, 0.1, 0.1)
    zeros = holdout._replace(actual=np.zeros_like(holdout.actual))
    assert fit_postprocessing(zeros, YEARS).network_share == 0.0


@pytest.mark.parametrize(
    "delivery",
    [
        Postprocessing(),
        Postprocessing(network_share=0.5),
    ],
)
def test_it_survives_the_manifest(delivery):
    assert Postprocessing.from_json(delivery.to_json()) == delivery


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
