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
    scored, inside, volume, gap, miss, positive, positive_error,
    beside_naive, beside_naive_error, beside_naive_naive_error,
    common, common_inside, common_volume, common_gap, common_miss,
    naive_gap, naive_miss, median_gap, median_miss,
    compared, compared_error, naive_error, median_error)
with weighed as (
    select s.is_live, s.target_on, s.origin_on, d.city, s.model_version, f.made_at,
           s.actual, s.actual between s.p10 and s.p90 as is_inside,
           s.p50 - s.actual as gap, s.seasonal_naive - s.actual as naive_gap,
           s.median4 - s.actual as median_gap, nullif(s.actual, 0) as divisor,
           s.actual > 0 as is_positive, s.seasonal_naive is not null as has_naive,
           s.seasonal_naive is not null and s.median4 is not null as is_common
    from scores s
    join forecasts f using (depot_id, origin_on, target_on, model_version)
    join depots d using (depot_id)
    {where}
)
select is_live, target_on, origin_on, city, model_version, max(made_at),
       count(*), count(*) filter (where is_inside), sum(actual), sum(gap), sum(abs(gap)),
       count(*) filter (where is_positive),
       coalesce(sum(abs(gap) / divisor) filter (where is_positive), 0),
       count(*) filter (where is_positive and has_naive),
       coalesce(sum(abs(gap) / divisor) filter (where is_positive and has_naive), 0),
       coalesce(sum(abs(naive_gap) / divisor) filter (where is_positive), 0),
       count(*) filter (where is_common),
       count(*) filter (where is_common and is_inside),
       coalesce(sum(actual) filter (where is_common), 0),
       coalesce(sum(gap) filter (where is_common), 0),
       coalesce(sum(abs(gap)) filter (where is_common), 0),
       coalesce(sum(naive_gap) filter (where is_common), 0),
       coalesce(sum(abs(naive_gap)) filter (where is_common), 0),
       coalesce(sum(median_gap) filter (where is_common), 0),
       coalesce(sum(abs(median_gap)) filter (where is_common), 0),
       count(*) filter (where is_common and is_positive),
       coalesce(sum(abs(gap) / divisor) filter (where is_common and is_positive), 0),
       coalesce(sum(abs(naive_gap) / divisor)
                filter (where is_common and is_positive), 0),
       coalesce(sum(abs(median_gap) / divisor)
                filter (where is_common and is_positive), 0)
from weighed
group by is_live, target_on, origin_on, city, model_version
"""
OF_DEPOTS = """
select is_live, origin_on, depot_id, model_version, max(made_at) as made_at,
       count(*) as scored, count(*) filter (where is_inside) as inside,
       sum(actual) as volume, sum(gap) as gap, sum(abs(gap)) as miss,
       count(naive_gap) as with_naive,
       coalesce(sum(abs(gap)) filter (where naive_gap is not null), 0)
           as with_naive_miss,
       coalesce(sum(abs(naive_gap)), 0) as with_naive_naive_miss,
       count(*) filter (where is_compared) as compared,
       count(*) filter (where is_compared and is_inside) as compared_inside,
       coalesce(sum(actual) filter (where is_compared), 0) as compared_volume,
       coalesce(sum(gap) filter (where is_compared), 0) as compared_gap,
       coalesce(sum(abs(gap) / divisor) filter (where is_compared), 0)
           as compared_error,
       coalesce(sum(abs(naive_gap) / divisor) filter (where is_compared), 0)
           as naive_error,
       coalesce(sum(abs(median_gap) / divisor) filter (where is_compared), 0)
           as median_error
from (
    select s.is_live, s.origin_on, s.depot_id, s.model_version, f.made_at, s.actual,
           s.actual between s.p10 and s.p90 as is_inside, s.p50 - s.actual as gap,
           s.seasonal_naive - s.actual as naive_gap,
           s.median4 - s.actual as median_gap, nullif(s.actual, 0) as divisor,
           s.actual > 0 and s.seasonal_naive is not null and s.median4 is not null
               as is_compared
    from scores s
    join forecasts f using (depot_id, origin_on, target_on, model_version)
    {where}
) weighed
group by is_live, origin_on, depot_id, model_version
"""
DEPOT_COLUMNS = """
    is_live, origin_on, depot_id, model_version, made_at,
    scored, inside, volume, gap, miss,
    with_naive, with_naive_miss, with_naive_naive_miss,
    compared, compared_inside, compared_volume, compared_gap, compared_error,
    naive_error, median_error
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
