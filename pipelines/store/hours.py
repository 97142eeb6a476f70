"""Statements for past orders by hour, and for the hour shares of the days ahead."""

from collections.abc import Sequence
from datetime import date

import numpy as np
import sqlalchemy as sa
from jaxtyping import Float32

from forecaster.hours.day_shape import HOURS, DayShares
from pipelines.schema import hour_shares
from pipelines.store.copying import copy_rows

STREAMED = {"stream_results": True, "yield_per": 50_000}
PAST_HOURS = """
select depot_id, service_on, by_hour from order_counts where service_on = any(:days)
"""
DAYS_AHEAD = """
select distinct target_on from forecasts
where origin_on = :origin and model_version = :model order by target_on
"""
SHARES = """
select depot_id, target_on, share, concentration, city_concentration
from hour_shares where origin_on = :origin
"""


def past_hours(
    connection: sa.Connection, depot_ids: Sequence[str], days: Sequence[date]
) -> Float32[np.ndarray, "depot day 24"]:
    """Orders of each depot in each hour of `days`; 0 where there are none."""
    row_of = {depot_id: row for row, depot_id in enumerate(depot_ids)}
    column_of = {day: column for column, day in enumerate(days)}
    count_dtk = np.zeros((len(depot_ids), len(days), HOURS), np.float32)
    rows = connection.execute(
        sa.text(PAST_HOURS), {"days": list(days)}, execution_options=STREAMED
    )
    for part in rows.partitions():
        known = [row for row in part if row.depot_id in row_of]
        if known:
            row_r = [row_of[row.depot_id] for row in known]
            column_r = [column_of[row.service_on] for row in known]
            count_dtk[row_r, column_r] = [row.by_hour for row in known]
    return count_dtk


def days_ahead(connection: sa.Connection, origin: date, model: str) -> list[date]:
    """The target days of a forecast, in order."""
    parameters = {"origin": origin, "model": model}
    return list(connection.scalars(sa.text(DAYS_AHEAD), parameters))


def replace_shares(
    connection: sa.Connection,
    origin: date,
    depot_ids: Sequence[str],
    days: Sequence[date],
    shares: DayShares | None,
) -> None:
    """Replaces all stored hour shares, within a transaction; for None, only deletes them."""
    connection.execute(sa.delete(hour_shares))
    if shares is None:
        return
    spread = (shares.concentration, shares.city_concentration)
    rows = (
        (depot_id, day, origin, share_k.tolist(), *spread)
        for depot_id, share_hk in zip(depot_ids, shares.share_dhk, strict=True)
        for day, share_k in zip(days, share_hk, strict=True)
    )
    # copy hour_shares (...) from stdin
    columns = [column.name for column in hour_shares.columns]
    copy_rows(connection, hour_shares.name, columns, rows)


def read_shares(
    connection: sa.Connection, origin: date
) -> tuple[dict[tuple[str, date], list[float]], float]:
    """Hour shares of an origin by depot and day, and the depots' concentration (0 if none)."""
    rows = connection.execute(sa.text(SHARES), {"origin": origin}).all()
    shares = {(row.depot_id, row.target_on): row.share for row in rows}
    return shares, rows[0].concentration if rows else 0.0
