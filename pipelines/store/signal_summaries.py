"""Statements that count the values missing from signals on the days ahead."""

from dataclasses import dataclass
from datetime import date, timedelta

import sqlalchemy as sa

EXPECTED_WITHIN = timedelta(days=28)
"""A depot or city with a value within this time is expected to have one for each day ahead."""

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
    """The values that a signal lacks on the days ahead.

    `missing` is their number, for depots and cities that had a value in the last 28 days;
    `first_missing_on` is the first day that lacks one.
    """

    signal: str
    missing: int
    first_missing_on: date | None


def summaries(
    connection: sa.Connection, newest_on: date | None, horizon: int
) -> list[SignalSummary]:
    """Summarises every signal, in the order of their names.

    The `horizon` days ahead begin after `newest_on`, the last day with demand; None without any.
    """
    newest_on = newest_on or date.min + EXPECTED_WITHIN
    parameters = {
        "newest_on": newest_on,
        "since": newest_on - EXPECTED_WITHIN,
        "horizon": horizon,
    }
    rows = connection.execute(sa.text(SUMMARIES), parameters).mappings()
    return [SignalSummary(**row) for row in rows]
