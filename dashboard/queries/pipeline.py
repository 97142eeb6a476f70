"""Queries of the pipeline: runs, files, missing days and backfills."""

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.sql import pipeline as sql

CALENDAR_DAYS, REFUSED_DAYS = 28, 14
MAX_RUNS, MAX_FILES, MAX_REASONS, MAX_BACKFILLS, MAX_DEPOTS = 14, 25, 50, 10, 60


@st.cache_data(ttl=2, max_entries=1, show_spinner=False)
def runs() -> pd.DataFrame:
    """The newest 14 nights and 14 other runs with their steps; refreshed every 2 s.

    Returns:
      run_id, parent_id (NaN for a whole), step, origin_on, state ('running', 'done',
      'failed', 'skipped'), started_at, finished_at, metrics (a dict), error, seconds (it
      took, or has taken so far): wholes newest first, each followed by its steps.
    """
    return read(
        sql.RUNS,
        numbers=["parent_id", "seconds"],
        days=["origin_on"],
        row_limit=MAX_RUNS,
    )


@st.cache_data(max_entries=4, show_spinner=False)
def files(fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """The newest 25 files that were loaded and 25 that were refused, newest first.

    Args:
      fresh: Only keys the cache.

    Returns:
      path, kind, accepted, unchanged, rejected (rows; NaN where refused),
      ignored_columns (a list), came_at, refused_because (None where it was loaded). Of
      those refused, the ones of the last 14 days that nobody has mended or taken away.
    """
    counts = ["accepted", "unchanged", "rejected"]
    return read(
        sql.FILES, numbers=counts, row_limit=MAX_FILES, refused_days=REFUSED_DAYS
    )


@st.cache_data(max_entries=4, show_spinner=False)
def rejected_rows(fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """Rows in quarantine, not replayed, by file and reason; newest file first, 50 at most.

    Args:
      fresh: Only keys the cache.

    Returns:
      path, reason, n_rows, first_line, column_name and value (of the first of them).
    """
    return read(sql.REJECTED, numbers=["first_line"], row_limit=MAX_REASONS)


@st.cache_data(ttl=2, max_entries=1, show_spinner=False)
def backfills() -> pd.DataFrame:
    """The newest 10 backfills and how far they came; refreshed every 2 s.

    Returns:
      backfill_id, created_at, first_on, last_on (ISO days), state, requested_action,
      done, waiting, failed, skipped (slots), estimate_s (of those waiting, NaN where no past
      run tells), error (of the first that failed).
    """
    return read(sql.BACKFILLS, numbers=["estimate_s"], row_limit=MAX_BACKFILLS)


@st.cache_data(max_entries=4, show_spinner=False)
def calendar(fresh: Freshness) -> pd.DataFrame:
    """State of the last 28 days of each depot; depots with most missing days first.

    Args:
      fresh: With known demand.

    Returns:
      depot_id, name, city, last_on (its newest count), states (a list of 28, oldest day
      first: 'counted', 'closed', 'before' its first count, 'missing'), missing (how
      many), n_depots (in all; only 60 are given).
    """
    return read(
        sql.CALENDAR,
        days=["last_on"],
        since=fresh.newest - timedelta(days=CALENDAR_DAYS - 1),
        until=fresh.newest,
        row_limit=MAX_DEPOTS,
    )
