"""Queries of what planners have written: overrides, settings of cities, decisions on vans."""

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.fragments import DEPOT_NAMES
from dashboard.queries.freshness import Freshness

MAX_OVERRIDES = 50
BUSY_DAY_WINDOW = timedelta(weeks=8)
"""Days whose orders show a busy day."""


CITY_SETTINGS = """
select distinct on (city) settings_id, city, vans, orders_per_van, service_level,
       drivers_per_van, shifts, made_by, made_at
from city_settings
order by city, settings_id desc
"""


@st.cache_data(max_entries=4, show_spinner=False)
def city_settings(freshness: Freshness) -> pd.DataFrame:
    """The newest saved settings of each city that has any.

    Returns:
      settings_id, city, vans, orders_per_van, service_level (fraction), drivers_per_van,
      shifts, made_by, made_at.
    """
    return read(CITY_SETTINGS)


VAN_DECISIONS = """
select distinct on (city, target_on) decision_id, city, target_on,
       coalesce(kind, '') as kind, extra, off_road,
       note, made_by, made_at
from van_decisions where target_on > :origin
order by city, target_on, decision_id desc
"""


@st.cache_data(max_entries=4, show_spinner=False)
def van_decisions(freshness: Freshness) -> pd.DataFrame:
    """The newest decision on the vans of each city and day ahead that has any.

    Returns:
      decision_id, city, target_on, kind ('': nothing, or no longer), extra, off_road, note,
      made_by, made_at; none where nobody has ever decided anything.
    """
    if freshness.last_decision is None:
        return pd.DataFrame()
    return read(VAN_DECISIONS, origin=freshness.origin)


VAN_DECISION_HISTORY = """
select target_on, coalesce(kind, '') as kind, extra, off_road, note, made_by, made_at
from van_decisions where city = :city order by decision_id desc limit :limit
"""


@st.cache_data(max_entries=16, show_spinner=False)
def van_decision_history(city: str, freshness: Freshness) -> pd.DataFrame:
    """The last decisions on the vans of a city, newest first."""
    return read(
        VAN_DECISION_HISTORY, days=["target_on"], city=city, limit=MAX_OVERRIDES
    )


# Orders of a city on a busy day: nine days of ten had no more.
BUSY_DAY_ORDERS = """
with days as (
    select d.city, v.service_on, sum(v.orders)::float8 as orders
    from demand_versions v join depots d using (depot_id)
    where v.superseded_at is null and v.orders is not null
      and v.service_on between :since and :until
    group by d.city, v.service_on
)
select city, percentile_cont(0.9) within group (order by orders) as orders
from days group by city order by city
"""


@st.cache_data(max_entries=4, show_spinner=False)
def busy_day_orders(freshness: Freshness) -> pd.DataFrame:
    """Orders of each city on a busy day: the 90th percentile of the last eight weeks' days.

    Returns:
      city, orders (per day).
    """
    return read(
        BUSY_DAY_ORDERS,
        numbers=["orders"],
        since=freshness.newest - BUSY_DAY_WINDOW + timedelta(days=1),
        until=freshness.newest,
    )


OVERRIDE_HISTORY = f"""
with names as ({DEPOT_NAMES})
select o.override_id, o.depot_id, n.name, o.target_on, o.orders, o.undoes, o.point,
       o.reason, o.made_by, o.made_at
from overrides o join names n using (depot_id)
where :city = '' or n.city = :city
order by o.override_id desc
limit :row_limit
"""


@st.cache_data(max_entries=64, show_spinner=False)
def override_history(city: str, freshness: Freshness) -> pd.DataFrame:
    """The newest 50 overrides of a city, or of all (''), newest first.

    Returns:
      override_id, depot_id, name, target_on, orders (the planner's number; NaN: the model's
      again), undoes (the override that it took back; NaN for none), point (the model's
      forecast when it was saved), reason, made_by, made_at.
    """
    return read(
        OVERRIDE_HISTORY,
        numbers=["orders", "undoes", "point"],
        days=["target_on"],
        city=city,
        row_limit=MAX_OVERRIDES,
    )


# What a planner changed last in a city, together, of the days ahead; none of days that somebody
# changed since.
NEWEST_CHANGE = f"""
with names as ({DEPOT_NAMES})
select o.override_id, o.depot_id, n.name, o.target_on, o.orders, o.undoes, o.made_at
from overrides o join names n using (depot_id)
where (o.made_by, o.made_at) = (
    select made_by, made_at from overrides join names using (depot_id)
    where made_by = :planner and city = :city
    order by override_id desc limit 1)
  and n.city = :city and o.target_on > :origin
  and not exists (
    select from overrides later
    where (later.depot_id, later.target_on) = (o.depot_id, o.target_on)
      and later.override_id > o.override_id)
order by o.override_id
"""


@st.cache_data(max_entries=64, show_spinner=False)
def newest_change(planner: str, city: str, freshness: Freshness) -> pd.DataFrame:
    """What a planner changed last in a city, together, of the days ahead; requires a forecast.

    Returns:
      A row for each override: override_id, depot_id, name, target_on, orders, undoes and
      made_at as in `override_history`. None of days that somebody changed since.
    """
    return read(
        NEWEST_CHANGE,
        numbers=["orders", "undoes"],
        days=["target_on"],
        planner=planner.strip(),
        city=city,
        origin=freshness.origin,
    )
