"""SQL of the planners' overrides."""

from dashboard.sql.shared import DEPOT_NAMES

# The newest of each depot's day; those without a number are of days taken back.
OVERRIDES_AHEAD = """
select distinct on (depot_id, target_on)
       depot_id, target_on, action, orders, reason, made_by, made_at
from overrides
where target_on > :origin
order by depot_id, target_on, override_id desc
"""

OVERRIDE_HISTORY = f"""
with called as ({DEPOT_NAMES})
select o.override_id, o.depot_id, d.name, o.target_on, o.action, o.orders, o.p50,
       o.reason, o.made_by, o.made_at
from overrides o join called d using (depot_id)
where :city = '' or d.city = :city
order by o.override_id desc
limit :row_limit
"""  # noqa: S608 - of our own words
