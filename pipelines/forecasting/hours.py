"""Hourly forecasts of the days ahead, and the running day, from stored data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import sqlalchemy as sa

from forecaster.data.panel import Panel
from forecaster.hours import today
from forecaster.hours.day_shape import (
    WINDOW_DAYS,
    DayShares,
    PastHours,
    SpecialDays,
    day_shares,
)
from forecaster.hours.hourly import (
    forecast_parts,
    hours_of,
    shares_of_hours,
    shares_on_clock,
)
from pipelines.demand.panels import ReadPanels
from pipelines.runs.ledger import Run
from pipelines.schema.running_day import RUNNING_DAY
from pipelines.store import hours as store_hours
from pipelines.store import publications
from pipelines.store.forecasts import read_forecasts

HOUR_SCHEMA = pa.schema(
    {
        "depot_id": pa.string(),
        "city": pa.string(),
        "target_on": pa.date32(),
        "starts_at": pa.timestamp("us", "UTC"),
        "hour": pa.int32(),
        "p10": pa.float64(),
        "p50": pa.float64(),
        "p90": pa.float64(),
        "point": pa.float64(),
        "planned": pa.float64(),
    }
)
PLACES = "select depot_id, city, timezone from depots"


def store_shares(run: Run, read_panels: ReadPanels, origin: date) -> None:
    """Stores the hourly shares of orders for the days of the forecast that is shown.

    Nothing is stored if the forecast that is shown has another origin.
    """
    with run.engine.begin() as connection:
        publications.lock(connection)
        shown = publications.shown(connection)
        if shown is None or shown.origin_on != origin:
            return
        panel = read_panels().with_newest_counts(origin)
        days = store_hours.days_ahead(connection, shown.origin_on, shown.model_version)
        shares = shares_ahead(connection, panel, days)
        store_hours.replace_shares(connection, origin, panel.depot_ids, days, shares)
    run.metrics["has_hours"] = shares is not None


def shares_ahead(
    connection: sa.Connection, panel: Panel, days: Sequence[date]
) -> DayShares | None:
    """Hourly shares of orders on days ahead of a panel; None if orders have no times.

    An hour repeated by a clock change has the share of both its occurrences; a skipped hour has 0.
    """
    special = SpecialDays.of(panel)
    origin, ahead = np.datetime64(panel.origin), np.array(days, "datetime64[D]")
    recent = origin - np.arange(WINDOW_DAYS)
    past = np.union1d(recent, special.evidence_days(origin, ahead))
    count_dtk = store_hours.past_hours(connection, panel.depot_ids, past.tolist())
    # A day that is not known, such as a partial one, may have only some of its hours.
    step_t = (past - np.datetime64(panel.start_on)).astype(int)
    is_known_dt = panel.observed_dt[:, np.maximum(step_t, 0)] & (step_t >= 0)
    count_dtk *= is_known_dt[..., None]
    shares = day_shares(
        PastHours(past, count_dtk, special.on(past)),
        panel.cities,
        ahead,
        special.on(ahead),
        special.holidays,
    )
    if shares is None:
        return None
    return _on_local_days(connection, shares, panel.depot_ids, days)


def _on_local_days(
    connection: sa.Connection,
    shares: DayShares,
    depot_ids: Sequence[str],
    days: Sequence[date],
) -> DayShares:
    """Adapts shares to clock changes in each depot's zone, see `shares_on_clock`."""
    places = connection.execute(sa.text(PLACES))
    zone_of = {place.depot_id: place.timezone for place in places}
    zone_d = np.array([zone_of[depot_id] for depot_id in depot_ids])
    share_dhk = shares.share_dhk.copy()
    for zone, (step, day) in product(np.unique(zone_d), enumerate(days)):
        own_d, hours = zone_d == zone, hours_of(day, ZoneInfo(zone))
        share_dhk[own_d, step] = shares_on_clock(share_dhk[own_d, step], hours)
    return replace(shares, share_dhk=share_dhk)


