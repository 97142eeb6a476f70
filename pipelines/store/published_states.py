"""States of forecasts and scores by origin; an origin whose state changed is published again."""

from datetime import date

import sqlalchemy as sa

# A forecast whose rows have been deleted is not published again.
FORECAST_STATES = """
select distinct on (p.origin_on) p.origin_on, p.model_version,
       -- With the time: after a restore, numbers are given again.
       concat_ws(' ', p.publication_id, extract(epoch from p.published_at),
                 -- A backfill may replace any but a live forecast.
                 case when not p.is_live then (
                     select extract(epoch from max(f.made_at)) from forecasts f
                     where (f.origin_on, f.model_version) = (p.origin_on, p.model_version))
                 end) as state
from publications p
where exists (
    select from forecasts f
    where (f.origin_on, f.model_version) = (p.origin_on, p.model_version))
order by p.origin_on, p.publication_id desc
"""
# An origin has few sums, and a change of any of its scores replaces them all: their transaction id
# shows the change even if no sum differs. A later publication of the origin changes which scores
# belong to a shown forecast. The sums are included to detect a restored database.
SCORE_STATES = """
select origin_on, '' as model_version,
       concat_ws(' ', max(t.xmin::text::bigint), sum(n), sum(actual_sum), sum(abs_error_sum),
                 (select max(publication_id) from publications p
                  where p.origin_on = t.origin_on)) as state
from score_totals t
where target_on is not null
group by origin_on order by origin_on
"""


def states(connection: sa.Connection, statement: str) -> dict[date, tuple[str, str]]:
    """The model ('' for scores) and the state of each origin, from one of these statements."""
    rows = connection.execute(sa.text(statement))
    return {row.origin_on: (row.model_version, row.state) for row in rows}
