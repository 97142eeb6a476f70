"""`harbor backtest --forecasts` and `--by`: the scores can be computed again from the file."""

import json
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from tests.make import make_artefact
from tests.pipelines.faults import faults
from tests.pipelines.make import START, add_event, add_fleet, midnight_after

DAYS = 120
LAST = START + timedelta(days=DAYS - 1)
EVENT_ON = LAST - timedelta(days=3)


def learn_nothing(panel, *_, **__):
    return SimpleNamespace(production=make_artefact(panel, horizon=7), seconds=1.0)


@pytest.fixture
def backtest(clean_engine, harbor, monkeypatch):
    """Runs the command on three depots of two cities, of which one has a street fair."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=3, n_days=DAYS)
        connection.execute(
            sa.text("update depots set city = 'Ghent' where depot_id = 'A2'")
        )
        add_event(connection, "fair", EVENT_ON, depot_id="A1")
    counting.rebuild(clean_engine, midnight_after(LAST))
    monkeypatch.setattr("forecaster.model.two_stage_fit.train_model", learn_nothing)

    def run(*options):
        return harbor("backtest", "--holdout-days", "14", *options)

    return run


def computed_again(rows):
    """MAPE, WAPE, bias, MASE, coverage and days of some rows, by plain pandas."""
    rows = rows[rows["is_scored"]]
    error, actual = rows["point"] - rows["actual"], rows["actual"]
    banded = rows[rows["p10"].notna()]
    inside = banded["actual"].between(banded["p10"], banded["p90"])
    open_days = actual > 0
    return {
        "mape": 100 * (error.abs() / actual)[open_days].mean(),
        "wape": 100 * error.abs().sum() / actual.sum(),
        "bias": 100 * error.sum() / actual.sum(),
        "mase": (error.abs() / rows["mase_scale"]).mean(),
        "coverage80": inside.mean() if len(inside) else None,
        "days": int(open_days.sum()),
    }


def test_the_scores_can_be_computed_again_from_the_file(backtest, tmp_path):
    path = tmp_path / "forecasts.parquet"
    by = ("--by", "city", "--by", "weekday,horizon", "--by", "kind")
    answer = json.loads(backtest("--forecasts", str(path), *by, "--json").stdout)
    rows = pd.read_parquet(path)
    assert answer["forecasts"] == {"path": str(path), "rows": len(rows)}
    assert len(rows) == 3 * 8 * 7 * 3, "depots, origins, days ahead, models"

    for model, scores in answer["models"].items():
        again = computed_again(rows[rows["model"] == model])
        assert scores == pytest.approx(again, abs=6e-4), model
    by_city = answer["by"]["city"]
    assert [(row["city"], row["model"]) for row in by_city] == [
        (city, model) for city in ("Delft", "Ghent") for model in answer["models"]
    ]
    for row in by_city:
        of_city = (rows["city"] == row["city"]) & (rows["model"] == row["model"])
        expected = computed_again(rows[of_city])
        assert {name: row[name] for name in expected} == pytest.approx(
            expected, abs=6e-4
        )
    together = answer["by"]["weekday,horizon"]
    assert len(together) == 7 * 7 * 3
    assert [row["weekday"] for row in together[:21]] == ["Mon"] * 21
    kinds = {row["kind"]: row["days"] for row in answer["by"]["kind"]}
    # Days ahead of the last four origins, of one depot, and of the last three, of all.
    assert kinds == {"fair": 4, "holiday: King's Day": 9, "usual": 8 * 7 * 3 - 13}


def test_a_row_has_the_baseline_and_the_naive_and_people_are_shown_the_tables(
    backtest, tmp_path
):
    path = tmp_path / "forecasts.parquet"
    shown = backtest("--forecasts", str(path), "--by", "depot,kind").stdout
    assert "By depot, kind" in shown
    assert "fair" in shown
    rows = pd.read_parquet(path)
    key = ["depot_id", "origin_on", "target_on"]
    gru, naive = (
        rows[rows["model"] == name].set_index(key).sort_index()
        for name in ("gru", "seasonal_naive")
    )
    np.testing.assert_array_equal(gru["naive"], naive["point"])
    relative = gru["baseline"] / gru["point"]
    assert relative.between(0.5, 2).all()
    assert not np.allclose(relative, 1), "the network has a share"
    assert (gru["p10"] <= gru["point"]).all()
    assert naive["p10"].isna().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "van"), "--by is 'van', but must be one of depot, city"),
        (("--by", "city,city"), "each once"),
        (("--forecasts", "nowhere/f.parquet"), "there is no folder nowhere"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_trained(harbor, options, message):
    done = harbor("backtest", *options)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_a_full_disk_keeps_the_earlier_file_and_the_scores_are_shown(backtest):
    with faults.small_disk(1) as disk:
        path = disk / "forecasts.parquet"
        path.write_text("before")
        filler = faults.fill(disk)
        done = backtest("--forecasts", str(path))
        assert done.returncode == 1
        assert "Scores over the last 14 days" in done.stdout
        assert "The disk is full" in done.stderr
        assert "forecasts written" not in done.stdout
        assert path.read_text() == "before"
        assert {*disk.iterdir()} == {path, filler}
