"""Statements for forecasts, their totals and their scores.

Forecasts and totals are written by COPY: `replace_forecasts` and `replace_totals`. Scores are
written by `score_origin`, with `insert into scores`.
"""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from pipelines.schema import forecast_totals, forecasts, reader_views, scores
from pipelines.schema.closures import CLOSED_BY_EVENT, is_closed_by_rule
from pipelines.store import score_totals, scores_due, temporary
from pipelines.store.copying import copy_rows, copy_table
from pipelines.store.scores_due import ScoresDue

FORECAST_COLUMNS = tuple(column.name for column in forecasts.columns)
NAIVE_COLUMNS = ("depot_id", "target_on", "seasonal_naive", "median4")
WRITE_LOCK = 0x464F_5245  # "FORE"; the second key is the origin


def replace_forecasts(
    connection: sa.Connection,
    origin: date,
    model_version: str,
    table: pa.Table,
    *,
    live: bool,
    run_id: int,
    depot_ids: Sequence[str] | None = None,
) -> bool:
    """Replaces one origin's forecasts by one model, unless a stored live forecast is kept.

    A live forecast is replaced only by a live one of the same or a later run: a hindcast would
    remove it from the live scores, and an earlier run had less data. Run ids are compared, because
    a clock may have been ahead. `table` has `FORECAST_COLUMNS`, of `depot_ids` or of all depots. A
    lock keeps others from writing this origin until the transaction ends. Returns False if kept.
    """
    lock = sa.func.pg_advisory_xact_lock(WRITE_LOCK, origin.toordinal())
    connection.execute(sa.select(lock))
    replaced = [
        forecasts.c.origin_on == origin,
        forecasts.c.model_version == model_version,
    ]
    if depot_ids is not None:
        replaced.append(forecasts.c.depot_id.in_(depot_ids))
    is_kept: list[sa.ColumnElement[bool]] = [forecasts.c.is_live]
    if live:
        is_kept.append(forecasts.c.run_id > run_id)
    if connection.scalar(sa.select(sa.exists().where(*replaced, *is_kept))):
        return False
    connection.execute(sa.delete(forecasts).where(*replaced))
    # copy forecasts (...) from stdin
    copy_table(connection, forecasts.name, FORECAST_COLUMNS, table)
    scores_due.mark_origin(connection, origin)
    score_totals.renew_if_scored(connection, origin)
    return True


def replace_totals(
    connection: sa.Connection,
    origin: date,
    model_version: str,
    rows: Iterable[tuple[Any, ...]],
) -> None:
    """Replaces one origin's totals of the fleet and its cities; rows have the table's columns.

    Called in the same transaction as `replace_forecasts`.
    """
    table = forecast_totals
    same = (table.c.origin_on == origin) & (table.c.model_version == model_version)
    connection.execute(sa.delete(table).where(same))
    # copy forecast_totals (...) from stdin
    copy_rows(connection, table.name, [column.name for column in table.columns], rows)


def read_forecasts(
    connection: sa.Connection, origin: date, model_version: str
) -> list[dict[str, Any]]:
    """One origin's forecasts of one model, by depot and day.

    Returns:
      depot_id, origin_on, target_on, p10, p50, p90, point (the model's), planned (the
      planner's number where there is one, else the point), model_version.
    """
    parameters = {"origin": origin, "model": model_version}
    rows = connection.execute(sa.text(READ_FORECASTS), parameters).mappings()
    return [dict(row) for row in rows]


def read_totals(
    connection: sa.Connection, origin: date, model_version: str
) -> list[dict[str, Any]]:
    """One origin's totals of one model: the fleet, then its cities, by day.

    Returns:
      city ('' for the fleet), target_on, planned (the total as on the pages, with planners'
      numbers), point (the model's median of the total), p10 and p90 (the model's interval).
    """
    parameters = {"origin": origin, "model": model_version}
    rows = connection.execute(sa.text(READ_TOTALS), parameters).mappings()
    return [dict(row) for row in rows]


def origins_to_score(connection: sa.Connection, due: ScoresDue) -> dict[date, int]:
    """Origins with forecasts to score, each with the largest horizon of these forecasts.

    A forecast is to be scored if it has an actual but no score, if its score uses an earlier
    count or forecast, or if it has a score but its day is no longer observed or was closed.
    """
    if not due.due_ids:
        return {}
    parameters = {
        "everything": due.is_everything,
        "origins": due.origins,
        "targets": due.targets,
        **_span(connection),
    }
    rows = connection.execute(sa.text(ORIGINS_TO_SCORE), parameters)
    return {row.origin_on: row.days_ahead for row in rows}


