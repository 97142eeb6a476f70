"""When the forecasts that were shown have been bad for long, it is said."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from pipelines.cli.night_findings import check_nights
from pipelines.forecasting import live_accuracy
from pipelines.schema import forecasts, scores
from pipelines.settings import Settings
from pipelines.store import accuracy, score_totals
from pipelines.store import models as model_store
from pipelines.store.accuracy import SegmentScores
from tests.pipelines.make import START, add_depot, publish

SETTINGS = Settings(alert_days_worse_than_naive=3)


def days(*errors, naive=0.2, inside=80):
    """A hundred depot-days a day, with the mean errors given; None: nothing compared."""
    return [
        SegmentScores(
            START + timedelta(days=number),
            n=100,
            n_in_interval=inside,
            n_comparable=0 if error is None else 100,
            ape_sum=100 * (error or 0),
            naive_ape_sum=0 if error is None else 100 * naive,
            median_ape_sum=0,
            actual_sum=0,
            error_sum=0,
            abs_error_sum=0,
        )
        for number, error in enumerate(errors)
    ]


@pytest.mark.parametrize(
    ("errors", "worse", "alarm"),
    [
        pytest.param([], 0, False, id="nothing scored"),
        pytest.param([0.3, 0.1, 0.3, 0.3], 2, False, id="two days"),
        pytest.param([0.1, 0.3, 0.3, 0.3], 3, True, id="three days"),
        pytest.param([0.3, 0.3, 0.3, 0.3, 0.1], 0, False, id="good again"),
        pytest.param([0.3, 0.2, 0.3, 0.3], 2, False, id="as good as it is not worse"),
        pytest.param([0.3, 0.3, None, 0.3], 3, True, id="a day without demand between"),
    ],
)
def test_days_in_a_row_worse_than_the_seasonal_naive(errors, worse, alarm):
    found = live_accuracy.assess(days(*errors), SETTINGS)
    assert found.worse_days == worse
    assert bool(found.alarms) is alarm


def test_the_alarm_says_since_when_by_how_much_and_what_to_do():
    found = live_accuracy.assess(days(0.1, 0.3, 0.4, 0.5), SETTINGS)
    (alarm,) = found.alarms
    assert "3 days in a row, from 2024-01-02 to 2024-01-04" in alarm
    assert "MAPE 40.0 % against 20.0 %" in alarm
    assert "harbor train" in alarm
    assert found.metrics()["alarms"] == [alarm]


@pytest.mark.parametrize(
    ("inside", "alarm"),
    [(69, True), (70, False), (80, False), (90, False), (91, True)],
)
def test_coverage_outside_its_band_is_an_alarm(inside, alarm):
    found = live_accuracy.assess(days(0.1, 0.1, inside=inside), SETTINGS)
    assert found.coverage == pytest.approx(inside / 100)
    assert bool(found.alarms) is alarm


def test_a_few_depot_days_say_nothing_of_coverage():
    found = live_accuracy.assess(days(0.1, inside=0), SETTINGS)
    assert found.coverage is None
    assert not found.alarms


@pytest.mark.db
def test_only_what_was_shown_live_counts(clean_engine):
    """Against a plain loop over what was written."""
    rng = np.random.default_rng(3)
    rows = []
    for version, live, made in (("old", 1, 1), ("new", 1, 2), ("hind", 0, 3)):
        for depot in ("A", "B"):
            for step in (1, 2):
                for target in range(40):
                    if version == "new" and (target - step) % 2:
                        continue
                    point = float(rng.integers(1, 20))
                    rows.append(
                        {
                            "model_version": version,
                            "is_live": bool(live),
                            "depot_id": depot,
                            "target_on": START + timedelta(days=target),
                            "origin_on": START + timedelta(days=target - step),
                            "p10": point / 2,
                            "p50": point * 1.2,
                            "p90": point * 1.5,
                            "point": point,
                            "actual": float(rng.integers(0, 20)),
                            "seasonal_naive": None
                            if step == 2 and target == 39
                            else 5.0,
                            "made": made,
                        }
                    )
    _write(clean_engine, rows)
    with clean_engine.connect() as connection:
        found = accuracy.newest_days(connection, 28)
    assert [day.segment for day in found] == [
        START + timedelta(days=target) for target in range(12, 40)
    ]
    for day in found:
        mine = _expected(rows, day.segment)
        assert (day.n, day.n_in_interval, day.n_comparable) == mine[:3]
        assert (day.ape_sum, day.naive_ape_sum) == pytest.approx(mine[3:])


def _write(engine, rows):
    with engine.begin() as connection:
        for depot in ("A", "B"):
            add_depot(connection, depot)
        for version in ("old", "new", "hind"):
            model_store.add_model(
                connection, version=version, trained_through=date(2023, 1, 1), seed=0,
                data_watermark="", filename="", sha256="", role="retired", scores={},
            )  # fmt: skip
        for row in rows:
            made = datetime(2025, 1, row["made"], tzinfo=UTC)
            shared = {name: value for name, value in row.items() if name != "made"}
            scored = {name: shared.pop(name) for name in ("actual", "seasonal_naive")}
            scored["median4"] = scored["seasonal_naive"]
            connection.execute(
                sa.insert(forecasts), {**shared, "basis": "model", "made_at": made}
            )
            connection.execute(sa.insert(scores), {**shared, **scored})
        publish(connection, *(row for row in rows if row["is_live"]))
        score_totals.renew_all(connection)


def _expected(rows, target_on):
    shown = {}
    for row in rows:
        if row["is_live"] and row["target_on"] == target_on:
            key = (row["depot_id"], row["origin_on"])
            if key not in shown or shown[key]["made"] < row["made"]:
                shown[key] = row
    scored, inside, compared, error, naive = 0, 0, 0, 0.0, 0.0
    for row in shown.values():
        scored += 1
        inside += row["p10"] <= row["actual"] <= row["p90"]
        if row["actual"] > 0 and row["seasonal_naive"] is not None:
            compared += 1
            error += abs(row["point"] - row["actual"]) / row["actual"]
            naive += abs(row["seasonal_naive"] - row["actual"]) / row["actual"]
    return scored, inside, compared, error, naive


@pytest.mark.db
def test_doctor_tells_of_the_alarm(clean_engine):
    rows = [
        {
            "model_version": "old", "is_live": True, "depot_id": "A", "made": 1,
            "target_on": START + timedelta(days=target),
            "origin_on": START + timedelta(days=target - 1),
            "p10": 90.0, "p50": 105.0, "p90": 110.0, "point": 100.0, "actual": 50.0,
            "seasonal_naive": 51.0,
        }
        for target in range(3)
    ]  # fmt: skip
    _write(clean_engine, rows)
    found = {each.check: each for each in check_nights(clean_engine, SETTINGS)}
    assert not found["accuracy"].ok
    assert "3 days in a row" in found["accuracy"].message
    found = check_nights(clean_engine, Settings(alert_days_worse_than_naive=4))
    assert {each.check: each.ok for each in found}["accuracy"]
