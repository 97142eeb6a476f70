"""Days without orders, and events of every day, distort neither points nor bands."""

from datetime import timedelta

import numpy as np

from forecaster.data.calendar_effects import fit_calendar_effects
from forecaster.inference import infer, totals
from forecaster.inference.baseline_errors import BaselineErrors
from forecaster.inference.predict import RawForecast
from forecaster.inference.totals import FLEET, TotalErrors
from tests.make import START, make_events, make_panel

N_DEPOTS, ORIGINS, HORIZON = 8, 350, 7


def of_a_fleet_closed_on_weekends(zero_days: int) -> BaselineErrors:
    """Errors of a fleet with `zero_days` days a week without orders, none announced."""
    rng = np.random.default_rng(0)
    shape = (N_DEPOTS, ORIGINS, HORIZON)
    day_oh = np.add.outer(np.arange(ORIGINS), np.arange(HORIZON)) % 7
    is_zero_oh = day_oh < zero_days
    baseline = np.where(is_zero_oh, np.log1p(0.02), np.log1p(100.0))
    baseline = np.broadcast_to(baseline, shape).astype(np.float32)
    error = np.where(is_zero_oh, -np.log1p(0.02), rng.normal(0, 0.1, shape))
    spread = np.full(shape[:2], 0.1, np.float32)
    return BaselineErrors(baseline, error.astype(np.float32), spread, 0 * baseline)


def test_days_without_orders_do_not_widen_the_fleets_band() -> None:
    errors = of_a_fleet_closed_on_weekends(2)
    table = totals.calibrate(TotalErrors.of([errors], ["Delft"] * N_DEPOTS))
    low, high = table.quantiles_of(FLEET)
    # Eight independent depots: about 1.28 / sqrt(8) of their common spread, not 10 of it.
    assert -1.0 < low < 0 < high < 1.0


def test_days_without_orders_do_not_lower_the_fleets_median() -> None:
    errors = of_a_fleet_closed_on_weekends(5)
    table = totals.calibrate(TotalErrors.of([errors], ["Delft"] * N_DEPOTS))
    assert abs(table.level - 1) < 0.01


def test_a_depot_that_was_shut_is_not_forecast_far_below_its_median() -> None:
    # Ten days of zeros leave a spread of 2 log counts for 56 days: 0.2 * 2 ** 2 is -55 %.
    zero_dh = np.zeros((2, 7), np.float32)
    raw = RawForecast(
        baseline_dh=zero_dh,
        correction_dh=zero_dh,
        spread_d=np.array([0.2, 2.0], np.float32),
        effect_sd_dh=zero_dh,
        cold_start_d=np.zeros(2, bool),
        closed_dh=zero_dh > 0,
    )
    assert infer._point_shift(raw, "balanced").max() < 0.1001


def test_an_event_of_every_day_does_not_widen_the_bands() -> None:
    until = START + timedelta(days=200)
    panel = make_panel(events=make_events(("open", START, until, None, None, None)))
    assert fit_calendar_effects(panel).sd_of(panel).max() < 0.02
