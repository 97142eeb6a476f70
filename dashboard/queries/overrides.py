"""Queries of planners' changes: overrides, city settings and decisions on vans."""

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from pipelines.schema.fragments import DEPOT_NAMES

MAX_CHANGES = 50


# The last overrides, decisions on vans and settings of a city, saved by all planners or by one.
# Each kind is sorted by its id, which has an index.
CHANGES = f"""
with names as ({DEPOT_NAMES}), changes as (
    (select 'orders' as what, o.override_id as change_id, o.depot_id, n.name, n.city, o.target_on,
            o.reason as note, o.undoes, o.made_by, o.made_at
     from overrides o join names n using (depot_id)
     where :city in ('', n.city) and coalesce(cast(:planner as text), o.made_by) = o.made_by
     order by o.override_id desc limit cast(:row_limit as integer))
    union all
    (select 'vans', v.decision_id, null, v.city, v.city, v.target_on, v.note, v.undoes, v.made_by,
            v.made_at
     from van_decisions v where :city in ('', v.city) and coalesce(cast(:planner as text), v.made_by) = v.made_by
     order by v.decision_id desc limit cast(:row_limit as integer))
    union all
    (select 'settings', s.settings_id, null, s.city, s.city, null, '', s.undoes, s.made_by,
            s.made_at
     from city_settings s where :city in ('', s.city) and coalesce(cast(:planner as text), s.made_by) = s.made_by
     order by s.settings_id desc limit cast(:row_limit as integer))
)
"""

# Joins each change `c` to its row in its own table.
SAVED = "coalesce(to_jsonb(o), to_jsonb(v), to_jsonb(s)) as saved"
ROWS = """
left join overrides o on c.what = 'orders' and o.override_id = c.change_id
left join van_decisions v on c.what = 'vans' and v.decision_id = c.change_id
left join city_settings s on c.what = 'settings' and s.settings_id = c.change_id
"""

# An undo is newer than the change it takes back, so it is among the rows if that change is.
HISTORY = f"""{CHANGES}
select c.*, {SAVED}, u.change_id is not null as is_undone
from changes c {ROWS} left join changes u on (u.what, u.undoes) = (c.what, c.change_id)
order by c.made_at desc, c.change_id desc limit :row_limit
"""


@st.cache_data(max_entries=64, show_spinner=False)
def changes(city: str, freshness: Freshness) -> pd.DataFrame:
    """The newest 50 changes of a city, or of all if `city` is '', newest first.

    Returns:
      what ('orders', 'vans' or 'settings'), change_id, depot_id (orders only), name (of the depot
      or the city), city, target_on (NaT for settings), note, undoes (change_id that it took back;
      NaN for none), made_by, made_at, saved (its row in its own table, a dict), is_undone.
    """
    return read(
        HISTORY,
        numbers=["undoes"],
        days=["target_on"],
        city=city,
        planner=None,
        row_limit=MAX_CHANGES,
    )


# The rows of a planner's last save in a city: of days ahead, or of settings. Without those that
# somebody has changed since.
NEWEST_CHANGE = f"""{CHANGES}, last as (
    select distinct on (what) what, made_at from changes order by what, change_id desc
)
select c.*, {SAVED}
from changes c {ROWS}
where (c.what, c.made_at) = (select what, made_at from last order by made_at desc limit 1)
  and (c.target_on > :origin) is not false
  and not exists (
    select from overrides later where c.what = 'orders' and later.override_id > c.change_id
      and (later.depot_id, later.target_on) = (c.depot_id, c.target_on))
  and not exists (
    select from van_decisions later where c.what = 'vans' and later.decision_id > c.change_id
      and (later.city, later.target_on) = (c.city, c.target_on))
  and not exists (
    select from city_settings later where c.what = 'settings' and later.city = c.city
      and later.settings_id > c.change_id)
order by c.change_id
"""


@st.cache_data(max_entries=64, show_spinner=False)
def newest_change(planner: str, city: str, freshness: Freshness) -> pd.DataFrame:
    """The rows of a planner's last save in a city; requires a forecast.

    Returns:
      One row per override, or one for the decision or the settings, as `changes` but without
      is_undone. Days up to the origin and days that somebody changed since are left out.
    """
    return read(
        NEWEST_CHANGE,
        numbers=["undoes"],
        days=["target_on"],
        planner=planner.strip(" "),
        city=city,
        origin=freshness.origin,
        row_limit=None,
    )
