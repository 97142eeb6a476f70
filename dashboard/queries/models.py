"""Query of the models."""

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.sql import models as sql

MAX_MODELS = 100


@st.cache_data(max_entries=4, show_spinner=False)
def models(fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """The champion first, then the others, newest first; 100 at most.

    Args:
      fresh: Only keys the cache.

    Returns:
      version, role ('champion', 'challenger', 'retired', 'rejected'), trained_through,
      created_at, promoted_at and pruned_at (with a zone; the last is when its artefact
      was taken away, missing while it is there), decision_reason (None before it was
      judged), scores (as the backtest of its judged fit gave them; a dict, perhaps empty).
    """
    return read(sql.MODELS, days=["trained_through"], row_limit=MAX_MODELS)
