"""A forecast as rows of the tables `forecasts` and `forecast_totals`."""

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
    made: Forecast,
    *,
    live: bool,
    made_at: datetime,
    run_id: int | None,
) -> pa.Table:
    """Rows in the order of `store.forecasts.FORECAST_COLUMNS`, by depot and day."""
    n_depots, horizon = made.p50_dh.shape
    rows = n_depots * horizon
    targets = [origin + timedelta(days=step) for step in range(1, horizon + 1)]
    return pa.table(
        {
            "depot_id": pa.array(np.repeat(np.array(panel.depot_ids, object), horizon)),
            "origin_on": pa.repeat(pa.scalar(origin), rows),
            "target_on": pa.array(targets * n_depots),
            "model_version": pa.repeat(pa.scalar(version), rows),
            "p10": made.p10_dh.ravel(),
            "p50": made.p50_dh.ravel(),
            "p90": made.p90_dh.ravel(),
            "basis": pa.array(made.basis_dh.ravel().tolist()),
            "is_live": pa.repeat(pa.scalar(live), rows),
            "made_at": pa.repeat(pa.scalar(made_at.isoformat()), rows),
            "run_id": pa.repeat(pa.scalar(run_id, pa.int64()), rows),
        }
    )


def total_rows(origin: date, version: str, made: Forecast) -> Iterator[tuple[Any, ...]]:
    """Rows in the order of the columns of `forecast_totals`."""
    for total in made.totals:
        bands = zip(total.p10_h, total.p50_h, total.p90_h, strict=True)
        for step, quantiles in enumerate(bands, start=1):
            target = origin + timedelta(days=step)
            yield (total.city, origin, target, version, *map(float, quantiles))
