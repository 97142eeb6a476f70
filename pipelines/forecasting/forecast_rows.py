"""Builds the rows of a forecast for `forecasts` and `forecast_totals`, and stores them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from forecaster.data.panel import Panel
from forecaster.inference.infer import CLOSED, Forecast
from forecaster.inference.totals import FLEET
from pipelines.store import forecasts


@dataclass(frozen=True)
class ForecastKey:
    """Columns that all forecasts of one origin share."""

    origin: date
    version: str
    live: bool
    made_at: datetime
    run_id: int


def write_forecast(
    connection: sa.Connection,
    key: ForecastKey,
    forecast: Forecast,
    panel: Panel,
    only: Sequence[str] | None = None,
) -> int | None:
    """Replaces the stored forecasts and totals of one origin, inside a transaction.

    If `only` names depots, only their rows are replaced, and the totals stay as they are.

    Returns:
      Number of rows written; None where a stored live forecast is kept.
    """
    table = _forecast_table(key, forecast, panel)
    if only is not None:
        chosen = pa.array(only, pa.string())
        table = table.filter(pa.compute.is_in(table["depot_id"], chosen))
    if not forecasts.replace_forecasts(
        connection, key.origin, key.version, table,
        live=key.live, run_id=key.run_id, depot_ids=only,
    ):  # fmt: skip
        return None
    if only is None:
        rows = _total_rows(key, forecast, panel.cities)
        forecasts.replace_totals(connection, key.origin, key.version, rows)
    return len(table)


def _forecast_table(key: ForecastKey, forecast: Forecast, panel: Panel) -> pa.Table:
    """The rows by depot and day, with `forecasts.FORECAST_COLUMNS`."""
    n_depots, horizon = forecast.p50_dh.shape
    rows = n_depots * horizon
    targets = [key.origin + timedelta(days=step) for step in range(1, horizon + 1)]
    return pa.table(
        {
            "depot_id": pa.array(np.repeat(np.array(panel.depot_ids, object), horizon)),
            "origin_on": pa.repeat(pa.scalar(key.origin), rows),
            "target_on": pa.array(targets * n_depots),
            "model_version": pa.repeat(pa.scalar(key.version), rows),
            "city": pa.array(np.repeat(np.array(panel.cities, object), horizon)),
            "p10": forecast.p10_dh.ravel(),
            "p50": forecast.p50_dh.ravel(),
            "p90": forecast.p90_dh.ravel(),
            "point": forecast.point_dh.ravel(),
            "basis": pa.array(forecast.basis_dh.ravel().tolist()),
            "is_live": pa.repeat(pa.scalar(key.live), rows),
            "made_at": pa.repeat(pa.scalar(key.made_at.isoformat()), rows),
            "run_id": pa.repeat(pa.scalar(key.run_id, pa.int64()), rows),
        }
    )


def _total_rows(
    key: ForecastKey, forecast: Forecast, cities: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """The rows of `forecast_totals`, in column order."""
    is_open_dh, city_d = forecast.basis_dh != CLOSED, np.array(cities)
    for total in forecast.totals:
        is_of_d = (city_d == total.city) | (total.city == FLEET)
        open_h = is_open_dh[is_of_d].sum(axis=0)
        days = zip(total.p10_h, total.p50_h, total.p90_h, strict=True)
        for step, quantiles in enumerate(days, start=1):
            target = key.origin + timedelta(days=step)
            row = (total.city, key.origin, target, key.version, *map(float, quantiles))
            yield *row, int(open_h[step - 1])
