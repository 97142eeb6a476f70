"""Wider bands for depots whose newest days have not come.

Their forecast for tomorrow stands on an older day, so it is as unsure as one made for a
day further ahead.
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

LEAST_WIDER = 1.05
"""Each missing day widens by so much at least, where the artefact's table is flat."""


def widen_intervals(
    made: Forecast, loaded: Artefact, panel: Panel, missing: Mapping[str, int]
) -> Forecast:
    """The forecast with wider bands where days are missing; points stay.

    Args:
      made: From `panel`.
      loaded: The artefact that made it.
      panel: Up to the origin.
      missing: Open days that have not come from each late depot, as
        `store.feed_freshness.missing_days` counts them.
    """
    missing_d = np.array([missing.get(depot, 0) for depot in panel.depot_ids], int)
    if not missing_d.any():
        return made
    table = loaded.intervals
    log_dh = np.log1p(made.p50_dh)
    low_dh = (np.log1p(made.p10_dh) - log_dh) * _factors(table.low_h, missing_d)
    high_dh = (np.log1p(made.p90_dh) - log_dh) * _factors(table.high_h, missing_d)
    p10_dh = np.maximum(np.expm1(log_dh + low_dh), 0.0)
    late_d = missing_d[:, None] > 0
    bands = Bands(
        np.where(late_d, np.minimum(p10_dh, made.p50_dh), made.p10_dh),
        made.p50_dh,
        np.where(
            late_d, np.maximum(np.expm1(log_dh + high_dh), made.p50_dh), made.p90_dh
        ),
    )
    return replace(
        made,
        p10_dh=bands.p10,
        p90_dh=bands.p90,
        totals=totals.total_forecasts(loaded.totals, bands, panel.cities),
    )


def _factors(
    reach_h: Float32[np.ndarray, " horizon"], missing_d: Int[np.ndarray, " depot"]
) -> Float[np.ndarray, "depot horizon"]:
    """How much further a band reaches from an origin so many days earlier."""
    horizon = len(reach_h)
    step_dh = np.arange(horizon) + missing_d[:, None]
    further_dh = reach_h[np.minimum(step_dh, horizon - 1)].astype(float)
    ones_dh = np.ones_like(further_dh)
    plain_dh = np.broadcast_to(reach_h, further_dh.shape)
    ratio_dh = np.divide(further_dh, plain_dh, out=ones_dh, where=plain_dh != 0)
    return np.maximum(ratio_dh, LEAST_WIDER ** missing_d[:, None])