def score_origin(
    connection: sa.Connection, origin: date, days_ahead: int, naive: pa.Table
) -> int:
    """Scores an origin's forecasts whose score is missing or stale, and returns their number.

    Correct scores stay; scores of days that are no longer observed, or were closed, are deleted.
    `naive` has `NAIVE_COLUMNS` from the same origin for every depot and `days_ahead` days, null
    where there is no naive forecast. Scores of later days are not touched.
    """
    score_totals.lock(connection)
    connection.execute(sa.text(NAIVE_TABLE))
    copy_table(connection, "naive_now", NAIVE_COLUMNS, naive)
    parameters = {
        "origin": origin,
        "until": origin + timedelta(days=days_ahead),
        **_span(connection, forecasts.c.origin_on == origin),
    }
    temporary.create(connection, "to_score", TO_SCORE, parameters)
    connection.execute(sa.text(DROP_STALE_SCORES), parameters)
    scored = connection.execute(sa.text(SCORE_MISSING))
    connection.execute(sa.text("drop table naive_now"))
    score_totals.renew(connection, origin)
    return scored.rowcount


def _span(
    connection: sa.Connection, *conditions: sa.ColumnElement[bool]
) -> dict[str, date]:
    """First and last target day of forecasts, for `CLOSED_BY_EVENT`."""
    first, last = (of(forecasts.c.target_on) for of in (sa.func.min, sa.func.max))
    span = sa.select(first.label("closed_from"), last.label("closed_to"))
    return dict(connection.execute(span.where(*conditions)).mappings().one())


def has_scores(connection: sa.Connection) -> bool:
    """Whether any forecast has been scored."""
    return bool(connection.scalar(sa.select(sa.exists(sa.select(scores)))))


READ_FORECASTS = f"""
select depot_id, origin_on, target_on, p10, p50, p90, point, planned, model_version
from ({reader_views.FORECASTS}) f
order by depot_id, target_on
"""
READ_TOTALS = f"""
select city, target_on, p10, p50 as point, p90, planned from ({reader_views.TOTALS}) t
order by city, target_on
"""
# Forecasts with an actual, on days that were open as far as is known now: a closure may be
# announced or withdrawn after the forecast.
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
IS_DUE = (
    "(:everything or {0}.origin_on = any(:origins) or {0}.target_on = any(:targets))"
)
ORIGINS_TO_SCORE = f"""
with closed_by_event as materialized ({CLOSED_BY_EVENT})
select origin_on, max(target_on - origin_on) as days_ahead from (
    select f.depot_id, f.origin_on, f.target_on, f.model_version, f.p10, f.p50, f.p90,
           f.point, f.is_live, v.orders {WITH_ACTUALS} and {IS_DUE.format("f")}
) current
full join (select s.* from scores s where {IS_DUE.format("s")}) s
  using (depot_id, origin_on, target_on, model_version)
where (s.actual, s.p10, s.p50, s.p90, s.point, s.is_live)
      is distinct from (current.orders, current.p10, current.p50, current.p90,
                        current.point, current.is_live)
group by origin_on
order by origin_on
"""
NAIVE_TABLE = """
create temporary table naive_now (
    depot_id text, target_on date, seasonal_naive double precision,
    median4 double precision, primary key (depot_id, target_on)
) on commit drop
"""
TO_SCORE = f"""
with closed_by_event as materialized ({CLOSED_BY_EVENT})
select f.*, v.orders as actual {WITH_ACTUALS}
  and f.origin_on = :origin and f.target_on <= :until
"""
DROP_STALE_SCORES = """
delete from scores s
where s.origin_on = :origin and s.target_on <= :until and not exists (
    select from to_score f
    where (f.depot_id, f.target_on, f.model_version)
          = (s.depot_id, s.target_on, s.model_version)
      and (f.actual, f.p10, f.p50, f.p90, f.point, f.is_live)
          = (s.actual, s.p10, s.p50, s.p90, s.point, s.is_live))
"""
SCORE_MISSING = """
insert into scores (depot_id, origin_on, target_on, model_version, actual, p10, p50,
                    p90, point, seasonal_naive, median4, is_live)
select f.depot_id, f.origin_on, f.target_on, f.model_version, f.actual, f.p10, f.p50,
       f.p90, f.point, b.seasonal_naive, b.median4, f.is_live
from to_score f
left join naive_now b using (depot_id, target_on)
where not exists (
    select from scores s
    where (s.depot_id, s.origin_on, s.target_on, s.model_version)
          = (f.depot_id, f.origin_on, f.target_on, f.model_version))
"""
