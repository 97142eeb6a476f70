"""Calibrates an artefact on days after its training, and on a year of the baseline's errors.

`infer` applies the steps that are fitted here.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from forecaster.data.outages import without_outages
from forecaster.data.panel import Panel
from forecaster.inference import intervals, paths, predict, totals
from forecaster.inference.artefact import Artefact
from forecaster.inference.baseline_errors import BaselineErrors, baseline_errors
from forecaster.inference.postprocessing import (
    HoldoutForecasts,
    fit_network_share,
    median,
)

SAMPLED_DEPOTS = 1024
"""Approximate maximum of depots whose errors are kept for the quantiles of single depots."""
NARROWING_DAYS = 28
"""Held-out days at which the measured narrowing weighs as much as no narrowing."""
MIN_NARROWING, MAX_NARROWING = 0.7, 1.2


def calibrate_artefact(evaluation_artefact: Artefact, panel: Panel) -> Artefact:
    """Returns the artefact with a calibrated network share, bands, totals and paths.

    Args:
      evaluation_artefact: Artefact trained through an earlier day than the panel's origin.
      panel: Demand with the held-out days. Origins are the day that the artefact was
        trained through, and every held-out day but the last.
    """
    horizon = evaluation_artefact.horizon
    origins = range(panel.step(evaluation_artefact.trained_through), panel.n_steps - 1)
    known = without_outages(panel)
    holdout = _holdout_forecasts(evaluation_artefact, panel, known, origins)
    history_days = panel.step(evaluation_artefact.trained_through) + 1
    network_share = fit_network_share(holdout, history_days)
    narrowing = _narrowing(holdout, network_share)
    sample: list[BaselineErrors] = []
    errors = baseline_errors(known, evaluation_artefact.effects, horizon)
    step = -(-panel.n_depots // SAMPLED_DEPOTS)
    of_totals = totals.TotalErrors.of(_sampled(errors, step, sample), panel.cities)
    depots = BaselineErrors(*map(np.concatenate, zip(*sample, strict=True)))
    totals_table = totals.calibrate(of_totals, narrowing)
    return replace(
        evaluation_artefact,
        network_share=network_share,
        intervals=intervals.calibrate(depots, narrowing),
        totals=totals_table,
        paths=paths.calibrate(of_totals, totals_table.level, depots, horizon),
    )


def _sampled(
    chunks: Iterator[BaselineErrors], step: int, sample: list[BaselineErrors]
) -> Iterator[BaselineErrors]:
    """Yields the chunks unchanged, and adds every `step`-th depot of each to the sample."""
    for chunk in chunks:
        sample.append(chunk.of_depots(np.arange(0, len(chunk.spread_do), step)))
        yield chunk


def _holdout_forecasts(
    artefact: Artefact, panel: Panel, known: Panel, origins: range
) -> HoldoutForecasts:
    """Raw forecasts of an artefact from each origin, with the actuals of the panel `known`."""
    baseline, correction, spread, actual, valid = [], [], [], [], []
    for step in origins:
        raw = predict.predict(artefact, panel.as_of(panel.day(step)))
        actual.append(_actuals_after(known, step, artefact.horizon))
        baseline.append(raw.baseline_dh)
        correction.append(raw.correction_dh)
        spread.append(np.hypot(raw.spread_d[:, None], raw.effect_sd_dh))
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


def _narrowing(holdout: HoldoutForecasts, network_share: float) -> float:
    """Ratio of the delivered forecast's error width to the baseline's, on the held-out days.

    It is shrunk towards 1, because the days are few.
    """
    valid_odh = holdout.valid
    if not valid_odh.any() or network_share == 0:
        return 1.0
    log_odh = np.log1p(np.where(valid_odh, holdout.actual, 0.0))
    median_odh = median(network_share, holdout.baseline, holdout.correction)
    of_network, of_baseline = (
        np.quantile((np.abs(log_odh - each_odh) / holdout.spread)[valid_odh], 0.8)
        for each_odh in (median_odh, holdout.baseline)
    )
    if not of_baseline > 0:
        return 1.0
    ratio = np.clip(of_network / of_baseline, MIN_NARROWING, MAX_NARROWING)
    n_days = len(valid_odh)
    return float(ratio ** (n_days / (n_days + NARROWING_DAYS)))
