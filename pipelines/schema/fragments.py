"""Conditions and sub-queries that several statements share."""

from pipelines.schema import closures

# Display names of depots; the id is added if two depots of a city have the same name.
DEPOT_NAMES = """
    select depot_id, city,
           case when count(*) over (partition by city, name) > 1
                then name || ' · ' || depot_id else name end as name
    from depots
"""

# The days from :since through :until.
DAYS = """
    select cast(:since as date) + n as day_on
    from generate_series(0, cast(:until as date) - cast(:since as date)) as n
"""

# The current demand of the depots in `scope` on the days from :since through :until. `offset 0`
# makes Postgres read it depot by depot through the index, instead of joining the whole history.
COUNTS = """
    select scope.depot_id, v.service_on, v.orders
    from scope cross join lateral (
        select service_on, orders from demand_versions
        where demand_versions.depot_id = scope.depot_id and superseded_at is null
          and service_on between :since and :until
        offset 0
    ) v
"""

# The first day with a count of the depot `d`, as `first_count.first_on`.
FIRST_COUNT = """left join lateral (
        select min(service_on) as first_on from demand_versions v
        where v.depot_id = d.depot_id and superseded_at is null and orders is not null
    ) first_count on true"""

# Whether the event `e` concerns the depot `d`.
IS_FOR_DEPOT = closures.concerns("e", "d")

# Closures that end on :since or later, for the CTE `closures` that `is_closed` needs.
CLOSURES = f"select * from ({closures.CLOSURES}) c where ends_on >= :since"

# Kinds of events and names of holidays of the depot `d` on a day, as two lists.
SPECIAL_OF = f"""
       array(select distinct e.kind from events e
             where {{day}} between e.starts_on and e.ends_on
               and {IS_FOR_DEPOT}
             order by e.kind) as events,
       array(select distinct h.name from public_holidays h
             where h.day_on = {{day}} and h.country = d.country
               and h.subdivision in ('', coalesce(d.subdivision, ''))
             order by h.name) as holidays
"""

# Number of the 7 days before a scored day whose one-day-ahead error has the same sign. The range
# of origins follows from the range of days, and lets Postgres search the primary key.
SAME_SIDE_OF = """
       (select count(distinct s.target_on) from scores s
        where s.depot_id = {score}.depot_id and s.is_live = {score}.is_live
          and s.origin_on between {score}.target_on - 8 and {score}.target_on - 2
          and s.target_on = s.origin_on + 1
          and sign(s.point - s.actual) = sign({score}.point - {score}.actual)) as same_side
"""

# The last publication of the newest origin before a day.
PUBLISHED_BEFORE = """
    select origin_on, model_version, published_at, run_id from publications
    where origin_on < {day} order by origin_on desc, publication_id desc limit 1
"""
