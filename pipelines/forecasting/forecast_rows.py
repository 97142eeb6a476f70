"""Converts a forecast to rows of the tables `forecasts` and `forecast_totals`."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from forecaster.data.panel import Panel
from forecaster.inference.infer import Forecast


def forecast_rows(
    origin: date,
    version: str,
    panel: Panel,
    forecast: Forecast,
    *,
    live: bool,
    made_at: datetime,
    run_id: int | None,
) -> pa.Table:
    """Returns the rows by depot and day, with `store.forecasts.FORECAST_COLUMNS`."""
    n_depots, horizon = forecast.p50_dh.shape
    rows = n_depots * horizon
    targets = [origin + timedelta(days=step) for step in range(1, horizon + 1)]
    return pa.table(
        {
            "depot_id": pa.array(np.repeat(np.array(panel.depot_ids, object), horizon)),
            "origin_on": pa.repeat(pa.scalar(origin), rows),
            "target_on": pa.array(targets * n_depots),
            "model_version": pa.repeat(pa.scalar(version), rows),
            "p10": forecast.p10_dh.ravel(),
            "p50": forecast.p50_dh.ravel(),
            "p90": forecast.p90_dh.ravel(),
            "basis": pa.array(forecast.basis_dh.ravel().tolist()),
            "is_live": pa.repeat(pa.scalar(live), rows),
            "made_at": pa.repeat(pa.scalar(made_at.isoformat()), rows),
            "run_id": pa.repeat(pa.scalar(run_id, pa.int64()), rows),
        }
    )


def total_rows(
    origin: date, version: str, forecast: Forecast
) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of `forecast_totals`, in column order."""
    for total in forecast.totals:
        intervals = zip(total.p10_h, total.p90_h, strict=True)
        for step, (p10, p90) in enumerate(intervals, start=1):
            target = origin + timedelta(days=step)
            yield (total.city, origin, target, version, float(p10), float(p90))
