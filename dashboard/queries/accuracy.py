"""Of the scores."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from dashboard.database import read
from dashboard.freshness import Freshness
from dashboard.statements import accuracy as statements

SCORED_DAYS = 56


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
      One row per grain ('all', 'day', 'city', 'model'), its day_on, city or
      model_version, and forecaster ('forecast', 'seasonal naive', 'median of 4'): mape,
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
