"""Of the scores."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.queries.sql import accuracy as statements

SCORED_DAYS = 56
MOST_DEPOTS, MOST_DAYS, MOST_REASONS = 20, 15, 10


@dataclass(frozen=True)
class ScoreKinds:
    """Which kinds of forecasts have been scored."""

    has_live: bool
    has_hindcasts: bool


@st.cache_data(max_entries=4, show_spinner=False)
def score_kinds(fresh: Freshness) -> ScoreKinds:  # noqa: ARG001 - keys the cache
    """Which scores there are; `fresh` is part of the cache's key and of nothing else."""
    row = read(statements.SCORE_KINDS).iloc[0]
    return ScoreKinds(bool(row["has_live"]), bool(row["has_hindcasts"]))


@st.cache_data(max_entries=8, show_spinner=False)
def accuracy(live: bool, fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """How far forecasts and baselines were off over the last 8 weeks of scored days.

    Args:
      live: Live forecasts, or hindcasts; never both.
      fresh: Part of the cache's key and of nothing else.

    Returns:
      One row per grain ('all', 'day', 'city', 'model', 'horizon', 'weekday'), its
      day_on, city, model_version, horizon (days ahead) or weekday (Monday is 1), and
      forecaster ('forecast', 'seasonal naive', 'median of 4'): mape,
      wape, bias (forecast - actual, of volume), coverage (of the forecast only) as
      fractions, NaN where undefined; counted (days that MAPE counts): all of them over
      the days that both baselines forecast as well. all_mape and all_counted are the
      forecast's over every scored day.
    """
    return read(
        statements.ACCURACY,
        numbers=["mape", "wape", "bias", "coverage", "all_mape"],
        days=["day_on"],
        live=live,
        days_back=SCORED_DAYS,
    )


@st.cache_data(max_entries=8, show_spinner=False)
def depot_accuracy(live: bool, fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """The 20 depots whose forecasts were most off, worst first.

    Args:
      live: As `accuracy`.
      fresh: Part of the cache's key and of nothing else.

    Returns:
      depot_id, name, city, mape, naive_mape, bias, coverage (fractions), counted (days,
      as `accuracy` counts them), n_depots (in all), is_gated (its newest forecast is the
      plain one).
    """
    return read(
        statements.DEPOT_ACCURACY,
        numbers=["mape", "naive_mape", "bias", "coverage"],
        live=live,
        days_back=SCORED_DAYS,
        most=MOST_DEPOTS,
    )


@st.cache_data(max_entries=8, show_spinner=False)
def worst_days(live: bool, fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """The 15 depot-days that were missed by most orders, worst first.

    Args:
      live: As `accuracy`.
      fresh: Part of the cache's key and of nothing else.

    Returns:
      depot_id, name, city, target_on, actual, p10, p50, p90 (of the last forecast of
      that day), basis, events, holidays (lists, as `depot_days` has them).
    """
    return read(
        statements.WORST_DAYS,
        numbers=["actual", "p10", "p50", "p90"],
        days=["target_on"],
        live=live,
        days_back=SCORED_DAYS,
        most=MOST_DAYS,
    )


@st.cache_data(max_entries=4, show_spinner=False)
def value_of_overrides(fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """Whether planners knew better, by reason.

    Args:
      fresh: Part of the cache's key and of nothing else.

    Returns:
      reason (None in the first row, which is of all), counted (days), naive_mape,
      forecast_mape, override_mape (fractions): the most frequent reasons first. Empty
      before any changed day is known.
    """
    return read(
        statements.VALUE_OF_OVERRIDES,
        numbers=["naive_mape", "forecast_mape", "override_mape"],
        most=MOST_REASONS + 1,
    )
