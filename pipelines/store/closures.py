"""Which days a depot is known to be closed: by its weekdays, its life, or an event."""


def is_closed(day: str, depot: str = "d") -> str:
    """SQL that is true, never null, where a depot does not open on a day.

    Events are not looked at: see `CLOSED_BY_EVENT`.

    Args:
      day: A date, as SQL.
      depot: Alias of a row of `depots`.
    """
    return (
        f"(extract(isodow from {day}) = any({depot}.closed_weekdays) "
        f"or coalesce({day} < {depot}.opened_on, false) "
        f"or coalesce({day} >= {depot}.closed_on, false))"
    )


# One row for each depot and day, so that a join can hash it. An event may end in a
# thousand years, so only days that are asked for are made.
CLOSED_BY_EVENT = """
select distinct d.depot_id, day_on::date as day_on
from events e
join depots d on coalesce(e.depot_id, d.depot_id) = d.depot_id
             and coalesce(e.city, d.city) = d.city
cross join lateral generate_series(
    greatest(e.starts_on, cast(:closed_from as date)),
    least(e.ends_on, cast(:closed_to as date)), interval '1 day') as day_on
where e.kind = 'closed'
"""
