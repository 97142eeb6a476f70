"""Queries of the whole fleet: totals, depots by day, and models."""

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.sql import fleet as sql

FLEET_DAYS = 21
FORTNIGHT = timedelta(days=14)
MAX_MODELS = 100


@st.cache_data(max_entries=64, show_spinner=False)
def daily_totals(city: str, freshness: Freshness) -> pd.DataFrame:
    """Orders per day of a city, or of all ('').

    Returns:
      day_on, actual (NaN for days ahead, and where no depot's count is known), p50 (sum
      of the depots' medians; NaN for days past), p10 and p90 (80 % band of the total; NaN
      where it was not forecast), missing (open depots without a count): a row for each of
      the 21 days up to the origin and of the days forecast.
    """
    return read(
        sql.DAILY_TOTALS,
        numbers=["actual", "p10", "p50", "p90"],
        days=["day_on"],
        city=city,
        since=freshness.origin - timedelta(days=FLEET_DAYS - 1),
        origin=freshness.origin,
        model=freshness.model,
        until=freshness.until,
    )


@st.cache_data(max_entries=4, show_spinner=False)
def fleet_week(freshness: Freshness) -> pd.DataFrame:
    """The days ahead of every depot, by city and name; requires a forecast.

    Returns:
      One row per depot and day: depot_id, name, city, vans, last_on (newest known
      demand), is_late (that is overdue), is_silent (open, but no demand for a fortnight),
      target_on, p10, p50, p90, basis ('model', 'cold_start', 'closed'), week_before
      (orders seven days earlier; NaN if not known, or closed on either day), change
      (fraction by which the depot's days differ from those), p50_before (previous
      forecast of the day), before_on (its origin), revised (fraction by which the depot's
      days differ from those; 0 below half an order a day).
    """
    return read(
        sql.FLEET_WEEK,
        numbers=[
            "vans", "p10", "p50", "p90", "week_before", "change", "p50_before", "revised"
        ],
        days=["last_on", "target_on", "before_on"],
        as_of=freshness.newest,
        since=freshness.lagging_day - FORTNIGHT,
        origin=freshness.origin,
        model=freshness.model,
        until=freshness.until,
    )  # fmt: skip


@st.cache_data(max_entries=4, show_spinner=False)
def models(freshness: Freshness) -> pd.DataFrame:
    """The champion first, then the others, newest first; 100 at most.

    Returns:
      version, role ('champion', 'challenger', 'retired', 'rejected'), trained_through,
      created_at, promoted_at and pruned_at (with a zone; NaT while the artefact exists),
      decision_reason (None before the evaluation), scores (a dict, perhaps empty),
      rollback_target (version, the same in every row; None without a former champion).
    """
    return read(sql.MODELS, days=["trained_through"], row_limit=MAX_MODELS)
