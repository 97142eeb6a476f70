"""Forecasts of a trained network for odd depots, closures and long horizons."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.data.calendar_features import SEASON_COLUMNS
from forecaster.data.panel_builder import build_panel
from forecaster.inference import infer
from forecaster.model.two_stage_fit import Recipe, train_model
from tests.make import make_depots, make_events, make_holidays, make_panel

START, ORIGIN = date(2023, 11, 6), date(2024, 12, 22)
N_DAYS = (ORIGIN - START).days + 1
WEEK = np.array([1.0, 1.1, 1.05, 1.2, 1.4, 0.7, 0.5])
HORIZON = 7
CHRISTMAS = [date(2024, 12, 25), date(2024, 12, 26)]
RECIPE = Recipe(
    TaskConfig(horizon=HORIZON, context=56),
    ModelConfig(units=12, head_units=12),
    TrainConfig(epochs=12, batch_size=16, members=2),
)


def steady(level, noise=0.08):
    def orders(rng):
        shape = WEEK[(START.weekday() + np.arange(N_DAYS)) % 7]
        return np.round(level * shape * rng.lognormal(0, noise, N_DAYS))

    return orders


def only(first, last, level=200.0):
    """Orders known only from `first` to `last` days before the end; NaN elsewhere."""

    def orders(rng):
        result = np.full(N_DAYS, np.nan)
        result[N_DAYS - first : N_DAYS - last] = steady(level)(rng)[
            N_DAYS - first : N_DAYS - last
        ]
        return result

    return orders


def with_gap(rng):
    result = steady(200)(rng)
    result[-60:-20] = np.nan
    return result


def zeros_for_months(rng):
    result = steady(200)(rng)
    result[-150:] = 0
    return result


def doubled_last_week(rng):
    result = steady(200)(rng)
    result[-7:] *= 2
    return result


FLEET = {
    **{f"steady {level}": steady(level) for level in (60, 90, 140, 200, 300, 420)},
    "three weeks": only(21, 0),
    "none": lambda _: np.full(N_DAYS, np.nan),
    "closed": only(N_DAYS, 30),
    "zeros": zeros_for_months,
    "gap": with_gap,
    "one a day": lambda _: np.ones(N_DAYS),
    "a million": steady(1_000_000, 0.02),
    "doubled": doubled_last_week,
}
NAMES = list(FLEET)


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(5)
    days = [START + timedelta(days=step) for step in range(N_DAYS)]
    demand = pd.concat(
        pd.DataFrame({"depot_id": name, "service_on": days, "orders": make(rng)})
        for name, make in FLEET.items()
    )
    closed_on = [ORIGIN - timedelta(days=29) if n == "closed" else None for n in NAMES]
    depots = make_depots(
        len(NAMES), depot_id=NAMES, city=["Delft"] * len(NAMES), closed_on=closed_on
    )
    closures = [
        ("closed", day, day, None, None, None)
        for year in (2023, 2024)
        for day in (date(year, 12, 25), date(year, 12, 26))
    ]
    holidays = make_holidays(
        *((date(year, 12, 25), "Christmas Day") for year in (2023, 2024))
    )
    return build_panel(
        depots, demand, make_events(*closures), holidays, ORIGIN, HORIZON + 14
    )


@pytest.fixture(scope="module")
def result(panel):
    return infer.forecast(train_model(panel, RECIPE).production, panel)


def week_of(result, name):
    """The p50 of the days on which that depot is open."""
    row = NAMES.index(name)
    return result.p50_dh[row][result.basis_dh[row] != "closed"]


def usual_week(level):
    """Orders of a steady depot of that level on the open days ahead."""
    ahead = [ORIGIN + timedelta(days=step) for step in range(1, HORIZON + 1)]
    return np.array(
        [level * WEEK[day.weekday()] for day in ahead if day not in CHRISTMAS]
    )


def test_no_forecast_is_negative_unknown_or_out_of_order(result):
    low, middle, high = result.p10_dh, result.p50_dh, result.p90_dh
    for orders in (low, middle, high):
        assert np.isfinite(orders).all()
    assert ((low >= 0) & (low <= middle) & (middle <= high)).all()


def test_every_depot_has_exactly_nothing_at_christmas(result):
    steps = [(day - ORIGIN).days - 1 for day in CHRISTMAS]
    for orders in (result.p10_dh, result.p50_dh, result.p90_dh):
        assert (orders[:, steps] == 0.0).all()
    assert (result.basis_dh[:, steps] == "closed").all()
    for total in result.totals:
        assert (total.p90_h[steps] == 0.0).all()


def test_a_depot_that_closed_has_nothing_for_good(result):
    row = NAMES.index("closed")
    assert (result.p90_dh[row] == 0.0).all()
    assert (result.basis_dh[row] == "closed").all()


@pytest.mark.parametrize(
    ("name", "level", "least", "most"),
    [
        ("steady 200", 200, 0.7, 1.3),
        ("three weeks", 200, 0.7, 1.3),
        ("gap", 200, 0.7, 1.3),
        ("a million", 1_000_000, 0.7, 1.3),
        ("doubled", 200, 0.8, 2.3),
    ],
)
def test_a_depot_has_its_own_level(result, name, level, least, most):
    share = week_of(result, name) / usual_week(level)
    assert ((share > least) & (share < most)).all()


def test_a_depot_without_history_is_like_the_others_marked_and_wide(result):
    row, other = NAMES.index("none"), NAMES.index("steady 200")
    open_h = result.basis_dh[row] != "closed"
    assert set(result.basis_dh[row]) == {"cold_start", "closed"}
    assert (result.p50_dh[row][open_h] > 60 * 0.5).all()
    assert (result.p50_dh[row][open_h] < 420 * 1.5).all()
    wide, usual = (
        np.log(result.p90_dh[depot][open_h] / result.p10_dh[depot][open_h])
        for depot in (row, other)
    )
    assert (wide > 1.5 * usual).all()


def test_nothing_for_months_and_one_order_a_day_stay_what_they_are(result):
    assert (week_of(result, "zeros") < 1.0).all()
    assert week_of(result, "one a day") == pytest.approx(np.ones(5), abs=0.6)


@pytest.fixture(scope="module")
def two_months():
    """A fleet, and a model trained on it for a horizon of 63 days."""
    panel = make_panel(n_depots=4, n_days=400, ahead=63)
    recipe = Recipe(
        TaskConfig(horizon=63, context=128),
        ModelConfig(units=6, head_units=6),
        TrainConfig(epochs=2, batch_size=4, members=1),
    )
    return panel, train_model(panel, recipe).production


def test_the_same_code_learns_a_horizon_of_63_days(two_months):
    panel, production = two_months
    result = infer.forecast(production, panel)
    assert result.p50_dh.shape == (4, 63)
    assert production.parity_error <= 1e-5
    # With more than a year of history, the season columns have weights.
    assert np.abs(production.weights["calendar/kernel"][:, :SEASON_COLUMNS]).max() > 0
    assert ((result.p10_dh > 0) & (result.p10_dh < result.p50_dh)).all()
    # Forecasts of nine weeks keep the weekdays: Friday has the most orders.
    weekday_h = (panel.origin.weekday() + 1 + np.arange(63)) % 7
    by_weekday = [result.p50_dh[:, weekday_h == day].mean() for day in range(7)]
    assert int(np.argmax(by_weekday)) == 4
