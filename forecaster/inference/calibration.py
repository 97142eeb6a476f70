"""Calibrates an artefact's postprocessing and intervals on days after its training.

The steps that are fitted here are applied by `infer`.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from forecaster.data.features import build_features
from forecaster.data.panel import Panel
from forecaster.inference import infer, intervals, predict, totals
from forecaster.inference.artefact import Artefact
from forecaster.inference.postprocessing import HoldoutForecasts, fit_postprocessing
from forecaster.inference.totals import QuantileForecasts


def calibrate_artefact(evaluation_artefact: Artefact, panel: Panel) -> Artefact:
    """Returns the artefact with postprocessing and intervals fitted to held-out days.

    Args:
      evaluation_artefact: Artefact trained through an earlier day than the panel's origin.
      panel: Demand with the held-out days. Origins are the day that the artefact was
        trained through, and every held-out day but the last.

    Raises:
      NoDataError: a horizon day has no known actual.
    """
    origins = range(panel.step(evaluation_artefact.trained_through), panel.n_steps - 1)
    forecasts = _forecasts(evaluation_artefact, panel, origins)
    history_days = panel.step(evaluation_artefact.trained_through) + 1
    postprocessing = fit_postprocessing(forecasts, history_days)
    median_odh = postprocessing.median(forecasts.baseline, forecasts.correction)
    actual_odh = np.log1p(np.where(forecasts.valid, forecasts.actual, 0.0))
    first_weekday_o1 = panel.start_on.weekday() + 1 + np.array(origins)[:, None]
    weekday_oh = (first_weekday_o1 + np.arange(evaluation_artefact.horizon)) % 7
    table = intervals.calibrate(
        (actual_odh - median_odh) / forecasts.spread,
        forecasts.valid,
        weekday_oh,
        panel.depot_ids,
    )
    low_high = [
        intervals.bounds(table, *origin, panel.depot_ids)
        for origin in zip(median_odh, forecasts.spread, weekday_oh, strict=True)
    ]
    low_odh, high_odh = (np.stack(part) for part in zip(*low_high, strict=True))
    quantiles = QuantileForecasts(
        *(infer.orders(log) for log in (low_odh, median_odh, high_odh))
    )
    fully_covered_days = len(origins) - evaluation_artefact.horizon + 1
    difficulty = _relative_difficulty(evaluation_artefact, panel, fully_covered_days)
    return replace(
        evaluation_artefact,
        postprocessing=postprocessing,
        intervals=intervals.scale_to_typical_days(table, difficulty),
        totals=totals.calibrate(
            quantiles, forecasts.actual, forecasts.valid, panel.cities
        ),
    )


def _forecasts(artefact: Artefact, panel: Panel, origins: range) -> HoldoutForecasts:
    """Raw forecasts of an artefact from each origin, with the actuals."""
    baseline, correction, spread, actual, valid = [], [], [], [], []
    days = [panel.day(step) for step in origins]
    for raw in predict.predict_origins(artefact, panel, days):
        actual.append(
            _actuals_after(panel, panel.step(raw.origin_on), artefact.horizon)
        )
        baseline.append(raw.baseline_dh)
        correction.append(raw.correction_dh)
        spread.append(raw.spread_dh)
        valid.append(np.isfinite(actual[-1]) & ~raw.cold_start_d[:, None])
    return HoldoutForecasts(
        *map(np.stack, (baseline, correction, spread, actual, valid))
    )


def _actuals_after(
    panel: Panel, step: int, horizon: int
) -> Float[np.ndarray, "depot horizon"]:
    """Orders of the days after a step, NaN where not observed."""
    orders_dh = panel.demand_dt[:, step + 1 : step + 1 + horizon].astype(float)
    pad_width = ((0, 0), (0, horizon - orders_dh.shape[1]))
    return np.pad(orders_dh, pad_width, constant_values=np.nan)


def _relative_difficulty(artefact: Artefact, panel: Panel, days: int) -> float:
    """80 % quantile of the baseline's scaled residuals on the held-out days over the last year's.

    Clipped to 0.5 to 1: a calmer holdout widens the intervals, a harder one changes nothing.
    """
    features = build_features(
        panel,
        artefact.kinds,
        artefact.horizon,
        effect_dtf=artefact.effects.of(panel, artefact.horizon),
    )
    n_steps = panel.n_steps
    residual_dt = np.abs(features.recent_residuals_dtf[:, 1:n_steps, 0])
    # The spread is lagged one day to avoid leakage of the residual; mature depots only.
    spread_dt = features.spread_dt[:, : n_steps - 1]
    mature_dt = features.age_dt[:, 1:n_steps] > np.log1p(intervals.MATURE_DAYS)
    valid_dt = (features.observed_dt[:, 1:n_steps] > 0) & mature_dt
    return intervals.relative_difficulty(residual_dt / spread_dt, valid_dt, days)
