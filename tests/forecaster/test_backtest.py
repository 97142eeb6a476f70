"""Rolling origins stay inside the holdout, see nothing later, and add up."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from forecaster import backtest
from forecaster.backtest import ScoredForecast
from forecaster.errors import CutoffError
from tests.make import make_panel


@pytest.fixture(scope="module")
def panel():
    return make_panel(n_days=120)


def test_a_thirty_day_holdout_has_twenty_four_origins(panel):
    split = backtest.split_holdout(panel, holdout_days=30, horizon=7)
    assert len(split.origins) == 24
    assert (
        split.origins[0] == split.trained_through == panel.origin - timedelta(days=30)
    )
    assert split.origins[-1] + timedelta(days=7) == panel.origin


def test_stride_leaves_origins_out(panel):
    split = backtest.split_holdout(panel, holdout_days=30, horizon=7, stride=6)
    assert [
        (b - a).days for a, b in zip(split.origins, split.origins[1:], strict=False)
    ] == [6] * 3


@pytest.mark.parametrize(
    ("holdout", "message"),
    [
        (5, r"holdout_days is 5.*forecast of 7 days"),
        (110, r"leaves 10 to train on, fewer than 14"),
    ],
)
def test_a_holdout_that_does_not_fit_is_refused(panel, holdout, message):
    with pytest.raises(CutoffError, match=message):
        backtest.split_holdout(panel, holdout, horizon=7)


def test_the_forecaster_never_sees_its_targets(panel):
    split = backtest.split_holdout(panel, 30, 7)
    seen = []

    def forecaster(at):
        seen.append((at.origin, at.n_steps))
        zero = np.zeros((4, 7))
        return ScoredForecast(zero, zero, zero)

    forecast = backtest.run(panel, split, {"blind": forecaster}, panel.as_of)["blind"]
    assert seen == [(origin, panel.step(origin) + 1) for origin in split.origins]
    first = panel.step(split.origins[0]) + 1
    np.testing.assert_array_equal(
        forecast.actual_odh[0], panel.demand_dt[:, first : first + 7]
    )


def test_each_origin_s_panel_is_built_once_for_all_models(panel):
    split = backtest.split_holdout(panel, 30, 7, stride=10)
    built = []

    def panel_at(origin):
        built.append(origin)
        return panel.as_of(origin)

    naive = backtest.naive_forecaster("seasonal_naive", 7)
    backtest.run(panel, split, {"one": naive, "other": naive}, panel_at)
    assert built == list(split.origins)


def test_every_model_is_scored_on_the_days_that_all_forecast(panel):
    demand = panel.demand_dt.copy()
    demand[0, :95] = np.nan  # D0 opens within the holdout: naive has nothing to repeat
    panel = replace(panel, demand_dt=demand)
    split = backtest.split_holdout(panel, 30, 7)
    perfect = panel.demand_dt.astype(float)

    def oracle(at):
        first = at.n_steps
        point = np.nan_to_num(perfect[:, first : first + 7])
        return ScoredForecast(point - 1, point, point + 1)

    naive = backtest.naive_forecaster("seasonal_naive", 7)
    forecasts = backtest.run(
        panel, split, {"oracle": oracle, "naive": naive}, panel.as_of
    )
    scores = backtest.score(
        forecasts, backtest.mase_scale(panel, split.trained_through)
    )
    assert scores["oracle"].days == scores["naive"].days < 24 * 7 * 4
    assert scores["oracle"].mape == 0
    assert scores["oracle"].coverage80 == 1
    assert scores["naive"].in_percent()["coverage80"] is None
    assert scores["naive"].mape > 0


def test_the_json_has_the_shape_scripts_read(panel):
    split = backtest.split_holdout(panel, 30, 7, stride=10)
    naive = backtest.naive_forecaster("seasonal_naive", 7)
    forecasts = backtest.run(panel, split, {"seasonal_naive": naive}, panel.as_of)
    scores = backtest.score(
        forecasts, backtest.mase_scale(panel, split.trained_through)
    )
    result = backtest.summarise(split, scores, 4, 1.26)
    assert list(result) == [
        "horizon", "holdout_days", "stride", "origins", "trained_through", "depots",
        "train_seconds", "models",
    ]  # fmt: skip
    assert result["train_seconds"] == 1.3
    assert list(result["models"]["seasonal_naive"]) == [
        "mape", "wape", "bias", "mase", "coverage80", "days",
    ]  # fmt: skip
