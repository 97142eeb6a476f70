"""Live accuracy of every part of the fleet, and the gate that follows from it."""

import json
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from forecaster.config import DEFAULT_POINT
from pipelines.demand import counting
from pipelines.demand.panels import shared_panels
from pipelines.forecasting import forecast
from pipelines.runs.ledger import recorded
from pipelines.schema import demand_versions, forecasts, scores
from pipelines.settings import Settings
from pipelines.store import score_totals
from pipelines.store.accuracy import Period
from tests.pipelines.make import (
    LAST,
    NOW,
    START,
    UTC_ZONE,
    add_champion,
    add_depot,
    count_fleet,
    forecast_from,
    live_scores,
    night_finding,
    publish,
    query,
    record_model,
)

CITY = {"A": "Delft", "B": "Delft", "C": "Ghent"}


def add_models(connection, *versions):
    for version in versions:
        record_model(
            connection, version, role="retired", trained_through=date(2023, 1, 1)
        )


def write(connection, rows):
    for row in rows:
        made = {
            "basis": "model",
            "made_at": datetime(2025, 1, 1, tzinfo=UTC),
            "city": "",
        }
        scored = {name: row[name] for name in ("actual", "seasonal_naive", "median4")}
        shared = {name: value for name, value in row.items() if name not in scored}
        connection.execute(sa.insert(forecasts), {**shared, **made})
        connection.execute(sa.insert(scores), {**shared, **scored})
    publish(connection, *(row for row in rows if row["is_live"]))
    score_totals.renew_all(connection)


def row_of(depot, target, step, version="v", live=True, **values):
    day = START + timedelta(days=target)
    return {
        "depot_id": depot, "target_on": day, "origin_on": day - timedelta(days=step),
        "model_version": version, "is_live": live, "p10": 0.0, "p50": 50.0, "p90": 99.0,
        "point": 10.0, "actual": 10.0, "seasonal_naive": 10.0, "median4": 10.0, **values,
    }  # fmt: skip


def test_every_part_is_scored_beside_both_naive_forecasts(clean_engine):
    """Against a plain loop over what was written."""
    rng = np.random.default_rng(5)
    rows = []
    for version, live in (("v", True), ("hind", False)):
        for depot in CITY:
            for step in (1, 3):
                for target in range(20):
                    point = float(rng.integers(1, 20))
                    values = {
                        "p10": point / 2, "p50": point * 1.2, "p90": point * 1.5, "point": point,
                        "actual": float(rng.integers(0, 20)),
                        "seasonal_naive": float(rng.integers(0, 20)),
                        "median4": float(rng.integers(0, 20)),
                    }  # fmt: skip
                    if target % 5 == 0:
                        values |= {"seasonal_naive": None, "median4": None}
                    rows.append(row_of(depot, target, step, version, live, **values))
    with clean_engine.begin() as connection:
        for depot, city in CITY.items():
            add_depot(connection, depot, city=city)
        add_models(connection, "v", "hind")
        write(connection, rows)
    keys = {
        "depot": lambda row: row["depot_id"],
        "city": lambda row: CITY[row["depot_id"]],
        "horizon": lambda row: (row["target_on"] - row["origin_on"]).days,
        "model": lambda row: row["model_version"],
        "day": lambda row: row["target_on"],
    }
    newest = START + timedelta(days=20 - 7)
    seen = [row for row in rows if row["is_live"] and row["target_on"] >= newest]
    for part, key in keys.items():
        groups = defaultdict(list)
        for row in seen:
            groups[key(row)].append(row)
        found = live_scores(clean_engine, (part,), Period(7))
        assert [each["segment"] for each in found] == sorted(groups)
        for each in found:
            assert each == pytest.approx(
                {"segment": each["segment"], **plain(groups[each["segment"]])}
            )


def test_doctor_tells_of_the_alarm(clean_engine):
    with clean_engine.begin() as connection:
        add_depot(connection, "A")
        add_models(connection, "v")
        values = {"p90": 110.0, "point": 100.0, "actual": 50.0, "seasonal_naive": 51.0}
        write(connection, [row_of("A", day, 1, **values) for day in range(3)])
    for least_days, is_ok in ((3, False), (4, True)):
        settings = Settings(alert_days_worse_than_naive=least_days)
        found = night_finding(clean_engine, "accuracy", settings)
        assert found.ok is is_ok
        assert ("3 days in a row" in found.message) is not is_ok