def forecast_hours(
    connection: sa.Connection, panel: Panel, rows: Sequence[Mapping[str, Any]]
) -> pa.Table:
    """Orders of each hour of a stored forecast, from any origin; see `hourly_forecast`.

    `panel` is the panel of the forecast's origin, and `rows` are from `read_forecasts`.
    """
    days = sorted({row["target_on"] for row in rows})
    shares = shares_ahead(connection, panel, days)
    if shares is None:
        return HOUR_SCHEMA.empty_table()
    of_day = {
        (depot_id, day): share_k
        for depot_id, share_hk in zip(panel.depot_ids, shares.share_dhk, strict=True)
        for day, share_k in zip(days, share_hk, strict=True)
    }
    return hourly_forecast(connection, rows, of_day, shares.concentration)


def hourly_forecast(
    connection: sa.Connection,
    rows: Sequence[Mapping[str, Any]],
    shares: Mapping[tuple[str, date], Sequence[float]],
    concentration: float,
) -> pa.Table:
    """Orders of each hour of the days ahead, by depot and hour.

    The rows have depot_id, target_on, p10, p90, point and planned of each day; days without shares
    are left out.

    Returns:
      A table of `HOUR_SCHEMA`. The means, `point` and `planned`, add up to those of the day; the
      quantiles are whole orders. A depot-day has one row per hour, 23 to 25.
    """
    places = {place.depot_id: place for place in connection.execute(sa.text(PLACES))}
    groups: dict[tuple[str, date], list[Mapping[str, Any]]] = {}
    for row in rows:
        if (row["depot_id"], row["target_on"]) in shares:
            zone = places[row["depot_id"]].timezone
            groups.setdefault((zone, row["target_on"]), []).append(row)
    tables = []
    for (zone, day), own in groups.items():
        hours = hours_of(day, ZoneInfo(zone))
        share_rk = np.array([shares[row["depot_id"], day] for row in own], float)
        share_rh = shares_of_hours(share_rk, hours)
        day_r = {
            name: np.array([row[name] for row in own], float)
            for name in ("point", "p10", "p90", "planned")
        }
        parts = forecast_parts(
            day_r["point"], day_r["p10"], day_r["p90"], share_rh, concentration
        )
        depot_ids = [row["depot_id"] for row in own]
        columns = (
            np.repeat(np.array(depot_ids, object), len(hours)),
            np.repeat([places[depot_id].city for depot_id in depot_ids], len(hours)),
            [day] * parts.mean.size,
            [hour.astimezone(UTC) for hour in hours] * len(own),
            [hour.hour for hour in hours] * len(own),
            *(part.ravel() for part in (parts.p10, parts.p50, parts.p90, parts.mean)),
            (day_r["planned"][:, None] * share_rh).ravel(),
        )
        named = dict(zip(HOUR_SCHEMA.names, columns, strict=True))
        tables.append(pa.table(named, schema=HOUR_SCHEMA))
    if not tables:
        return HOUR_SCHEMA.empty_table()
    return pa.concat_tables(tables).sort_by(
        [("depot_id", "ascending"), ("starts_at", "ascending")]
    )


def stored_hours(connection: sa.Connection, origin: date, version: str) -> pa.Table:
    """Orders of each hour of the forecast that is shown, with the shares stored for it."""
    shares, concentration = store_hours.read_shares(connection, origin)
    rows = read_forecasts(connection, origin, version) if shares else []
    return hourly_forecast(connection, rows, shares, concentration)


def running_day(connection: sa.Connection, now: datetime) -> pd.DataFrame:
    """Orders so far on the running day and their estimated total, by city: `today.running_cities`.

    Empty if no order of the day has come, or orders have no times.
    """
    shown = publications.shown(connection)
    if shown is None:
        return today.running_cities(pd.DataFrame())
    parameters = {"now": now, "origin": shown.origin_on, "model": shown.model_version}
    rows = connection.execute(sa.text(RUNNING_DAY), parameters).mappings().all()
    return today.running_cities(pd.DataFrame(rows))
