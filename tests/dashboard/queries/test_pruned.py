"""The pages show the same after old forecasts have been deleted."""

from datetime import timedelta

import pandas as pd
import pytest
import sqlalchemy as sa
import streamlit as st

from dashboard import queries
from dashboard.components.score_filter import PERIODS
from dashboard.queries import ScoreFilter
from pipelines.forecasting.forecast_pruning import delete_old_forecasts
from pipelines.schema import forecasts, scores
from pipelines.settings import Settings
from pipelines.store import score_totals

pytestmark = pytest.mark.db

LEAST = 365
"""The fewest days that the setting keeps."""
LONGEST_HORIZON = 63
DAYS_AGO = 430


@pytest.fixture
def with_old_ones(seeded, clean_engine):
    """The seeded forecasts and scores, and the same 430 days earlier."""
    with clean_engine.begin() as connection:
        for table in (forecasts, scores):
            rows = connection.execute(sa.select(table)).mappings().all()
            back = timedelta(days=DAYS_AGO)
            earlier = [
                {
                    **row,
                    "origin_on": row["origin_on"] - back,
                    "target_on": row["target_on"] - back,
                }
                for row in rows
            ]
            connection.execute(sa.insert(table), earlier)
        score_totals.renew_all(connection)
    st.cache_data.clear()


def shown():
    """Scores and the week ahead as the pages show them, for the longest period."""
    freshness = queries.freshness()
    longest = max(map(int, PERIODS))
    tables = []
    for live in (True, False):
        scope = ScoreFilter(live=live, days_back=longest)
        of_depot = ScoreFilter(live=live, depot="LON-01", days_back=longest)
        tables += [
            queries.accuracy(scope, freshness),
            queries.accuracy(of_depot, freshness),
            queries.depot_accuracy(scope, freshness),
            queries.largest_errors(scope, freshness),
        ]
    return [*tables, queries.fleet_week(freshness)]


def count(engine):
    with engine.connect() as connection:
        return [
            connection.scalar(sa.select(sa.func.count()).select_from(table))
            for table in (forecasts, scores)
        ]


def test_pages_show_the_same_numbers_after_the_deletion(
    with_old_ones, clean_engine, tmp_path
):
    before, rows = shown(), count(clean_engine)
    settings = Settings(home=tmp_path, keep_forecasts_days=LEAST)
    outcome = delete_old_forecasts(clean_engine, settings)
    assert sum(count(clean_engine)) == sum(rows) - outcome.rows
    assert outcome.rows > 0
    st.cache_data.clear()
    assert not before[0].empty
    for one, other in zip(before, shown(), strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_no_page_looks_back_further_than_the_least_that_is_kept():
    [least] = [
        each.ge
        for each in Settings.model_fields["keep_forecasts_days"].metadata
        if hasattr(each, "ge")
    ]
    assert least == LEAST
    assert max(map(int, PERIODS)) + LONGEST_HORIZON < least
