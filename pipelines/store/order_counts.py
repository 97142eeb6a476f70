"""Counts orders by the depot's local day, only for the days that changed."""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta

import sqlalchemy as sa

SHIFT_DAYS = 2
SHIFT = timedelta(days=SHIFT_DAYS)
"""Maximum time between a service day and an order's wall-clock time, whatever the zones."""
MAX_RANGES = 30
"""Maximum ranges of days counted one by one; beyond it, a single wide range is quicker."""


def local_time(orders: str) -> str:
    """SQL for the local time of an order at its depot, `d`.

    If the file gave a UTC offset, the instant is converted to the depot's time zone; if not, the
    wall-clock time is local already. PostgreSQL handles days of 23 and 25 hours.
    """
    return f"""
    (case when {orders}.utc_offset_minutes is null then {orders}.ordered_local
     else (({orders}.ordered_local - make_interval(mins => {orders}.utc_offset_minutes))
           at time zone 'UTC') at time zone d.timezone end)
"""


# Deletes only the marks that it returns: marks of a load that commits meanwhile stay.
POP_CHANGED_DAYS = """
delete from changed_days returning case when isfinite(day_on) then day_on end
"""
DELETE = "delete from order_counts where service_on between :first and :last"
BY_HOUR = ", ".join(f"count(*) filter (where hour = {hour})" for hour in range(24))
# "offset 0": the local time of an order is computed once, not once for each of the hours.
COUNT = f"""
insert into order_counts (depot_id, service_on, orders, by_hour, file_id, last_file_id, last_time)
select depot_id, local::date, count(*), array[{BY_HOUR}]::integer[], min(file_id),
       max(file_id), max(local)::time
from (
    select *, extract(hour from local)::integer as hour
    from (
        select o.depot_id, o.file_id, {local_time("o")} as local
        from orders o join depots d using (depot_id)
        where o.ordered_local >= :from_local and o.ordered_local < :to_local
        offset 0
    ) as local_orders
    offset 0
) as local_hours
where local::date between :first and :last
group by 1, 2
order by 2, 1
"""
# A service day lies within `SHIFT` of the wall-clock time.
MARK = f"""
insert into changed_days (day_on)
select distinct day + shift
from ({{days}}) days (day)
cross join generate_series(-{SHIFT_DAYS}, {SHIFT_DAYS}) as shift
"""
FIRST, LAST = date(1900, 1, 1), date(2200, 1, 1)


def count_changed_days(connection: sa.Connection, frozen: date | None) -> None:
    """Counts the orders of every marked day from `frozen` on, inside a transaction.

    The caller holds a lock that keeps others from counting meanwhile.
    """
    marks = set(connection.scalars(sa.text(POP_CHANGED_DAYS)))
    since = frozen or FIRST
    if None in marks:
        ranges = [(since, LAST)]
    else:
        ranges = _date_ranges(day for day in marks if day >= since)
    for first, last in ranges:
        days = {"first": first, "last": last}
        local = {"from_local": first - SHIFT, "to_local": last + SHIFT + SHIFT / 2}
        connection.execute(sa.text(DELETE), days)
        connection.execute(sa.text(COUNT), days | local)
    if ranges:
        # The table is joined next, and may have grown from nothing to millions of rows.
        connection.execute(sa.text("analyze order_counts"))


def _date_ranges(days: Iterable[date]) -> list[tuple[date, date]]:
    """Groups consecutive days into ranges (first, last); too many ranges become a single one."""
    ranges: list[tuple[date, date]] = []
    for day in sorted(days):
        if ranges and (day - ranges[-1][1]).days == 1:
            ranges[-1] = (ranges[-1][0], day)
        else:
            ranges.append((day, day))
    return [(ranges[0][0], ranges[-1][1])] if len(ranges) > MAX_RANGES else ranges


def mark_days(
    connection: sa.Connection, days: str, parameters: Mapping[str, object] | None = None
) -> None:
    """Marks every service day to which orders with some wall-clock dates may belong.

    Every writer of orders calls this in the same transaction. `days` selects the dates of the
    rows as written; a second call selects the dates that these rows had before.
    """
    connection.execute(sa.text(MARK.format(days=days)), dict(parameters or {}))


def mark_all(connection: sa.Connection) -> None:
    """Marks every day, for example because a time zone changed, which decides an order's day."""
    connection.execute(
        sa.text("insert into changed_days (day_on) values ('-infinity')")
    )
