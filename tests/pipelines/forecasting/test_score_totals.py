"""The totals equal the sums of the scores, whatever changed them."""

import time
from datetime import UTC, datetime, timedelta
from threading import Thread

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.ingest.load import FileOptions, ingest
from pipelines.schema import (
    demand_versions,
    depots,
    forecasts,
    published_scores,
    score_totals,
    scores,
)
from pipelines.settings import Settings
from pipelines.store.forecasts import replace_forecasts
from pipelines.store.score_totals import lock, renew
from pipelines.store.scores_due import mark_everything
from tests.pipelines.make import (
    START,
    add_fleet,
    forecast_table,
    midnight_after,
    record_model,
    score_known_days,
)

DAYS = 40
LAST = START + timedelta(days=DAYS - 1)
NOW = midnight_after(LAST)
KEY = ["is_live", "origin_on", "city", "model_version", "has_naive", "is_nonzero"]
MEASURES = [measure.strip() for measure in published_scores.MEASURES.split(",")]


def expected_totals(engine, grain):
    """The sums of the scores by plain pandas."""
    with engine.connect() as connection:
        rows = pd.read_sql(sa.select(scores), connection)
        cities = pd.read_sql(sa.select(depots.c.depot_id, depots.c.city), connection)
        key = [column.name for column in scores.primary_key]
        columns = [forecasts.c[name] for name in (*key, "made_at")]
        made = pd.read_sql(sa.select(*columns), connection)
    rows = rows.merge(cities, on="depot_id").merge(made, on=key)
    actual = rows["actual"]
    rows["has_naive"], rows["is_nonzero"] = rows["median4"].notna(), actual > 0
    rows["n"] = 1
    rows["n_in_interval"] = actual.between(rows["p10"], rows["p90"]).astype(int)
    rows["actual_sum"] = actual
    forecasters = {"": "point", "naive_": "seasonal_naive", "median_": "median4"}
    for prefix, column in forecasters.items():
        error = (rows[column] - actual).fillna(0.0)
        rows[f"{prefix}error_sum"] = error
        rows[f"{prefix}abs_error_sum"] = error.abs()
        rows[f"{prefix}ape_sum"] = (error.abs() / actual).where(actual > 0, 0.0)
    grouped = rows.groupby([*KEY, grain])
    return grouped[MEASURES].sum().astype(float).join(grouped["made_at"].max())


def stored_totals(engine, grain):
    of_grain = score_totals.c[grain].is_not(None)
    with engine.connect() as connection:
        rows = pd.read_sql(sa.select(score_totals).where(of_grain), connection)
    rows = rows.set_index([*KEY, grain])[[*MEASURES, "made_at"]].sort_index()
    return rows.astype(dict.fromkeys(MEASURES, float))


def assert_in_step(engine):
    """Both grains equal the sums of the scores; returns the rows by target day."""
    for grain in ("depot_id", "target_on"):
        stored = stored_totals(engine, grain)
        pd.testing.assert_frame_equal(stored, expected_totals(engine, grain))
    return len(stored)


@pytest.fixture
def fleet(clean_engine):
    """Four depots in two cities, some days without orders, forecast by two models."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=4, n_days=DAYS)
        moved = sa.update(depots).where(depots.c.depot_id.in_(["A1", "A3"]))
        connection.execute(moved.values(city="Ghent"))
        for version in ("v", "w"):
            record_model(connection, version, role="retired")
    counting.rebuild(clean_engine, NOW)
    return clean_engine


def forecast(engine, rng, origin, version, *, live=True, hours=28):
    made_at = datetime.combine(origin, datetime.min.time(), UTC)
    rows = []
    for depot in ("A0", "A1", "A2", "A3"):
        for step in range(1, 8):
            p10, point, p50, p90 = np.sort(rng.integers(0, 60, 4)).astype(float)
            rows.append(
                (depot, origin, origin + timedelta(days=step), version, "", p10, p50, p90, point,
                 "model", live, made_at + timedelta(hours=hours), None)
            )  # fmt: skip
    with engine.begin() as connection:
        replace_forecasts(
            connection, origin, version, forecast_table(rows),
            live=live, run_id=0,
        )  # fmt: skip


def test_sums_follow_nights_corrections_closures_hindcasts_and_moves(
    fleet, rng, tmp_path
):
    for back in (30, 12, 9, 4, 1):
        forecast(fleet, rng, LAST - timedelta(days=back), "v")
        assert score_known_days(fleet) > 0
    n_rows = assert_in_step(fleet)
    assert n_rows >= 2 * (7 + 7 + 7 + 4 + 1)

    # A second model of one night, and a hindcast, which stay apart.
    forecast(fleet, rng, LAST - timedelta(days=9), "w", hours=30)
    forecast(fleet, rng, LAST - timedelta(days=20), "w", live=False, hours=500)
    score_known_days(fleet)
    assert assert_in_step(fleet) > n_rows

    # The forecasts that are scored already are made again, and not scored yet.
    forecast(fleet, rng, LAST - timedelta(days=20), "w", live=False, hours=600)
    assert_in_step(fleet)
    score_known_days(fleet)
    assert_in_step(fleet)

    # Counts are corrected, to none on one day; one day turns out not to be known.
    day = LAST - timedelta(days=3)
    for depot, orders in (("A0", 0), ("A1", 99), ("A2", None)):
        mine = (demand_versions.c.depot_id == depot) & (
            demand_versions.c.service_on == day
        )
        with fleet.begin() as connection:
            connection.execute(
                sa.update(demand_versions).where(mine).values(orders=orders)
            )
            mark_everything(connection)
    assert score_known_days(fleet) > 0
    assert_in_step(fleet)

    # A depot is closed for good, which takes scores away.
    with fleet.begin() as connection:
        gone = sa.update(depots).where(depots.c.depot_id == "A3")
        connection.execute(gone.values(closed_on=LAST - timedelta(days=10)))
        mark_everything(connection)
    score_known_days(fleet)
    assert_in_step(fleet)

    # And another moves to a new city.
    file = tmp_path / "depots.csv"
    columns = "depot_id,name,city,timezone,country,subdivision"
    file.write_text(f"{columns}\nA0,A0,Utrecht,UTC,NL,\n")
    ingest(fleet, [str(file)], FileOptions(), Settings())
    assert_in_step(fleet)
    assert "Utrecht" in stored_totals(fleet, "target_on").index.get_level_values("city")


def test_a_depot_moves_while_its_scores_are_written(fleet, rng, tmp_path):
    origin = LAST - timedelta(days=9)
    forecast(fleet, rng, origin, "v")
    score_known_days(fleet)
    file = tmp_path / "depots.csv"
    file.write_text(
        "depot_id,name,city,timezone,country,subdivision\nA0,A0,Utrecht,UTC,NL,\n"
    )
    failed = []

    def move():
        try:
            report = ingest(fleet, [str(file)], FileOptions(), Settings())
            failed.extend(each.reason for each in report.refused)
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    loading = Thread(target=move)
    with fleet.begin() as connection:
        # As `score_origin` begins and ends.
        lock(connection)
        loading.start()
        waits = sa.text("select count(*) from pg_locks where not granted")
        while loading.is_alive():
            with fleet.connect() as other:
                if other.scalar(waits):
                    break
            time.sleep(0.05)
        renew(connection, origin)
    loading.join()
    assert failed == []
    assert_in_step(fleet)