def plain(rows):
    compared = [row for row in rows if row["actual"] > 0 and row["median4"] is not None]

    def mape(name):
        errors = [abs(row[name] - row["actual"]) / row["actual"] for row in compared]
        return 100 * sum(errors) / len(errors) if errors else None

    volume = sum(row["actual"] for row in rows)
    gaps = [row["point"] - row["actual"] for row in rows]
    return {
        "mape": mape("point"),
        "naive_mape": mape("seasonal_naive"),
        "median_mape": mape("median4"),
        "wape": 100 * sum(map(abs, gaps)) / volume,
        "bias": 100 * sum(gaps) / volume,
        "coverage80": sum(row["p10"] <= row["actual"] <= row["p90"] for row in rows)
        / len(rows),
        "days": len(rows),
    }


def test_what_is_not_defined_is_not_zero(clean_engine):
    assert live_scores(clean_engine, ("depot",), Period(7)) == []
    with clean_engine.begin() as connection:
        add_depot(connection, "A")
        add_models(connection, "v")
        write(connection, [row_of("A", 1, 1, actual=0.0)])
    (found,) = live_scores(clean_engine, ("depot",), Period(7))
    assert [found[name] for name in ("mape", "naive_mape", "wape", "bias")] == [
        None
    ] * 4
    assert (found["coverage80"], found["days"]) == (1.0, 1)


@pytest.fixture
def served(clean_engine, tmp_path):
    """Two depots with a champion that has a correction for each."""
    count_fleet(clean_engine)
    made = add_champion(clean_engine, LAST, tmp_path)
    return clean_engine, tmp_path, made


def add_scores(engine, depot, n_days, missed, live=True):
    """Three forecasts for each of the newest days, beside a naive that missed by 10."""
    values = {"point": 10.0 + missed, "seasonal_naive": 20.0, "live": live}
    with engine.begin() as connection:
        rows = [
            row_of(depot, 59 - day, step, **values)
            for day in range(n_days)
            for step in (1, 2, 3)
        ]
        write(connection, rows)


@pytest.fixture
def late(served):
    """The same fleet, and the feed of A1 is late."""
    engine, folder, _ = served
    of_day = demand_versions.c.service_on == LAST, demand_versions.c.depot_id == "A1"
    query(engine, sa.delete(demand_versions).where(*of_day))
    return engine, folder


def test_a_forecast_by_command_records_late_feeds_as_a_night_does(late):
    engine, folder = late
    with recorded(engine, "forecast") as run:
        forecast_from(engine, folder, LAST, NOW, UTC_ZONE, run)
    assert (run.metrics["late_depots"], run.metrics["late_cities"]) == (1, {"Delft": 1})
    # A hindcast reads the counts that were known in the night after its origin.
    with recorded(engine, "forecast") as run:
        later = NOW + timedelta(days=9)
        forecast_from(engine, folder, LAST, later, UTC_ZONE, run)
    assert "late_depots" not in run.metrics


def test_a_feed_that_comes_once_the_night_has_read_is_late_in_its_forecast(late):
    """What runs after it must know that the forecast lacks these orders."""
    engine, folder = late

    def stored():
        query = sa.select(forecasts.c.depot_id, forecasts.c.p90, forecasts.c.point)
        with engine.connect() as connection:
            return sorted(map(tuple, connection.execute(query)))

    forecast_from(engine, folder, LAST, NOW, UTC_ZONE)
    expected = stored()
    panels = shared_panels(engine, LAST, UTC_ZONE)
    panels()
    counting.rebuild(engine, NOW)
    with recorded(engine, "forecast") as run:
        settings = SimpleNamespace(artefacts=folder, zone=UTC_ZONE, point=DEFAULT_POINT)
        forecast.forecast_from(run, settings, LAST, NOW, panels)
    assert run.metrics["late_depots"] == 1
    assert stored() == expected


