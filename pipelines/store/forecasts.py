"""Statements for forecasts, their totals and their scores."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from pyarrow import csv as arrow_csv

from pipelines.schema import forecast_totals, forecasts, scores
from pipelines.schema.closures import CLOSED_BY_EVENT, is_closed_by_rule
from pipelines.store import score_totals

FORECAST_COLUMNS = tuple(column.name for column in forecasts.columns)
WRITE_LOCK = 0x464F_5245  # "FORE"; beside it the origin


def replace_forecasts(
    connection: sa.Connection,
    origin: date,
    model_version: str,
    table: pa.Table,
    *,
    live: bool,
    made_at: datetime,
    depot_ids: Sequence[str] | None = None,
) -> bool:
    """Replaces one origin's forecasts, unless a stored live forecast is kept.

    A live forecast is replaced only by a live one that was not begun earlier: a hindcast
    would remove it from the live scores, and an earlier run had less data.

    Args:
      connection: Inside a transaction; until it ends nobody else writes this origin.
      origin: Origin of every row.
      model_version: Model of every row.
      table: In the order of `FORECAST_COLUMNS`.
      live: Whether the rows are live forecasts.
      made_at: When the run that made them began, with a time zone.
      depot_ids: Depots whose forecasts are replaced; all by default.

    Returns:
      Whether they were written; False where a live forecast is kept.
    """
    key = sa.func.pg_advisory_xact_lock(WRITE_LOCK, origin.toordinal())
    connection.execute(sa.select(key))
    replaced = [
        forecasts.c.origin_on == origin,
        forecasts.c.model_version == model_version,
    ]
    if depot_ids is not None:
        replaced.append(forecasts.c.depot_id.in_(depot_ids))
    is_kept: list[sa.ColumnElement[bool]] = [forecasts.c.is_live]
    if live:
        is_kept.append(forecasts.c.made_at > made_at)
    if connection.scalar(sa.select(sa.exists().where(*replaced, *is_kept))):
        return False
    connection.execute(sa.delete(forecasts).where(*replaced))
    _copy_table(connection, table)
    score_totals.renew_if_scored(connection, origin)
    return True


def replace_totals(
    connection: sa.Connection,
    origin: date,
    model_version: str,
    rows: Iterable[tuple[Any, ...]],
) -> None:
    """Replaces one origin's totals of the fleet and its cities.

    Args:
      connection: Inside the transaction in which `replace_forecasts` wrote.
      origin: Origin of every row.
      model_version: Model of every row.
      rows: In the order of the table's columns.
    """
    table = forecast_totals
    same = (table.c.origin_on == origin) & (table.c.model_version == model_version)
    connection.execute(sa.delete(table).where(same))
    copy_rows(connection, table.name, [column.name for column in table.columns], rows)


def read_forecasts(
    connection: sa.Connection, origin: date, model_version: str
) -> list[dict[str, Any]]:
    """One origin's forecasts of one model, by depot and day."""
    columns = [
        forecasts.c[name]
        for name in (
            "depot_id", "origin_on", "target_on", "p10", "p50", "p90", "model_version",
        )
    ]  # fmt: skip
    statement = (
        sa.select(*columns)
        .where(
            forecasts.c.origin_on == origin, forecasts.c.model_version == model_version
        )
        .order_by(forecasts.c.depot_id, forecasts.c.target_on)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def read_totals(
    connection: sa.Connection, origin: date, model_version: str
) -> list[dict[str, Any]]:
    """One origin's totals of one model: the fleet, then its cities, by day.

    Returns:
      city ('' for the fleet), target_on, p50 (the sum of the depots', as on the pages),
      p10 and p90 (the interval of the total itself).
    """
    parameters = {"origin": origin, "model": model_version}
    rows = connection.execute(sa.text(TOTALS), parameters).mappings()
    return [dict(row) for row in rows]


def origins_to_score(connection: sa.Connection) -> list[date]:
    """Origins with forecasts to score.

    A forecast has an actual and no score, or a score by an earlier count or forecast; or it
    has a score, and its day is no longer observed or was closed.
    """
    return list(connection.scalars(sa.text(ORIGINS_TO_SCORE), _span(connection)))


def score_origin(
    connection: sa.Connection, origin: date, baselines: Iterable[tuple[Any, ...]]
) -> int:
    """Scores every forecast of an origin that has an actual, and returns how many.

    Args:
      connection: Inside a transaction.
      origin: Origin of the forecasts.
      baselines: depot_id, target_on, seasonal_naive, median4 (None where there is none)
        from the same origin.
    """
    score_totals.lock(connection)
    connection.execute(sa.text(BASELINES_TABLE))
    names = ("depot_id", "target_on", "seasonal_naive", "median4")
    copy_rows(connection, "baselines_now", names, baselines)
    connection.execute(sa.delete(scores).where(scores.c.origin_on == origin))
    parameters = {
        "origin": origin,
        **_span(connection, forecasts.c.origin_on == origin),
    }
    scored = connection.execute(sa.text(SCORE_ORIGIN), parameters)
    connection.execute(sa.text("drop table baselines_now"))
    score_totals.renew(connection, origin)
    return scored.rowcount


def _span(
    connection: sa.Connection, *conditions: sa.ColumnElement[bool]
) -> dict[str, date]:
    """First and last day of forecasts, for `CLOSED_BY_EVENT`."""
    first, last = (of(forecasts.c.target_on) for of in (sa.func.min, sa.func.max))
    span = sa.select(first.label("closed_from"), last.label("closed_to"))
    return dict(connection.execute(span.where(*conditions)).mappings().one())


def has_scores(connection: sa.Connection) -> bool:
    """Whether any forecast has been scored."""
    return bool(connection.scalar(sa.select(sa.exists(sa.select(scores)))))


def copy_rows(
    connection: sa.Connection,
    table: str,
    columns: Iterable[str],
    rows: Iterable[tuple[Any, ...]],
) -> None:
    """Streams rows into a table by COPY, within the connection's transaction."""
    driver = connection.connection.driver_connection
    assert driver is not None, "a connection in use has a driver"
    names = ", ".join(columns)
    with (
        driver.cursor() as cursor,
        cursor.copy(f"copy {table} ({names}) from stdin") as copy,
    ):
        for row in rows:
            copy.write_row(row)


def _copy_table(connection: sa.Connection, table: pa.Table) -> None:
    """Streams rows in the order of `FORECAST_COLUMNS`, as CSV."""
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(table, sink, arrow_csv.WriteOptions(include_header=False))
    driver = connection.connection.driver_connection
    assert driver is not None, "a connection in use has a driver"
    names = ", ".join(FORECAST_COLUMNS)
    with (
        driver.cursor() as cursor,
        cursor.copy(f"copy forecasts ({names}) from stdin (format csv)") as copy,
    ):
        copy.write(memoryview(sink.getvalue()))


TOTALS = """
select t.city, t.target_on, t.p10, sum(f.p50) as p50, t.p90
from forecast_totals t
join depots d on t.city in ('', d.city)
join forecasts f using (depot_id, origin_on, target_on, model_version)
where t.origin_on = :origin and t.model_version = :model
group by t.city, t.target_on, t.p10, t.p90
order by t.city, t.target_on
"""
# Forecast days with an actual that were open as known now: a closure may be announced after
# the forecast, or withdrawn.
WITH_ACTUALS = f"""
from forecasts f
join depots d on d.depot_id = f.depot_id
join demand_versions v
  on v.depot_id = f.depot_id and v.service_on = f.target_on
 and v.superseded_at is null and v.orders is not null
where not {is_closed_by_rule("f.target_on")}
  and not exists (
      select from closed_by_event c
      where c.depot_id = f.depot_id and c.day_on = f.target_on)
"""
ORIGINS_TO_SCORE = f"""
with closed_by_event as materialized ({CLOSED_BY_EVENT})
select distinct origin_on from (
    select f.depot_id, f.origin_on, f.target_on, f.model_version, f.p10, f.p50, f.p90,
           f.is_live, v.orders {WITH_ACTUALS}
) current
full join scores s using (depot_id, origin_on, target_on, model_version)
where (s.actual, s.p10, s.p50, s.p90, s.is_live)
      is distinct from (current.orders, current.p10, current.p50, current.p90, current.is_live)
order by origin_on
"""
BASELINES_TABLE = """
create temporary table baselines_now (
    depot_id text, target_on date, seasonal_naive double precision,
    median4 double precision, primary key (depot_id, target_on)
) on commit drop
"""
SCORE_ORIGIN = f"""
with closed_by_event as materialized ({CLOSED_BY_EVENT})
insert into scores (depot_id, origin_on, target_on, model_version, actual, p10, p50,
                    p90, seasonal_naive, median4, is_live)
select k.depot_id, k.origin_on, k.target_on, k.model_version, k.actual, k.p10, k.p50,
       k.p90, b.seasonal_naive, b.median4, k.is_live
from (select f.*, v.orders as actual {WITH_ACTUALS} and f.origin_on = :origin) k
left join baselines_now b on b.depot_id = k.depot_id and b.target_on = k.target_on
"""
