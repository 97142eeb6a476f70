"""Widens the intervals of depots whose newest days of data are missing.

Their forecast for tomorrow is forecast from an older day, so it is as uncertain as a forecast
for a day further ahead.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Float32, Int

from forecaster.data.panel import Panel
from forecaster.inference import totals
from forecaster.inference.artefact import Artefact
from forecaster.inference.infer import Forecast
from forecaster.inference.totals import Bands

MIN_WIDENING = 1.05
"""Minimum factor per missing day, used where the artefact's table is flat."""


def widen_intervals(
    forecast: Forecast, loaded: Artefact, panel: Panel, missing: Mapping[str, int]
) -> Forecast:
    """Returns the forecast with wider intervals for late depots; medians are unchanged.

    Args:
      forecast: The forecast from `panel`.
      loaded: The artefact that made it.
      panel: The panel up to the origin.
      missing: Number of missing open days of each late depot, from
        `store.feed_freshness.missing_days`.
    """
    missing_d = np.array([missing.get(depot, 0) for depot in panel.depot_ids], int)
    if not missing_d.any():
        return forecast
    table = loaded.intervals
    log_dh = np.log1p(forecast.p50_dh)
    low_dh = (np.log1p(forecast.p10_dh) - log_dh) * _factors(table.low_h, missing_d)
    high_dh = (np.log1p(forecast.p90_dh) - log_dh) * _factors(table.high_h, missing_d)
    p10_dh = np.maximum(np.expm1(log_dh + low_dh), 0.0)
    late_d = missing_d[:, None] > 0
    bands = Bands(
        np.where(late_d, np.minimum(p10_dh, forecast.p50_dh), forecast.p10_dh),
        forecast.p50_dh,
        np.where(
            late_d,
            np.maximum(np.expm1(log_dh + high_dh), forecast.p50_dh),
            forecast.p90_dh,
        ),
    )
    return replace(
        forecast,
        p10_dh=bands.p10,
        p90_dh=bands.p90,
        totals=totals.total_forecasts(loaded.totals, bands, panel.cities),
    )


def _factors(
    reach_h: Float32[np.ndarray, " horizon"], missing_d: Int[np.ndarray, " depot"]
) -> Float[np.ndarray, "depot horizon"]:
    """The factor by which an interval widens for an origin that many days earlier."""
    horizon = len(reach_h)
    step_dh = np.arange(horizon) + missing_d[:, None]
    further_dh = reach_h[np.minimum(step_dh, horizon - 1)].astype(float)
    ones_dh = np.ones_like(further_dh)
    plain_dh = np.broadcast_to(reach_h, further_dh.shape)
    ratio_dh = np.divide(further_dh, plain_dh, out=ones_dh, where=plain_dh != 0)
    return np.maximum(ratio_dh, MIN_WIDENING ** missing_d[:, None])
