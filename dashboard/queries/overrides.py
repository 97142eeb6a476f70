"""Queries of what planners have written: overrides, settings of cities, decisions on vans."""

import pandas as pd
import streamlit as st

from dashboard.queries.database import read, read_table
from dashboard.queries.freshness import Freshness
from pipelines.planning import days_ahead
from pipelines.schema.fragments import DEPOT_NAMES

MAX_OVERRIDES = 50


@st.cache_data(max_entries=4, show_spinner=False)
def city_settings(freshness: Freshness) -> pd.DataFrame:
    """The newest saved settings of each city: `days_ahead.city_settings`."""
    return read_table(days_ahead.city_settings, freshness.shown)


@st.cache_data(max_entries=4, show_spinner=False)
def van_decisions(freshness: Freshness) -> pd.DataFrame:
    """The decision that counts of each city and day ahead: `days_ahead.van_decisions`."""
    if freshness.last_decision is None:
        return pd.DataFrame()
    return read_table(days_ahead.van_decisions, freshness.shown)


VAN_DECISION_HISTORY = """
select v.target_on, coalesce(v.kind, '') as kind, v.extra, v.off_road, v.note, v.made_by,
       v.made_at, v.undoes is not null as is_undo, later.undoes is not null as is_undone
from van_decisions v left join van_decisions later on later.undoes = v.decision_id
where v.city = :city order by v.decision_id desc limit :limit
"""


@st.cache_data(max_entries=16, show_spinner=False)
def van_decision_history(city: str, freshness: Freshness) -> pd.DataFrame:
    """The last decisions on the vans of a city, newest first."""
    return read(
        VAN_DECISION_HISTORY, days=["target_on"], city=city, limit=MAX_OVERRIDES
    )


SETTINGS_HISTORY = """
select s.made_at, s.vans, s.orders_per_van, s.service_level, s.drivers_per_van, s.shifts,
       s.made_by, s.undoes is not null as is_undo, later.undoes is not null as is_undone
from city_settings s left join city_settings later on later.undoes = s.settings_id
where s.city = :city order by s.settings_id desc limit :limit
"""


@st.cache_data(max_entries=16, show_spinner=False)
def settings_history(city: str, freshness: Freshness) -> pd.DataFrame:
    """The last settings of a city, newest first; vans and orders_per_van NaN: estimated."""
    numbers = ["vans", "orders_per_van"]
    return read(SETTINGS_HISTORY, numbers=numbers, city=city, limit=MAX_OVERRIDES)


@st.cache_data(max_entries=4, show_spinner=False)
def busy_day_orders(freshness: Freshness) -> pd.DataFrame:
    """Orders of each city on a busy day: `days_ahead.busy_day_orders`."""
    return read_table(days_ahead.busy_day_orders, freshness.shown)


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
