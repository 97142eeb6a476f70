"""Queries of the pipeline: runs, files and missing days."""

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.sql import pipeline as sql

CALENDAR_DAYS, REFUSED_DAYS = 28, 14
MAX_RUNS, MAX_FILES, MAX_REASONS, MAX_DEPOTS = 14, 25, 50, 60


@st.cache_data(ttl=2, max_entries=1, show_spinner=False)
def runs() -> pd.DataFrame:
    """The newest 14 nightly runs and 14 other runs with their steps; refreshed every 2 s.

    Returns:
      run_id, parent_id (NaN for a parent), step, origin_on, state ('running', 'done',
      'failed', 'skipped'), started_at, finished_at, metrics (a dict), error, seconds (of
      a running one, so far): parents newest first, each followed by its steps.
    """
    return read(
        sql.RUNS,
        numbers=["parent_id", "seconds"],
        days=["origin_on"],
        row_limit=MAX_RUNS,
    )


@st.cache_data(max_entries=4, show_spinner=False)
def files(freshness: Freshness) -> pd.DataFrame:
    """The newest 25 loaded files and 25 refused ones, newest first.

    Returns:
      path, kind, accepted, unchanged, rejected (rows; NaN where refused),
      ignored_columns (a list), came_at, refused_because (None where loaded). Refused ones
      are of the last 14 days, and neither fixed nor removed.
    """
    return read(
        sql.FILES,
        numbers=["accepted", "unchanged", "rejected"],
        row_limit=MAX_FILES,
        refused_days=REFUSED_DAYS,
    )


@st.cache_data(max_entries=4, show_spinner=False)
def rejected_rows(freshness: Freshness) -> pd.DataFrame:
    """Rows in quarantine, not replayed, by file and reason; newest file first, 50 at most.

    Returns:
      path, reason, n_rows, first_line, column_name and value (of the first row).
    """
    return read(sql.REJECTED, numbers=["first_line"], row_limit=MAX_REASONS)


@st.cache_data(max_entries=4, show_spinner=False)
def calendar(freshness: Freshness) -> pd.DataFrame:
    """State of the last 28 days of each depot; depots with most missing days first.

    Returns:
      depot_id, name, city, last_on (newest count), states (a list of 28, oldest day
      first: 'counted', 'closed', 'before' the first count, 'missing'), missing (number of
      days), n_depots (in all; 60 are returned).
    """
    return read(
        sql.CALENDAR,
        days=["last_on"],
        since=freshness.newest - timedelta(days=CALENDAR_DAYS - 1),
        until=freshness.newest,
        row_limit=MAX_DEPOTS,
    )
