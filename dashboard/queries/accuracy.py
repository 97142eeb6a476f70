"""Queries of forecast scores."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from dashboard.queries.database import read, read_row
from dashboard.queries.freshness import Freshness
from dashboard.sql import accuracy as sql

SCORED_DAYS = 56
"""Days of scores that are shown unless another period is chosen."""
MAX_DEPOTS, MAX_DAYS, MAX_REASONS = 20, 15, 10


@dataclass(frozen=True)
class ScoreKinds:
    """Whether there are scores of live forecasts and of hindcasts."""

    has_live: bool
    has_hindcasts: bool


@dataclass(frozen=True)
class ScoreFilter:
    """The scores that are shown.

    Attributes:
      live: Live forecasts, or hindcasts; never both.
      city: Name of the only city; '' for all.
      depot: depot_id of the only depot; '' for all.
      horizon: The only number of days ahead; 0 for all.
      days_back: Number of days up to the newest scored one.
    """

    live: bool
    city: str = ""
    depot: str = ""
    horizon: int = 0
    days_back: int = SCORED_DAYS


@st.cache_data(max_entries=4, show_spinner=False)
def score_kinds(freshness: Freshness) -> ScoreKinds:
    """Whether there are scores of live forecasts and of hindcasts."""
    return ScoreKinds(**read_row(sql.SCORE_KINDS))


@st.cache_data(max_entries=64, show_spinner=False)
def accuracy(scope: ScoreFilter, freshness: Freshness) -> pd.DataFrame:
    """Scores of forecasts and naive forecasts.

    Returns:
      One row per grain ('all', 'day', 'city', 'model', 'horizon', 'weekday'), its
      day_on, city, model_version, horizon (days ahead) or weekday (Monday is 1), and
      forecaster ('forecast', 'seasonal naive', 'median of 4'): mape,
      wape, bias (forecast - actual, of volume), coverage (of the forecast only) as
      fractions, NaN where undefined; counted (days that MAPE counts): all of them over
      the days that both naive forecasts cover as well. all_mape and all_counted are the
      forecast's over every scored day.
    """
    return read(
        sql.ACCURACY_OF_DEPOT if scope.depot else sql.ACCURACY,
        numbers=["mape", "wape", "bias", "coverage", "all_mape"],
        days=["day_on"],
        **vars(scope),
    )


@st.cache_data(max_entries=64, show_spinner=False)
def depot_accuracy(
    scope: ScoreFilter, by_value: bool, freshness: Freshness
) -> pd.DataFrame:
    """The 20 depots with the lowest forecast value added, or the highest MAPE.

    The depot of `scope` is ignored.

    Returns:
      depot_id, name, city, mape, naive_mape, value_added (naive_mape - mape), bias,
      coverage (fractions), counted (days, as `accuracy` counts them), n_depots (in all),
      is_fallback (its newest forecast is the baseline): worst first.
    """
    return read(
        sql.DEPOT_ACCURACY_OF_HORIZON if scope.horizon else sql.DEPOT_ACCURACY,
        numbers=["mape", "naive_mape", "value_added", "bias", "coverage"],
        by_value=by_value,
        row_limit=MAX_DEPOTS,
        **vars(scope),
    )


@st.cache_data(max_entries=64, show_spinner=False)
def largest_errors(scope: ScoreFilter, freshness: Freshness) -> pd.DataFrame:
    """The 15 depot-days with the largest absolute errors in orders, largest first.

    Returns:
      depot_id, name, city, target_on, actual, p10, point, p90 (of the last forecast of
      that day, or of that many days ahead), basis, events, holidays (lists, as
      `depot_days` has them); override_orders (the planner's number), override_reason and
      made_by of the day's last override, missing without one.
    """
    return read(
        sql.LARGEST_ERRORS,
        numbers=["actual", "p10", "point", "p90", "override_orders"],
        days=["target_on"],
        row_limit=MAX_DAYS,
        **vars(scope),
    )


@st.cache_data(max_entries=4, show_spinner=False)
def override_accuracy(freshness: Freshness) -> pd.DataFrame:
    """MAPE of overrides, forecast and seasonal naive on overridden days, by reason.

    Returns:
      reason (None in the first row, which is of all), counted (days), naive_mape,
      forecast_mape, override_mape (fractions): the most frequent reasons first. Empty
      before any changed day is known.
    """
    return read(
        sql.OVERRIDE_ACCURACY,
        numbers=["naive_mape", "forecast_mape", "override_mape"],
        row_limit=MAX_REASONS + 1,
    )
