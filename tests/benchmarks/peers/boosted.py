"""A direct LightGBM: one model per horizon day, three seeds, L1 on log counts.

It sees lags of the last week and of the same weekdays, rolling means, a year ago, level,
calendar, holidays and events around the target, and the depot; and, where that is better on
the last training days, all that Harbor Fleet knows: it then corrects the same baseline, with
the effects of the day's calendar, how the depot answered to such days before, what was missed
in the last days here and in the city, and how long such misses last.
Leaves and shrinkage are tuned on the last 28 training days, which also choose the
number of trees; then every model is fitted again on all training days.
"""

from itertools import product
from typing import Any, NamedTuple

import lightgbm
import numpy as np

from forecaster.backtest import HoldoutSplit
from forecaster.config import TaskConfig
from forecaster.data import inputs
from forecaster.data.effects import fit_effects, forward_chained_effects
from forecaster.data.features import Features, build_features, choose_kinds
from forecaster.data.lags import weekday_lag
from forecaster.data.panel import Panel, log_counts
from forecaster.data.scaling import carry_forward, trailing_mean
from tests.benchmarks.peers import Forecasts, as_orders, nothing

SEEDS = (0, 1, 2)
VALIDATION_DAYS = 28
MOST_TREES = 2000
PATIENCE = 60
ROLLING_DAYS = (7, 14, 28, 84)
SAME_WEEKDAYS = 8
YEARLY_LAGS = (357, 363, 364, 365, 371)
BLOCK_DAYS = 512
"""Origins whose baselines are computed together."""
CATEGORIES = ("depot", "city", "weekday")
GRID = (
    {"num_leaves": 31, "min_data_in_leaf": 20},
    {"num_leaves": 31, "min_data_in_leaf": 100},
    {"num_leaves": 63, "min_data_in_leaf": 50},
    {"num_leaves": 127, "min_data_in_leaf": 100},
)
SETTINGS: dict[str, Any] = {
    "objective": "l1",
    "learning_rate": 0.05,
    "feature_fraction": 0.7,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 1.0,
    "verbose": -1,
    "max_bin": 127,
}


class Series(NamedTuple):
    """Source of the rows."""

    features: Features
    log_dt: np.ndarray  # NaN where not observed
    level_dt: np.ndarray
    rolling_dtk: np.ndarray
    city_d: np.ndarray
    # Of Harbor Fleet, by origin and day ahead.
    baseline_dth: np.ndarray
    effect_dt: np.ndarray
    # Whether rows have the network's columns, and its baseline instead of the level.
    has_network_columns: bool = False


class Rows(NamedTuple):
    """One row per depot and origin, for one day ahead."""

    table: np.ndarray
    names: list[str]
    # Less the reference.
    target: np.ndarray
    # Level, or baseline; log counts.
    reference: np.ndarray


def light_gbm(panel: Panel, split: HoldoutSplit) -> Forecasts:
    """Trained once on what precedes the holdout, then forecasts from every origin."""
    series = _series(panel, split)
    end = panel.step(split.trained_through) + 1
    series, best = _tuned(series, split.horizon, end)
    models = [_fit(series, step, end, best) for step in range(1, split.horizon + 1)]
    forecasts = nothing(split, panel.n_depots)
    for position, origin in enumerate(split.origins):
        steps = np.array([panel.step(origin)])
        for step, boosters in enumerate(models, start=1):
            rows = _rows(series, steps, step)
            lift = np.mean([each.predict(rows.table) for each in boosters], axis=0)
            forecasts.p50_odh[position, :, step - 1] = as_orders(lift + rows.reference)
    return forecasts


def _series(panel: Panel, split: HoldoutSplit) -> Series:
    """Everything up to the panel's end; a row only reads what lies at its origin."""
    seen = panel.as_of(split.trained_through)
    effects = fit_effects(seen, split.horizon)
    effect_dtf = effects.of(panel, split.horizon)
    # As the network is trained: no day's effect is fitted to the day itself.
    learnt_dtf, _ = forward_chained_effects(effects, seen, split.horizon)
    effect_dtf[:, : seen.n_steps] = learnt_dtf[:, : seen.n_steps]
    features = build_features(
        panel,
        choose_kinds(seen.calendar, seen.n_steps),
        split.horizon,
        effect_dtf=effect_dtf,
    )
    log_dt = np.where(panel.observed_dt, log_counts(panel.demand_dt), np.nan)
    known_dt = np.isfinite(log_dt)
    rolling = [
        carry_forward(trailing_mean(np.nan_to_num(log_dt), known_dt, days))
        for days in ROLLING_DAYS
    ]
    _, city_d = np.unique(panel.cities, return_inverse=True)
    return Series(
        features,
        log_dt,
        rolling[2],
        np.stack(rolling, axis=-1),
        city_d,
        _baselines(features, split.horizon),
        effect_dtf[..., 0],
    )


def _baselines(features: Features, horizon: int) -> np.ndarray:
    """The baseline of every depot, origin and day ahead, log counts."""
    n_depots, n_steps = len(features.log_demand_dt), features.n_steps
    every_d = np.arange(n_depots)
    blocks = []
    for first in range(0, n_steps, BLOCK_DAYS):
        task = TaskConfig(horizon, context=BLOCK_DAYS)
        last_d = np.full(n_depots, first + BLOCK_DAYS - 1)
        windows = inputs.cut_windows(features, task, every_d, last_d)
        blocks.append(inputs.future(np, windows, horizon).baseline)
    return np.concatenate(blocks, axis=1)[:, :n_steps]


