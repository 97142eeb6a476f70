"""Queries of the whole fleet: totals, depots by day, and models."""

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import FORTNIGHT, Freshness
from dashboard.sql import fleet as sql

FLEET_DAYS = 21
MAX_MODELS = 100


@st.cache_data(max_entries=64, show_spinner=False)
def daily_totals(city: str, freshness: Freshness) -> pd.DataFrame:
    """Orders per day of a city, or of all ('').

    Returns:
      day_on, actual (NaN for days ahead, and where no depot's count is known), point (the
      planned total, see `pipelines.schema.planned_orders.PLANNED_PARTS`; NaN for days past),
      p10 and p90 (its 80 % band, moved with planners' numbers; NaN where it was not
      forecast), model_point (the total by the model), missing (open depots without a count):
      a row for each of the 21 days up to the origin and of the days forecast.
    """
    return read(
        sql.DAILY_TOTALS,
        numbers=["actual", "p10", "point", "p90", "model_point"],
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
      target_on, point (planned: the planner's number where there is one, else the model's),
      p10, p50, p90 (moved with it; vans are planned from these), basis ('model', 'cold_start',
      'closed'), model_p10, model_p50, model_p90, model_point (the model's own), part and
      model_part (of a planned total, and of the model's), week_before
      (orders seven days earlier; NaN if not known, or closed on either day), change (fraction
      by which the depot's planned days differ from those), point_before (previous forecast of
      the day), before_on (its origin), revised (fraction by which the model's days differ from those; 0 below half
      an order a day); of a day's newest override: override_id (NaN without one), is_set,
      override_reason and made_by (None unless its number counts), overruled_by
      (who made the number over which a later closure wins, else None).
    """
    return read(
        sql.FLEET_WEEK,
        numbers=[
            "vans", "p10", "p50", "p90", "point", "model_p10", "model_p50", "model_p90",
            "model_point", "part", "model_part", "override_id", "week_before", "change", "point_before", "revised",
        ],
        days=["last_on", "target_on", "before_on"],
        as_of=freshness.newest,
        since=freshness.lagging_day - FORTNIGHT,
        origin=freshness.origin,
        model=freshness.model,
        until=freshness.until,
    )  # fmt: skip


@st.cache_data(max_entries=4, show_spinner=False)
def city_bands(freshness: Freshness) -> pd.DataFrame:
    """The 80 % band of each city's total on each day ahead, as the model has it.

    Returns:
      city, target_on, p10, p90; no row where the total was not forecast.
    """
    return read(
        sql.CITY_BANDS,
        numbers=["p10", "p90"],
        days=["target_on"],
        origin=freshness.origin,
        model=freshness.model,
    )


@st.cache_data(max_entries=4, show_spinner=False)
def fleet_events(freshness: Freshness) -> pd.DataFrame:
    """Holidays and events of the last three weeks and the days ahead; requires a forecast.

    Returns:
      day_on, what, is_holiday (then `what` is its name, else a kind), city, depots (number
      of its depots that it is for). Closures are left out.
    """
    return read(
        sql.FLEET_EVENTS,
        days=["day_on"],
        since=freshness.origin - timedelta(days=FLEET_DAYS - 1),
        until=freshness.until,
        origin=freshness.origin,
    )


@st.cache_data(max_entries=4, show_spinner=False)
def last_day(freshness: Freshness) -> pd.DataFrame:
    """The newest known day beside its last live forecast, worst depot first.

    Returns:
      depot_id, name, city, actual (orders; NaN where none are known yet), point (orders; NaN
      where the depot had no live forecast), part (of the total forecast), is_expected
      (forecast, and open).
    """
    return read(
        sql.FORECAST_OF_DAY,
        numbers=["actual", "point", "part"],
        day=freshness.last_on,
        since=freshness.last_on,
    )


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
