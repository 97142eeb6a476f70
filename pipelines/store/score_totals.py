"""Sums of the scores by day, origin, city and model, and by depot, in step with them.

Whoever changes what they are made of renews them in the same transaction: the scores,
when a forecast was made, or the city of a depot.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import sqlalchemy as sa

from pipelines.schema import depot_score_totals, depots, score_totals

SCORE_LOCK = 0x5343_4F52  # "SCOR"

SUMS = """
insert into score_totals (
    is_live, target_on, origin_on, city, model_version, made_at,
    n, n_in_interval, actual_sum, error_sum, abs_error_sum, n_nonzero, ape_sum,
    n_with_naive_nonzero, with_naive_ape_sum, with_naive_naive_ape_sum,
    n_comparable, n_comparable_in_interval,
    comparable_actual_sum, comparable_error_sum, comparable_abs_error_sum,
    naive_error_sum, naive_abs_error_sum, median_error_sum, median_abs_error_sum,
    n_comparable_nonzero, comparable_ape_sum, naive_ape_sum, median_ape_sum)
with weighed as (
    select s.is_live, s.target_on, s.origin_on, d.city, s.model_version, f.made_at,
           s.actual, s.actual between s.p10 and s.p90 as in_interval,
           s.p50 - s.actual as error, s.seasonal_naive - s.actual as naive_error,
           s.median4 - s.actual as median_error, nullif(s.actual, 0) as divisor,
           s.actual > 0 as is_nonzero, s.seasonal_naive is not null as has_naive,
           s.seasonal_naive is not null and s.median4 is not null as is_comparable
    from scores s
    join forecasts f using (depot_id, origin_on, target_on, model_version)
    join depots d using (depot_id)
    {where}
)
select is_live, target_on, origin_on, city, model_version, max(made_at),
       count(*), count(*) filter (where in_interval),
       sum(actual), sum(error), sum(abs(error)),
       count(*) filter (where is_nonzero),
       coalesce(sum(abs(error) / divisor) filter (where is_nonzero), 0),
       count(*) filter (where is_nonzero and has_naive),
       coalesce(sum(abs(error) / divisor) filter (where is_nonzero and has_naive), 0),
       coalesce(sum(abs(naive_error) / divisor) filter (where is_nonzero), 0),
       count(*) filter (where is_comparable),
       count(*) filter (where is_comparable and in_interval),
       coalesce(sum(actual) filter (where is_comparable), 0),
       coalesce(sum(error) filter (where is_comparable), 0),
       coalesce(sum(abs(error)) filter (where is_comparable), 0),
       coalesce(sum(naive_error) filter (where is_comparable), 0),
       coalesce(sum(abs(naive_error)) filter (where is_comparable), 0),
       coalesce(sum(median_error) filter (where is_comparable), 0),
       coalesce(sum(abs(median_error)) filter (where is_comparable), 0),
       count(*) filter (where is_comparable and is_nonzero),
       coalesce(sum(abs(error) / divisor) filter (where is_comparable and is_nonzero), 0),
       coalesce(sum(abs(naive_error) / divisor)
                filter (where is_comparable and is_nonzero), 0),
       coalesce(sum(abs(median_error) / divisor)
                filter (where is_comparable and is_nonzero), 0)
