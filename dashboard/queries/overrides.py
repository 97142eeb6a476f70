"""Queries of what planners have written: overrides, settings of cities, decisions on vans."""

import pandas as pd
import streamlit as st

from dashboard.queries.database import read, read_table
from dashboard.queries.freshness import Freshness
from pipelines.planning import days_ahead
from pipelines.schema.fragments import DEPOT_NAMES

MAX_CHANGES = 50


@st.cache_data(max_entries=4, show_spinner=False)
def city_settings(freshness: Freshness) -> pd.DataFrame:
    """The newest saved settings of each city: `days_ahead.city_settings`."""
    return read_table(days_ahead.city_settings, freshness.shown)


@st.cache_data(max_entries=4, show_spinner=False)
def van_decisions(freshness: Freshness) -> pd.DataFrame:
    """The decision that counts of each city and day ahead: `days_ahead.van_decisions`."""
    return read_table(days_ahead.van_decisions, freshness.shown)


@st.cache_data(max_entries=4, show_spinner=False)
def busy_day_orders(freshness: Freshness) -> pd.DataFrame:
    """Orders of each city on a busy day: `days_ahead.busy_day_orders`."""
    return read_table(days_ahead.busy_day_orders, freshness.shown)


# What planners have saved of orders, of the vans of a day, and of settings.
CHANGES = f"""
names as ({DEPOT_NAMES}), changes as not materialized (
    select 'orders' as what, o.override_id as change_id, o.depot_id, n.name, n.city, o.target_on,
           o.reason as note, o.undoes, o.made_by, o.made_at, to_jsonb(o) as saved
    from overrides o join names n using (depot_id)
    union all
    select 'vans', v.decision_id, null, v.city, v.city, v.target_on, v.note, v.undoes, v.made_by,
           v.made_at, to_jsonb(v)
    from van_decisions v
    union all
    select 'settings', s.settings_id, null, s.city, s.city, null, '', s.undoes, s.made_by,
           s.made_at, to_jsonb(s)
    from city_settings s
)
"""

HISTORY = f"""
with {CHANGES}, newest as (
    select * from changes where :city in ('', city)
    order by made_at desc, change_id desc limit :row_limit
)
select c.*, u.change_id is not null as is_undone
from newest c left join changes u on (u.what, u.undoes) = (c.what, c.change_id)
order by c.made_at desc, c.change_id desc
"""


@st.cache_data(max_entries=64, show_spinner=False)
def changes(city: str, freshness: Freshness) -> pd.DataFrame:
    """The newest 50 changes of a city, or of all (''), newest first.

    Returns:
      what ('orders', 'vans' or 'settings'), change_id, depot_id (of orders), name (of the depot or
      the city), city, target_on (NaT of settings), note, undoes (the change that it took back; NaN for
      none), made_by, made_at, saved (its row of the table, a dict), is_undone.
    """
    return read(
        HISTORY,
        numbers=["undoes"],
        days=["target_on"],
        city=city,
        row_limit=MAX_CHANGES,
    )


# What a planner changed last in a city, together: of days ahead, or settings. Nothing that
# somebody changed since.
NEWEST_CHANGE = f"""
with {CHANGES}, own as not materialized (
    select * from changes where made_by = :planner and city = :city
)
select * from own c
where made_at = (select max(made_at) from own) and (target_on > :origin) is not false
  and not exists (
    select from overrides o where c.what = 'orders' and o.override_id > c.change_id
      and (o.depot_id, o.target_on) = (c.depot_id, c.target_on))
  and not exists (
    select from van_decisions v where c.what = 'vans' and v.decision_id > c.change_id
      and (v.city, v.target_on) = (c.city, c.target_on))
  and not exists (
    select from city_settings s where c.what = 'settings' and s.settings_id > c.change_id
      and s.city = c.city)
order by change_id
"""


@st.cache_data(max_entries=64, show_spinner=False)
def newest_change(planner: str, city: str, freshness: Freshness) -> pd.DataFrame:
    """What a planner changed last in a city, together; requires a forecast.

    Returns:
      A row for each override, for the decision, or for the settings, as `changes` without
      is_undone. None of days that are over or that somebody changed since.
    """
    return read(
        NEWEST_CHANGE,
        numbers=["undoes"],
        days=["target_on"],
        planner=planner.strip(),
        city=city,
        origin=freshness.origin,
    )
