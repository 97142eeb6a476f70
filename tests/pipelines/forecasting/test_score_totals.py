"""Sums of the scores are what the scores say, whatever changed them."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.forecasting import scoring
from pipelines.ingest import FileOptions, ingest
from pipelines.schema import (
    demand_versions,
    depot_score_totals,
    depots,
    forecasts,
    score_totals,
    scores,
)
from pipelines.settings import Settings
from pipelines.store import models as model_store
from pipelines.store.forecasts import replace_forecasts
from tests.pipelines.make import START, add_fleet, forecast_table

pytestmark = pytest.mark.db

UTC_ZONE = ZoneInfo("UTC")
DAYS = 40
LAST = START + timedelta(days=DAYS - 1)
NOW = datetime.combine(LAST + timedelta(days=1), datetime.min.time(), UTC)
FIGURES = [
    column.name
    for column in score_totals.columns
    if not column.primary_key and column.name != "made_at"
]


def reckoned(engine):
    """The sums by plain loops."""
    cells = defaultdict(lambda: dict.fromkeys(FIGURES, 0.0) | {"made_at": None})
    with engine.connect() as connection:
        cities = dict(
            connection.execute(sa.select(depots.c.depot_id, depots.c.city)).all()
        )
        key = [column.name for column in scores.primary_key]
        made = {
            tuple(row[name] for name in key): row["made_at"]
            for row in connection.execute(sa.select(forecasts)).mappings()
        }
        for row in connection.execute(sa.select(scores)).mappings():
            cell = cells[
                row["is_live"], row["target_on"], row["origin_on"],
                cities[row["depot_id"]], row["model_version"],
            ]  # fmt: skip
            made_at = made[tuple(row[name] for name in key)]
            cell["made_at"] = max(made_at, cell["made_at"] or made_at)
            for name, value in of_one(row).items():
                cell[name] += value
    return dict(cells)


def of_one(row):
    actual, naive, median = row["actual"], row["seasonal_naive"], row["median4"]
    inside = row["p10"] <= actual <= row["p90"]
    gap = row["p50"] - actual
    sums = {"n": 1, "n_in_interval": inside, "actual_sum": actual, "error_sum": gap}
    sums |= {"abs_error_sum": abs(gap)}
    if actual > 0:
        sums |= {"n_nonzero": 1, "ape_sum": abs(gap) / actual}
        if naive is not None:
            sums |= {
                "n_with_naive_nonzero": 1,
                "with_naive_ape_sum": abs(gap) / actual,
                "with_naive_naive_ape_sum": abs(naive - actual) / actual,
            }
    if naive is None or median is None:
        return sums
    sums |= {
        "n_comparable": 1, "n_comparable_in_interval": inside,
        "comparable_actual_sum": actual, "comparable_error_sum": gap,
        "comparable_abs_error_sum": abs(gap),
        "naive_error_sum": naive - actual, "naive_abs_error_sum": abs(naive - actual),
        "median_error_sum": median - actual,
        "median_abs_error_sum": abs(median - actual),
    }  # fmt: skip
    if actual > 0:
        sums |= {
            "n_comparable_nonzero": 1,
            "comparable_ape_sum": abs(gap) / actual,
            "naive_ape_sum": abs(naive - actual) / actual,
            "median_ape_sum": abs(median - actual) / actual,
        }
    return sums


def kept(engine):
    with engine.connect() as connection:
        rows = connection.execute(sa.select(score_totals)).mappings()
        key = [column.name for column in score_totals.primary_key]
        return {
            tuple(row[name] for name in key): {
                name: row[name] for name in (*FIGURES, "made_at")
            }
            for row in rows
        }


def of_depots(engine):
    """What the depots' sums are, and what they should be: counts, volume and misses."""
    every = sa.select(scores)
    with engine.connect() as connection:
        rows = pd.read_sql(every, connection)
        found = pd.read_sql(sa.select(depot_score_totals), connection)
    key = ["is_live", "origin_on", "depot_id", "model_version"]
    rows["gap"] = rows["p50"] - rows["actual"]
    rows["miss"], rows["naive_miss"] = (
        rows["gap"].abs(),
        (rows["seasonal_naive"] - rows["actual"]).abs(),
    )
    rows["inside"] = rows["actual"].between(rows["p10"], rows["p90"])
    rows["with_naive_miss"] = rows["miss"].where(rows["seasonal_naive"].notna())
    known = rows[["seasonal_naive", "median4"]].notna().all(axis=1)
    compared = known & (rows["actual"] > 0)
    for name, column in (
        ("n_comparable_nonzero_in_interval", rows["inside"].astype(float)),
        ("comparable_nonzero_actual_sum", rows["actual"]),
        ("comparable_nonzero_error_sum", rows["gap"]),
        ("comparable_ape_sum", rows["miss"] / rows["actual"]),
        ("naive_ape_sum", rows["naive_miss"] / rows["actual"]),
        ("median_ape_sum", (rows["median4"] - rows["actual"]).abs() / rows["actual"]),
    ):
        rows[name] = column.where(compared)
    expected = rows.assign(n_comparable_nonzero=compared, n=1).groupby(key).agg(
        n=("n", "sum"), n_in_interval=("inside", "sum"), actual_sum=("actual", "sum"),
        error_sum=("gap", "sum"), abs_error_sum=("miss", "sum"),
        n_with_naive=("seasonal_naive", "count"),
        with_naive_abs_error_sum=("with_naive_miss", "sum"),
        with_naive_naive_abs_error_sum=("naive_miss", "sum"),
        n_comparable_nonzero=("n_comparable_nonzero", "sum"),
        n_comparable_nonzero_in_interval=("n_comparable_nonzero_in_interval", "sum"),
        comparable_nonzero_actual_sum=("comparable_nonzero_actual_sum", "sum"),
        comparable_nonzero_error_sum=("comparable_nonzero_error_sum", "sum"),
        comparable_ape_sum=("comparable_ape_sum", "sum"),
        naive_ape_sum=("naive_ape_sum", "sum"), median_ape_sum=("median_ape_sum", "sum"),
    )  # fmt: skip
    found = found.drop(columns="made_at").set_index(key).sort_index()
    return found.astype(float), expected.sort_index().astype(float)