def test_the_command_shows_the_scores_of_parts(served, harbor):
    engine, _, _ = served
    add_scores(engine, "A0", 14, 12)
    add_scores(engine, "A1", 14, 0)
    live = partial(harbor, "models", "live", "--days", "7", "--by")
    told = json.loads(live("depot", "--json").stdout)
    assert (told["by"], told["days"], told["scored_days"]) == ("depot", 7, 7)
    assert [row["segment"] for row in told["scores"]] == ["A0", "A1"]
    assert [row["bias"] for row in told["scores"]] == [120, 0]
    assert (told["overall"]["bias"], told["overall"]["days"]) == (60, 2 * 7 * 3)
    by_city = live("city").stdout
    assert "Delft" in by_city
    assert "all" in by_city
    assert "of 7 scored days" in by_city
    more = harbor("models", "live", "--days", "28").stdout
    assert "of 14 scored days" in more
    refused = live("van")
    assert refused.returncode == 2
    assert "'van', but must be one of depot" in " ".join(refused.stderr.split())


def words_of(stderr):
    """Without the box that Typer draws around wrong usage."""
    return " ".join(stderr.replace("│", " ").split())


def test_a_period_is_scored_by_depot_and_horizon_together(served, harbor):
    engine, _, _ = served
    add_scores(engine, "A0", 14, 12)
    add_scores(engine, "A1", 14, 0)
    first, last = LAST - timedelta(days=9), LAST - timedelta(days=5)
    options = ("--by", "depot,horizon", "--from", str(first), "--to", str(last))
    told = json.loads(harbor("models", "live", *options, "--json").stdout)
    assert (told["from"], told["to"], told["scored_days"]) == (str(first), str(last), 5)
    assert [row["segment"] for row in told["scores"]] == [
        [depot, step] for depot in ("A0", "A1") for step in (1, 2, 3)
    ]
    assert {row["days"] for row in told["scores"]} == {5}
    assert told["overall"]["days"] == 2 * 3 * 5
    shown = harbor("models", "live", *options).stdout
    assert f"of 5 scored days, {first} to {last}" in shown
    nothing = harbor("models", "live", "--to", "2020-01-01")
    assert "No live forecast of these days" in nothing.stderr
    swapped = harbor("models", "live", "--from", str(last), "--to", str(first))
    assert swapped.returncode == 2
    assert "Swap them" in words_of(swapped.stderr)


def test_scores_are_exported_as_the_view_has_them(served, harbor, tmp_path):
    engine, _, _ = served
    add_scores(engine, "A0", 14, 12)
    with engine.begin() as connection:
        # Cities come from partners' files, and a spreadsheet would run this one.
        connection.execute(sa.text("update depots set city = '=1+1'"))
    path = tmp_path / "scores.parquet"
    last = LAST - timedelta(days=4)
    told = json.loads(
        harbor("scores", "export", str(path), "--to", str(last), "--json").stdout
    )
    assert told == {
        "path": str(path), "rows": 10 * 3,
        "first_on": str(LAST - timedelta(days=13)), "last_on": str(last),
    }  # fmt: skip
    with engine.connect() as connection:
        statement = sa.text("select * from daily_scores where target_on <= :last")
        rows = connection.execute(statement, {"last": last}).mappings().all()
    key = ["target_on", "origin_on"]
    expected = pd.DataFrame(rows).sort_values(key, ignore_index=True)
    pd.testing.assert_frame_equal(
        pd.read_parquet(path).sort_values(key, ignore_index=True),
        expected,
        check_dtype=False,
    )
    assert list(tmp_path.glob(".*.part")) == []

    harbor("scores", "export", str(tmp_path / "scores.csv"))
    lines = (tmp_path / "scores.csv").read_text().splitlines()
    assert len(lines) == 1 + 14 * 3
    assert '"\'=1+1"' in lines[1]
    wrong = harbor("scores", "export", str(tmp_path / "scores.xlsx"))
    assert (wrong.returncode, "must end in .csv or .parquet" in wrong.stderr) == (
        2,
        True,
    )
    nowhere = harbor("scores", "export", str(tmp_path / "none" / "scores.csv"))
    assert nowhere.returncode == 2
    assert "there is no folder" in nowhere.stderr


def test_an_export_of_nothing_is_told_and_leaves_no_file(served, harbor, tmp_path):
    path = tmp_path / "scores.csv"
    done = harbor("scores", "export", str(path))
    assert done.returncode == 3
    assert "No forecast of these days has been scored" in done.stderr
    assert not path.exists()