def _tuned(series: Series, horizon: int, end: int) -> tuple[Series, dict[str, Any]]:
    """Columns and settings of least miss on the middle day of the horizon."""
    middle = (horizon + 1) // 2

    def miss(choice: tuple[Series, dict[str, Any]]) -> float:
        stopped = _stopped_early(choice[0], middle, end, choice[1], seed=0)
        return float(stopped.best_score["valid"]["l1"])

    columns = [series._replace(has_network_columns=has) for has in (False, True)]
    return min(product(columns, GRID), key=miss)


def _fit(
    series: Series, step: int, end: int, settings: dict[str, Any]
) -> list[lightgbm.Booster]:
    """Three seeds of one horizon day, on all training days."""
    trees = _stopped_early(series, step, end, settings, seed=0).best_iteration
    data = _dataset(_training_rows(series, step, 0, end))
    return [
        lightgbm.train(SETTINGS | settings | {"seed": seed}, data, trees)
        for seed in SEEDS
    ]


def _stopped_early(
    series: Series, step: int, end: int, settings: dict[str, Any], seed: int
) -> lightgbm.Booster:
    first = end - VALIDATION_DAYS
    data = _dataset(_training_rows(series, step, 0, first))
    valid = _dataset(_training_rows(series, step, first, end), data)
    return lightgbm.train(
        SETTINGS | settings | {"seed": seed},
        data,
        MOST_TREES,
        valid_sets=[valid],
        valid_names=["valid"],
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )


def _dataset(rows: Rows, like: lightgbm.Dataset | None = None) -> lightgbm.Dataset:
    return lightgbm.Dataset(
        rows.table,
        rows.target,
        feature_name=rows.names,
        categorical_feature=list(CATEGORIES),
        reference=like,
        free_raw_data=False,
    )


def _training_rows(series: Series, step: int, first: int, end: int) -> Rows:
    """Rows whose target lies in [first, end) and is known."""
    origins = np.arange(max(first - step, 28), end - step)
    rows = _rows(series, origins, step)
    known = np.isfinite(rows.target)
    return Rows(
        rows.table[known], rows.names, rows.target[known], rows.reference[known]
    )


def _rows(series: Series, origins: np.ndarray, step: int) -> Rows:
    """A row for every depot and origin, depots fastest.

    The target is relative to the depot's level, or to its baseline; NaN where it lies past the panel's end.
    """
    log_dt, features = series.log_dt, series.features
    target = origins + step
    level_od = series.level_dt[:, origins].T
    columns: dict[str, np.ndarray] = {}

    def lag(name: str, steps: np.ndarray) -> None:
        value_od = np.where(
            steps[:, None] >= 0, log_dt[:, np.maximum(steps, 0)].T, np.nan
        )
        columns[name] = value_od - level_od

    for days in range(7):
        lag(f"lag_{days}", origins - days)
    for repeat in range(1, SAME_WEEKDAYS + 1):
        lag(f"weekday_{repeat}", target - weekday_lag(step, repeat))
    for days in YEARLY_LAGS:
        lag(f"year_{days}", target - days)
    for k, days in enumerate(ROLLING_DAYS):
        columns[f"mean_{days}"] = series.rolling_dtk[:, origins, k].T - level_od
    for k in range(features.yearly_dtf.shape[-1]):
        columns[f"yearly_{k}"] = features.yearly_dtf[:, target, k].T
    reference_od = level_od
    if series.has_network_columns:
        reference_od = series.baseline_dth[:, origins, step - 1].T
        columns |= _network_columns(features, origins, target)
        columns["baseline"] = reference_od - level_od
        columns["effect"] = series.effect_dt[:, target].T
    columns["level"] = level_od
    columns["spread"] = features.spread_dt[:, origins].T
    columns["age"] = features.age_dt[:, origins].T
    calendar_dtf = features.calendar_gtf[features.group_d]
    every = np.arange(len(calendar_dtf))
    features.own.write(calendar_dtf, every, np.zeros_like(every))
    known_do = calendar_dtf[:, target]
    for k in range(known_do.shape[-1]):
        columns[f"known_{k}"] = known_do[..., k].T
    return _table(series, columns, origins, target, reference_od)


def _network_columns(
    features: Features, origins: np.ndarray, target: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns made for the network, [origin, depot]."""
    columns = {
        f"response_{k}": features.event_response_dtf[:, target, k].T
        for k in range(features.event_response_dtf.shape[-1])
    }
    columns |= {
        f"recent_{k}": features.recent_residuals_dtf[:, origins, k].T
        for k in range(features.recent_residuals_dtf.shape[-1])
    }
    return columns | {"persistence": features.residual_autocorrelation_dt[:, origins].T}


def _table(
    series: Series,
    columns: dict[str, np.ndarray],
    origins: np.ndarray,
    target: np.ndarray,
    reference_od: np.ndarray,
) -> Rows:
    n_depots = len(series.city_d)
    days = np.datetime64(series.features.start_on) + target
    month = days.astype("datetime64[M]")
    year = days.astype("datetime64[Y]")
    per_origin = {
        "weekday": (days.astype(int) + 3) % 7,
        "day_of_month": (days - month).astype(int),
        "day_of_year": (days - year).astype(int),
        "month": month.astype(int) % 12,
    }
    for name, value_o in per_origin.items():
        columns[name] = np.repeat(value_o[:, None], n_depots, axis=1)
    for name, value_d in {"depot": np.arange(n_depots), "city": series.city_d}.items():
        columns[name] = np.repeat(value_d[None], len(origins), axis=0)
    inside = target < series.log_dt.shape[1]
    newest = np.minimum(target, series.log_dt.shape[1] - 1)
    actual_od = np.where(inside[:, None], series.log_dt[:, newest].T, np.nan)
    table = np.stack(
        [value.astype(np.float32).ravel() for value in columns.values()], 1
    )
    lift = (actual_od - reference_od).ravel()
    return Rows(table, list(columns), lift, reference_od.ravel())
