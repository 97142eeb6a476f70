"""Sums of the scores by day, origin, city and model, in step with the scores.

Whoever changes what they are made of renews them in the same transaction: the scores,
when a forecast was made, or the city of a depot.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import sqlalchemy as sa

from pipelines.schema import depots, score_totals

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
    connection.execute(
        sa.delete(score_totals).where(score_totals.c.origin_on == origin)
    )
    sums = SUMS.format(where="where s.origin_on = :origin")
    connection.execute(sa.text(sums), {"origin": origin})


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
    connection.execute(sa.delete(score_totals))
    connection.execute(sa.text(SUMS.format(where="")))


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
