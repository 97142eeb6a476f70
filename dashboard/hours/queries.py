"""Queries of the hours of the days ahead, and of the running day."""

from datetime import datetime

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from pipelines.schema.running_day import RUNNING_DAY

# Of a city's orders, as its depots share them by the model.
CITY_SHARES = """
select d.city, s.target_on, hours.number - 1 as hour,
       sum(f.p50 * hours.share) / nullif(sum(f.p50), 0) as share,
       max(s.city_concentration) as concentration
from hour_shares s join depots d using (depot_id)
join forecasts f on f.depot_id = s.depot_id and f.target_on = s.target_on
 and f.origin_on = :origin and f.model_version = :model
cross join unnest(s.share) with ordinality as hours (share, number)
where s.origin_on = :origin and (:city = '' or d.city = :city)
group by d.city, s.target_on, hours.number
order by d.city, s.target_on, hours.number
"""


@st.cache_data(max_entries=64, show_spinner=False)
def city_shares(city: str, freshness: Freshness) -> pd.DataFrame:
    """Shares of the hours of the days ahead of a city, or of all (''); requires a forecast.

    Returns:
      city, target_on, hour, share (NaN on a closed day), concentration: 24 rows for each city
      and day; none where orders have no times.
    """
    return read(
        CITY_SHARES,
        numbers=["share"],
        days=["target_on"],
        city=city,
        origin=freshness.origin,
        model=freshness.model,
    )


@st.cache_data(max_entries=4, show_spinner=False)
def running_depots(now: datetime, freshness: Freshness) -> pd.DataFrame:
    """The depots of which orders of the running day have come: see `today.running_cities`."""
    if not freshness.has_hours:
        return pd.DataFrame()
    return read(
        RUNNING_DAY,
        numbers=["part"],
        days=["target_on"],
        now=now,
        origin=freshness.origin,
        model=freshness.model,
    )