from weighed
group by is_live, target_on, origin_on, city, model_version
"""
OF_DEPOTS = """
select is_live, origin_on, depot_id, model_version, max(made_at) as made_at,
       count(*) as n, count(*) filter (where in_interval) as n_in_interval,
       sum(actual) as actual_sum, sum(error) as error_sum,
       sum(abs(error)) as abs_error_sum,
       count(naive_error) as n_with_naive,
       coalesce(sum(abs(error)) filter (where naive_error is not null), 0)
           as with_naive_abs_error_sum,
       coalesce(sum(abs(naive_error)), 0) as with_naive_naive_abs_error_sum,
       count(*) filter (where is_comparable) as n_comparable_nonzero,
       count(*) filter (where is_comparable and in_interval)
           as n_comparable_nonzero_in_interval,
       coalesce(sum(actual) filter (where is_comparable), 0)
           as comparable_nonzero_actual_sum,
       coalesce(sum(error) filter (where is_comparable), 0)
           as comparable_nonzero_error_sum,
       coalesce(sum(abs(error) / divisor) filter (where is_comparable), 0)
           as comparable_ape_sum,
       coalesce(sum(abs(naive_error) / divisor) filter (where is_comparable), 0)
           as naive_ape_sum,
       coalesce(sum(abs(median_error) / divisor) filter (where is_comparable), 0)
           as median_ape_sum
from (
    select s.is_live, s.origin_on, s.depot_id, s.model_version, f.made_at, s.actual,
           s.actual between s.p10 and s.p90 as in_interval, s.p50 - s.actual as error,
           s.seasonal_naive - s.actual as naive_error,
           s.median4 - s.actual as median_error, nullif(s.actual, 0) as divisor,
           s.actual > 0 and s.seasonal_naive is not null and s.median4 is not null
               as is_comparable
    from scores s
    join forecasts f using (depot_id, origin_on, target_on, model_version)
    {where}
) weighed
group by is_live, origin_on, depot_id, model_version
"""
DEPOT_COLUMNS = """
    is_live, origin_on, depot_id, model_version, made_at,
    n, n_in_interval, actual_sum, error_sum, abs_error_sum,
    n_with_naive, with_naive_abs_error_sum, with_naive_naive_abs_error_sum,
    n_comparable_nonzero, n_comparable_nonzero_in_interval,
    comparable_nonzero_actual_sum, comparable_nonzero_error_sum,
    comparable_ape_sum, naive_ape_sum, median_ape_sum
"""
DEPOT_SUMS = f"insert into depot_score_totals ({DEPOT_COLUMNS}) {OF_DEPOTS}"
BOTH = ((score_totals, SUMS), (depot_score_totals, DEPOT_SUMS))


def lock(connection: sa.Connection) -> None:
    """Lets nobody else change scores or their sums until the transaction ends."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(SCORE_LOCK)))


def renew(connection: sa.Connection, origin: date) -> None:
    """Sums one origin's scores anew.

    Args:
      connection: Inside the transaction that changed them.
      origin: Of the scores.
    """
    lock(connection)
    of_origin = "where s.origin_on = :origin"
    for table, sums in BOTH:
        connection.execute(sa.delete(table).where(table.c.origin_on == origin))
        text = sa.text(sums.format(where=of_origin))
        connection.execute(text, {"origin": origin})


def renew_if_scored(connection: sa.Connection, origin: date) -> None:
    """As `renew`, for an origin whose forecasts were made again.

    Most have no score yet, and nothing is done.
    """
    scored = sa.select(score_totals).where(score_totals.c.origin_on == origin)
    if connection.scalar(sa.select(sa.exists(scored))):
        renew(connection, origin)


def renew_all(connection: sa.Connection) -> None:
    """Sums every score anew, inside a transaction."""
    lock(connection)
    for table, sums in BOTH:
        connection.execute(sa.delete(table))
        connection.execute(sa.text(sums.format(where="")))


@contextmanager
def in_step(connection: sa.Connection, table: str) -> Iterator[None]:
    """Sums every score anew if a depot has moved to another city meanwhile.

    Args:
      connection: Inside the transaction that writes.
      table: What is written; anything but `depots` moves none.
    """
    before = _cities(connection) if table == depots.name else {}
    yield
    if before and before.items() - _cities(connection).items():
        renew_all(connection)


def _cities(connection: sa.Connection) -> dict[str, str]:
    found = connection.execute(sa.select(depots.c.depot_id, depots.c.city))
    return {row.depot_id: row.city for row in found}
