"""SQL for the active depots, whose time zones decide which day the fleet has completed."""

ACTIVE_DAYS = 28
"""Days without a count after which a depot is no longer active."""
NEWEST_COUNT = """
select max(service_on) from demand_versions where superseded_at is null and orders is not null
"""
"""The newest day on which any depot has known demand."""
ACTIVE_ZONES = f"""
    select d.timezone, count(*) as depots
    from depots d
    cross join ({NEWEST_COUNT}) newest_count (day_on)
    where coalesce(d.closed_on > coalesce(newest_count.day_on, current_date), true)
      and (newest_count.day_on is null or exists (
          select from demand_versions v
          where v.depot_id = d.depot_id and v.superseded_at is null
            and v.orders is not null and v.service_on > newest_count.day_on - {ACTIVE_DAYS}))
    group by d.timezone
"""
"""Number of active depots per time zone: `timezone`, `depots`.

A depot is active if it is not closed for good and has a count in the four weeks up to the
newest counted day. Before the fleet's first count, every depot that is not closed is active.
"""
