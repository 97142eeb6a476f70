"""A fleet in its first year, forecast by a trained network, with days it has not seen yet."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.data.panel_builder import build_panel
from forecaster.inference import infer
from forecaster.model.two_stage_fit import Recipe, train_model
from tests.make import make_depots, make_events, make_holidays

START, GROWN = date(2024, 3, 4), date(2024, 6, 3)
WEEK = np.array([1.0, 1.1, 1.05, 1.2, 1.4, 0.7, 0.5])
LEVELS = {f"steady {level}": level for level in (60, 90, 140, 200, 300, 420)}
NAMES = list(LEVELS)
CHRISTMAS, THANKSGIVING = date(2024, 12, 25), date(2024, 11, 28)
HOLIDAYS = {
    date(2024, 4, 1): "Easter Monday",
    date(2024, 5, 1): "May Day",
    date(2024, 5, 27): "Memorial Day",
    date(2024, 7, 4): "Independence Day",
    date(2024, 9, 2): "Labor Day",
    THANKSGIVING: "Thanksgiving Day",
    CHRISTMAS: "Christmas Day",
}
RECIPE = Recipe(
    TaskConfig(horizon=7, context=56),
    ModelConfig(units=12, head_units=12),
    TrainConfig(epochs=6, batch_size=16, members=1, validation_days=24),
)


def expected(level, day):
    """Orders of an ordinary day: the fleet doubles in spring, and stays there."""
    grown = min((day - START) / (GROWN - START), 1.0)
    return level * (1 + grown) * WEEK[day.weekday()]


def demand_through(origin):
    rng = np.random.default_rng(3)
    days = [START + timedelta(days=step) for step in range((origin - START).days + 1)]
    quiet = [0.3 if day in HOLIDAYS else 1.0 for day in days]
    rows = []
    for name, level in LEVELS.items():
        usual = np.array([expected(level, day) for day in days])
        orders = np.round(usual * quiet * rng.lognormal(0, 0.08, len(days)))
        rows.append(
            pd.DataFrame({"depot_id": name, "service_on": days, "orders": orders})
        )
    return pd.concat(rows)


def week_after(origin):
    """The forecast of the seven days after an origin."""
    depots = make_depots(len(NAMES), depot_id=NAMES, city=["Delft"] * len(NAMES))
    holidays = make_holidays(*HOLIDAYS.items())
    demand = demand_through(origin)
    panel = build_panel(depots, demand, make_events(), holidays, origin, 7 + 14)
    return infer.forecast(train_model(panel, RECIPE).production, panel)


def days_after(origin):
    return [origin + timedelta(days=step) for step in range(1, 8)]


def test_the_growth_of_a_spring_is_not_continued():
    """The origin is nine days after the growth has stopped."""
    origin = GROWN + timedelta(days=9)
    usual = sum(
        expected(level, day) for level in LEVELS.values() for day in days_after(origin)
    )
    assert week_after(origin).p50_dh.sum() == pytest.approx(usual, rel=0.05)


@pytest.fixture(scope="module")
def christmas():
    """Forecast and days of the week from four days before the first Christmas."""
    origin = CHRISTMAS - timedelta(days=4)
    return week_after(origin), days_after(origin)


def test_a_first_christmas_is_forecast_from_the_holidays_before_it(christmas):
    result, days = christmas
    step, ordinary = days.index(CHRISTMAS), days.index(CHRISTMAS - timedelta(days=2))
    for name, level in LEVELS.items():
        usual = [expected(level, day) for day in days]
        forecast = result.p50_dh[NAMES.index(name)]
        assert forecast[step] < 0.6 * usual[step], name
        assert forecast[ordinary] == pytest.approx(usual[ordinary], rel=0.25), name


def test_the_band_of_a_first_christmas_is_wide_and_holds_it(christmas):
    result, days = christmas
    low_dh, high_dh = np.log1p(result.p10_dh), np.log1p(result.p90_dh)
    step, ordinary = days.index(CHRISTMAS), days.index(CHRISTMAS - timedelta(days=2))
    for name, level in LEVELS.items():
        width_h = (high_dh - low_dh)[NAMES.index(name)]
        assert width_h[step] > 1.5 * width_h[ordinary], name
        truth = np.log1p(0.3 * expected(level, CHRISTMAS))
        low, high = (each[NAMES.index(name), step] for each in (low_dh, high_dh))
        assert low < truth < high, name


def test_the_band_of_the_fleet_is_wide_on_a_first_christmas_too(christmas):
    result, days = christmas
    fleet = result.totals[0]
    share_h = (fleet.p90_h - fleet.p10_h) / fleet.p50_h
    step, ordinary = days.index(CHRISTMAS), days.index(CHRISTMAS - timedelta(days=2))
    assert share_h[step] > 1.5 * share_h[ordinary]