def assert_in_step(engine):
    found_of_depots, expected_of_depots = of_depots(engine)
    pd.testing.assert_frame_equal(found_of_depots, expected_of_depots)
    expected, found = reckoned(engine), kept(engine)
    assert found.keys() == expected.keys()
    for key, sums in expected.items():
        assert found[key].pop("made_at") == sums.pop("made_at")
        assert found[key] == pytest.approx(sums, rel=1e-9, abs=1e-9)
    return len(found)


@pytest.fixture
def fleet(clean_engine):
    """Four depots in two cities, some days without orders, forecast by two models."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=4, n_days=DAYS)
        moved = sa.update(depots).where(depots.c.depot_id.in_(["A1", "A3"]))
        connection.execute(moved.values(city="Ghent"))
        for version in ("v", "w"):
            model_store.add_model(
                connection, version=version, trained_through=START, seed=0, scores={},
                data_watermark="", filename="", sha256="", role="retired",
            )  # fmt: skip
    counting.rebuild(clean_engine, NOW)
    return clean_engine


def forecast(engine, rng, origin, version, *, live=True, hours=28):
    made_at = datetime.combine(origin, datetime.min.time(), UTC)
    rows = []
    for depot in ("A0", "A1", "A2", "A3"):
        for step in range(1, 8):
            p10, p50, p90 = np.sort(rng.integers(0, 60, 3)).astype(float)
            rows.append(
                (depot, origin, origin + timedelta(days=step), version, p10, p50, p90,
                 "model", live, made_at + timedelta(hours=hours), None)
            )  # fmt: skip
    with engine.begin() as connection:
        replace_forecasts(
            connection, origin, version, forecast_table(rows),
            live=live, made_at=rows[0][-2],
        )  # fmt: skip


def test_sums_follow_nights_corrections_closures_hindcasts_and_moves(
    fleet, rng, tmp_path
):
    for back in (30, 12, 9, 4, 1):
        forecast(fleet, rng, LAST - timedelta(days=back), "v")
        assert scoring.score_known_days(fleet, UTC_ZONE) > 0
    n_cells = assert_in_step(fleet)
    assert n_cells == 2 * (7 + 7 + 7 + 4 + 1)

    # A second model of one night, and a hindcast, which stay apart.
    forecast(fleet, rng, LAST - timedelta(days=9), "w", hours=30)
    forecast(fleet, rng, LAST - timedelta(days=20), "w", live=False, hours=500)
    scoring.score_known_days(fleet, UTC_ZONE)
    assert assert_in_step(fleet) > n_cells

    # The forecasts that are scored already are made again, and not scored yet.
    forecast(fleet, rng, LAST - timedelta(days=20), "w", live=False, hours=600)
    assert_in_step(fleet)
    scoring.score_known_days(fleet, UTC_ZONE)
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
    assert scoring.score_known_days(fleet, UTC_ZONE) > 0
    assert_in_step(fleet)

    # A depot is closed for good, which takes scores away.
    with fleet.begin() as connection:
        gone = sa.update(depots).where(depots.c.depot_id == "A3")
        connection.execute(gone.values(closed_on=LAST - timedelta(days=10)))
    scoring.score_known_days(fleet, UTC_ZONE)
    assert_in_step(fleet)

    # And another moves.
    file = tmp_path / "depots.csv"
    columns = "depot_id,name,city,timezone,country,subdivision"
    file.write_text(f"{columns}\nA0,A0,Utrecht,UTC,NL,\n")
    ingest(fleet, [str(file)], FileOptions(), Settings())
    assert_in_step(fleet)
    assert "Utrecht" in {key[3] for key in kept(fleet)}
