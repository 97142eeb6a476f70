"""Forecasts, totals and scores of old origins are deleted, and nothing else."""

from datetime import date, timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.pruning import (
    DeletedForecasts,
    delete_old_forecasts,
)
from pipelines.schema import forecast_totals, forecasts, score_totals, scores
from pipelines.settings import Settings
from pipelines.store import forecasts as forecast_store
from tests.pipelines.make import (
    START,
    add_fleet,
    forecast_table,
    midnight_after,
    query,
    record_model,
    score_known_days,
)

TABLES = (forecasts, forecast_totals, scores)
DAYS = 440
LAST = START + timedelta(days=DAYS - 1)  # 2025-03-15
NOW = midnight_after(LAST)
# `KEEP` days before the last one is March 8: five are older.
ORIGINS = [
    date(2024, 1, 20), date(2024, 1, 30), date(2024, 2, 10), date(2024, 2, 28),
    date(2024, 3, 2), date(2024, 3, 20), date(2025, 3, 8),
]  # fmt: skip
KEEP, FIRST_KEPT = 365, date(2024, 3, 8)


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path, keep_forecasts_days=KEEP)


@pytest.fixture
def fleet(clean_engine, rng):
    """Two depots with forecasts from seven origins, scored."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=2, n_days=DAYS)
        record_model(connection, "v", role="champion")
        for origin in ORIGINS:
            write(connection, origin, rng)
    counting.rebuild(clean_engine, NOW)
    score_known_days(clean_engine)
    return clean_engine


def bounds(rng):
    """The bounds, the median between them and a point."""
    return np.sort(rng.random(4) * 90)[[0, 2, 3, 1]]


def write(connection, origin, rng):
    """Forecasts of both depots and the fleet's total, seven days ahead."""
    days = [origin + timedelta(days=step) for step in range(1, 8)]
    rows = [
        (depot, origin, day, "v", "", *bounds(rng), "model", True, NOW, None)
        for depot in ("A0", "A1")
        for day in days
    ]
    forecast_store.replace_forecasts(
        connection, origin, "v", forecast_table(rows), live=True, run_id=0
    )
    totals = [("", origin, day, "v", *np.sort(rng.random(3) * 90), 1) for day in days]
    forecast_store.replace_totals(connection, origin, "v", totals)


def stored(engine):
    """Every row of the tables, by table."""
    return {
        table.name: {tuple(row) for row in query(engine, sa.select(table))}
        for table in TABLES
    }


def rest(rows, before):
    return {
        name: {row for row in some if row[1] >= before} for name, some in rows.items()
    }


def test_origins_that_are_older_are_deleted_and_others_kept(fleet, settings):
    before = stored(fleet)
    assert [len(rows) for rows in before.values()] == [98, 49, 98]
    outcome = delete_old_forecasts(fleet, settings)
    assert outcome == DeletedForecasts(rows=5 * (14 + 7 + 14), origins=5)
    assert stored(fleet) == rest(before, FIRST_KEPT)
    assert delete_old_forecasts(fleet, settings) == DeletedForecasts(0, 0)


def test_sums_of_the_scores_go_with_them_and_none_is_scored_again(fleet, settings):
    kept = query(
        fleet, sa.select(score_totals).where(score_totals.c.origin_on >= FIRST_KEPT)
    )
    delete_old_forecasts(fleet, settings)
    assert score_known_days(fleet) == 0
    assert query(fleet, sa.select(score_totals)) == kept
    assert len(stored(fleet)["scores"]) == 2 * 14
