"""Statements that say which values signals lack in the days ahead."""

from dataclasses import dataclass
from datetime import date, timedelta

import sqlalchemy as sa

EXPECTED_WITHIN = timedelta(days=28)
"""A depot or city with a value within this time is expected to have one of each day ahead."""

SUMMARIES = """
with newest as materialized (
    select distinct signal, depot_id, city, day_on from signal_versions
    where superseded_at is null and not withdrawn
), places as (
    select distinct signal, depot_id, city from newest
    where day_on > :since and day_on <= :newest_on
), missing as (
    select p.signal, count(*) as days, min(ahead.day_on) as first_on
    from places p
    cross join (select cast(:newest_on as date) + n as day_on
                from generate_series(1, :horizon) n) ahead
    where not exists (
        select from newest n
        where (n.signal, n.depot_id, n.city, n.day_on)
              = (p.signal, p.depot_id, p.city, ahead.day_on))
    group by p.signal
)
select distinct signal, coalesce(missing.days, 0) as missing,
       missing.first_on as first_missing_on
from newest left join missing using (signal) order by signal
"""


@dataclass(frozen=True)
class SignalSummary:
    """One signal as it stands.

    `missing` counts the values that the days ahead lack, of depots and cities that had one
    in the last 28 days.
    """

    signal: str
    missing: int
    first_missing_on: date | None


def summaries(
    connection: sa.Connection, newest_on: date | None, horizon: int
) -> list[SignalSummary]:
    """Summarises every signal, in the order of their names.

    The `horizon` days ahead begin after `newest_on`, the last day with demand; None: none.
    """
    newest_on = newest_on or date.min + EXPECTED_WITHIN
    parameters = {
        "newest_on": newest_on,
        "since": newest_on - EXPECTED_WITHIN,
        "horizon": horizon,
    }
    rows = connection.execute(sa.text(SUMMARIES), parameters).mappings()
    return [SignalSummary(**row) for row in rows]
