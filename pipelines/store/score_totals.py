"""Keeps `score_totals` equal to the sums of the scores.

A transaction that changes scores, the time of a scored forecast or the city of a depot
renews the sums.
"""

from datetime import date

import sqlalchemy as sa

from pipelines.schema import score_totals, scores
from pipelines.schema.published_scores import MEASURES, SCORE_MEASURES

SCORE_LOCK = 0x5343_4F52  # "SCOR"

KEY = """
    is_live, target_on, origin_on, city, depot_id, model_version, has_naive, is_nonzero
"""
SUMS = ", ".join(f"sum({measure.strip()})" for measure in MEASURES.split(","))
SUM_ORIGIN = f"""
insert into score_totals ({KEY}, made_at, {MEASURES})
select {KEY}, max(f.made_at), {SUMS}
from ({SCORE_MEASURES}) m
join (
    select depot_id, origin_on, target_on, model_version, made_at from forecasts
) f using (depot_id, origin_on, target_on, model_version)
where origin_on = :origin
group by is_live, origin_on, city, model_version, has_naive, is_nonzero,
         grouping sets (target_on, depot_id)
order by depot_id nulls first, target_on
"""


def lock(connection: sa.Connection) -> None:
    """Locks the scores and their sums until the transaction ends."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(SCORE_LOCK)))


def renew(connection: sa.Connection, origin: date) -> None:
    """Replaces the sums of one origin, in the transaction that changed its scores."""
    lock(connection)
    of_origin = score_totals.c.origin_on == origin
    connection.execute(sa.delete(score_totals).where(of_origin))
    connection.execute(sa.text(SUM_ORIGIN), {"origin": origin})


def renew_if_scored(connection: sa.Connection, origin: date) -> None:
    """Replaces the sums of an origin whose forecasts were replaced, if it has any."""
    scored = sa.select(score_totals).where(score_totals.c.origin_on == origin)
    if connection.scalar(sa.select(sa.exists(scored))):
        renew(connection, origin)


def renew_all(connection: sa.Connection) -> None:
    """Replaces the sums of every origin, inside a transaction."""
    lock(connection)
    connection.execute(sa.delete(score_totals))
    for origin in connection.scalars(sa.select(scores.c.origin_on).distinct()).all():
        renew(connection, origin)
