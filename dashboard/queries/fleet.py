"""Queries of the whole fleet: totals, depots by day, the running day, and models with their files."""

from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pandas as pd
import streamlit as st

from dashboard.queries.database import read, read_table, settings
from dashboard.queries.freshness import Freshness, zone
from forecaster.hours import today
from forecaster.inference import artefact
from forecaster.inference.artefact import Artefact
from pipelines.planning import days_ahead
from pipelines.planning.days_ahead import FLEET_DAYS, TODAY, is_ahead
from pipelines.schema.closures import is_closed
from pipelines.schema.fragments import CLOSURES, COUNTS, DAYS, FIRST_COUNT
from pipelines.schema.planned_orders import PLANNED_PARTS
from pipelines.schema.running_day import RUNNING_DAY

MAX_MODELS = 100


# From its first count on, a depot counts as missing on each open day without a count.
DAILY_TOTALS = f"""
with closures as ({CLOSURES}), scope as (
    select d.*, first_count.first_on
    from depots d
    {FIRST_COUNT}
    where :city = '' or d.city = :city
), days as ({DAYS}), counts as materialized ({COUNTS}), past as (
    select g.day_on, sum(v.orders)::float8 as actual,
           count(*) filter (where v.orders is null and g.day_on >= s.first_on
                                  and not {is_closed("g.day_on", "s")}) as missing
    from days g cross join scope s
    left join counts v on v.depot_id = s.depot_id and v.service_on = g.day_on
    group by g.day_on
), ahead as (
    select f.target_on as day_on, sum(part) as point,
           sum(part) / nullif(sum(model_part), 0) as ratio,
           min(case when :city = '' then fleet_p10 else city_p10 end) as p10,
           min(case when :city = '' then fleet_p90 else city_p90 end) as p90
    from ({PLANNED_PARTS}) f join scope d using (depot_id)
    where f.target_on <= :until
    group by f.target_on
    having bool_or({is_ahead(TODAY)})
)
select day_on, case when point is null then actual end as actual, point,
       -- A planner's number where the model has none has no band, as in `PLANNED_FORECASTS`.
       coalesce(ratio * p10, nullif(point, 0), p10) as p10,
       coalesce(ratio * p90, nullif(point, 0), p90) as p90,
       case when point is null then coalesce(missing, 0) else 0 end as missing
from days left join past using (day_on) left join ahead using (day_on)
order by day_on
"""


@st.cache_data(max_entries=64, show_spinner=False)
def daily_totals(
    city: str, freshness: Freshness, n_days: int = FLEET_DAYS
) -> pd.DataFrame:
    """Orders per day of a city, or of all cities ('').

    Returns:
      A row for each day from `n_days - 1` before the origin to the forecast's last: day_on, actual
      (NaN for days ahead, and where no depot's count is known), point (the planned total, see
      `pipelines.schema.planned_orders.PLANNED_PARTS`; NaN for days that are over at every depot,
      unless the whole forecast is over), p10 and p90 (its 80 % band, moved with planners'
      numbers), missing (number of open depots without a count).
    """
    return read(
        DAILY_TOTALS,
        numbers=["actual", "p10", "point", "p90"],
        days=["day_on"],
        city=city,
        since=freshness.origin - timedelta(days=n_days - 1),
        origin=freshness.origin,
        model=freshness.model,
        until=freshness.until,
        now=freshness.day_began_at,
    )


@st.cache_data(max_entries=4, show_spinner=False)
def fleet_week(freshness: Freshness) -> pd.DataFrame:
    """`days_ahead.fleet_week`, the days ahead of every depot; requires a forecast."""
    return read_table(days_ahead.fleet_week, freshness.shown)


@st.cache_data(max_entries=4, show_spinner=False)
def city_shares(freshness: Freshness) -> pd.DataFrame:
    """`days_ahead.city_shares`, each city's hourly shares; empty if the forecast has none."""
    if not freshness.has_hours:
        return pd.DataFrame()
    return read_table(days_ahead.city_shares, freshness.shown)


@st.cache_data(max_entries=4, show_spinner=False)
def fleet_events(freshness: Freshness, n_days: int = FLEET_DAYS) -> pd.DataFrame:
    """`days_ahead.fleet_events`, past and coming holidays and events; requires a forecast."""
    return read_table(partial(days_ahead.fleet_events, n_days=n_days), freshness.shown)


@st.cache_data(max_entries=4, show_spinner=False)
def last_day(freshness: Freshness) -> pd.DataFrame:
    """`days_ahead.last_day`, the newest known day with its last live forecast."""
    return read_table(days_ahead.last_day, freshness.shown)


def clock() -> datetime:
    """The end of the current ten-minute interval, as a cache key: no order so far is later."""
    now = datetime.now(zone())
    return now.replace(minute=now.minute // 10 * 10 + 9, second=59, microsecond=0)


@st.cache_data(max_entries=4, show_spinner=False)
def running_depots(now: datetime, freshness: Freshness) -> pd.DataFrame:
    """Depots with orders of the running day, as `today.running_depots` takes them."""
    if not freshness.has_hours:
        return pd.DataFrame()
    shown = {"origin": freshness.origin, "model": freshness.model}
    numbers = ["part", "model_part", "point", "p10", "p50", "p90"]
    return read(RUNNING_DAY, numbers=numbers, days=["target_on"], now=now, **shown)


# Cached because a form reruns at every change of a field.
@st.cache_data(max_entries=4, show_spinner=False)
def running_cities(now: datetime, freshness: Freshness) -> pd.DataFrame:
    """`today.running_cities` at a time from `clock`."""
    return today.running_cities(running_depots(now, freshness))


# Evaluation models are left out: their scores are stored with the model that they evaluate.
MODELS = """
select version, role, trained_through, created_at, promoted_at, pruned_at,
       decision_reason, scores
from models
where role <> 'evaluation'
order by (role = 'champion') desc, created_at desc, version desc
limit :row_limit
"""


@st.cache_data(max_entries=4, show_spinner=False)
def models(freshness: Freshness) -> pd.DataFrame:
    """At most 100 models: the champion first, then the others, newest first.

    Returns:
      version, role ('champion', 'challenger', 'retired', 'rejected', 'hindcast'),
      trained_through, created_at, promoted_at (NaT if never), pruned_at (NaT while the artefact
      exists), decision_reason (None before the evaluation), scores (a dict, perhaps empty).
    """
    return read(MODELS, days=["trained_through"], row_limit=MAX_MODELS)


def load_model(freshness: Freshness) -> Artefact:
    """Loads the artefact of the model that made the published forecast.

    Raises:
      ArtefactError: its file is missing, unusable, or not the one recorded.
    """
    return _load(settings().artefacts / str(freshness.filename), str(freshness.sha256))


@st.cache_resource(max_entries=2, show_spinner=False)
def _load(path: Path, sha256: str) -> Artefact:
    return artefact.load(path, sha256)
