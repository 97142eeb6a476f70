"""SQL for the closed days of depots: by weekday, by opening and closing day, or by an event.

The pipelines and the dashboard both use it.
"""

CLOSURES = """
    select starts_on, ends_on, city, depot_id from events where kind = 'closed'
"""
"""Events that close depots. A statement that uses `is_closed` needs them as CTE `closures`."""


def concerns(event: str, depot: str) -> str:
    """SQL that is true where the scope of a row `event` includes a row `depot` of `depots`.

    An event whose `city` and `depot_id` are both null concerns every depot.
    """
    return (
        f"({event}.depot_id = {depot}.depot_id or {event}.city = {depot}.city "
        f"or ({event}.depot_id is null and {event}.city is null))"
    )


def is_closed_by_rule(day: str, depot: str = "d") -> str:
    """SQL that is true, never null, where the columns of a depot's own row close it on a day."""
    return (
        f"(extract(isodow from {day}) = any({depot}.closed_weekdays) "
        f"or coalesce({day} < {depot}.opened_on, false) "
        f"or coalesce({day} >= {depot}.closed_on, false))"
    )


def is_closed(day: str, depot: str = "d") -> str:
    """SQL that is true, never null, where a depot is known to be closed on a day, given as SQL.

    The statement needs the CTE `closures`: the rows of `CLOSURES`, at least for the days concerned.
    """
    return (
        f"({is_closed_by_rule(day, depot)} or exists ("
        f"select from closures where {day} between closures.starts_on "
        f"and closures.ends_on and {concerns('closures', depot)}))"
    )


CLOSED_BY_EVENT = f"""
select distinct d.depot_id, day_on::date as day_on
from ({CLOSURES}) closures
join depots d on {concerns("closures", "d")}
cross join lateral generate_series(
    greatest(closures.starts_on, cast(:closed_from as date))::timestamp,
    least(closures.ends_on, cast(:closed_to as date)), interval '1 day') as day_on
"""
"""One row for each depot-day that an event closes from `:closed_from` to `:closed_to`. A join
can hash these rows; the bounds keep them few, because an event may end in a thousand years."""
