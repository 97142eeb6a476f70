"""The metrics of a run, as the command line and the pages show them."""

import math

import pytest

from pipelines.schema.run_metrics import describe, duration


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        pytest.param({"files": 1, "refused": 0}, "1 file", id="numbers"),
        pytest.param({"files": 0, "refused": 2}, "0 files, 2 files refused", id="refused files"),
        pytest.param(
            {"new": 0, "corrected": 10}, "0 depot-days counted, 10 depot-days corrected",
            id="of what",
        ),
        pytest.param({"new": 24, "depots": 1}, "24 depot-days counted, 1 depot forecast", id="a night"),
        pytest.param({"artefacts": 1}, "1 old model file removed", id="removed"),
        pytest.param({"artefacts": 0}, "", id="nothing removed"),
        pytest.param({"backup": "harbor", "model_files": 6}, "backup harbor, 6 model files restored", id="restored"),
        pytest.param({"scored": 1_000}, "1,000 forecasts scored", id="scored"),
        pytest.param({"done": 29, "failed": 1, "state": "done"}, "29 done, 1 failed", id="a backfill"),
        pytest.param({"promoted": False}, "not promoted", id="no"),
        pytest.param({"promoted": True}, "new champion", id="a new one"),
        pytest.param({"live": True}, "live", id="yes"),
        pytest.param(
            {"mape": 0.0812, "coverage": 0.719, "naive_mape": 0.125, "worse_days": 0},
            "off by 8.1 % (MAPE) on the days scored in the last 4 weeks, 71.9 % within the 80 % band, same day last week off by 12.5 %",
            id="accuracy",
        ),
        pytest.param({"worse_days": 1}, "worse than that on the newest day", id="worse"),
        pytest.param({"worse_days": 2}, "worse than that on the newest 2 days", id="worst"),
        pytest.param({"has_hours": True}, "orders counted by the hour", id="hours"),
        pytest.param({"has_hours": False}, "no orders by the hour", id="no hours"),
        pytest.param({"lines": [], "notifications": "set up"}, "notifications set up", id="none"),
        pytest.param({"late_cities": {"Ghent": 2}, "late_depots": 2}, "late: Ghent 2", id="by city"),
        pytest.param({"alarms": ["Too high.", "Too wide."]}, "Too high. Too wide.", id="alarms"),
        pytest.param({"reason": "It is worse.", "new": 1}, "1 depot-day counted. It is worse.", id="a sentence"),
        pytest.param(
            {"promoted": False, "canary_failed": "m: Bad.", "reason": "Bad."},
            "not promoted. Bad.", id="a reason that is told twice",
        ),
        pytest.param({"canary_failed": "m: Bad."}, "canary failed m: Bad.", id="of a night"),
        pytest.param(
            {"canary_failed": "m: Bad.", "alarms": ["Wide."], "reason": "Shown again."},
            "canary failed m: Bad. Wide. Shown again.", id="of a night with a reason of its own",
        ),
        pytest.param({"reason": "Bad."}, "Bad.", id="a reason alone"),
        pytest.param({"alarms": ["Wide."], "depots": 2, "reason": "Bad."}, "2 depots forecast. Wide. Bad.", id="sentences"),
        pytest.param({"model": "m1", "by_run": 4}, "model m1", id="what is of no use"),
        pytest.param({"scored": None}, "", id="nothing"),
        pytest.param({"memory_bytes": 3, "step_seconds": 0.2}, "", id="measurements"),
        pytest.param(
            {"canary": {"passed": True, "checks": [{"name": "range"}]}}, "canary passed",
            id="a verdict",
        ),
    ],
)  # fmt: skip
def test_metrics_become_words(metrics, expected):
    assert describe(metrics) == expected


def test_a_close_look_shows_measurements_in_their_units():
    metrics = {"step_seconds": 0.2, "memory_bytes": 3 * 2**20, "cache_hits": 4}
    assert describe(metrics, with_details=True) == (
        "step seconds 0.2, memory 3 MiB, 4 cache hits"
    )


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.04, "0.0 s"), (9.94, "9.9 s"), (9.97, "10 s"), (12.4, "12 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s"),
        (7_260, "2 h 1 min"), (math.nan, "–"),
    ],
)  # fmt: skip
def test_a_duration_has_the_units_of_its_size(seconds, told):
    assert duration(seconds) == told
