"""What the ledger says, as people say it."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from dashboard.text import run_descriptions

ZONE = ZoneInfo("Europe/Amsterdam")
BEGAN = datetime(2025, 11, 21, 3, 30, tzinfo=UTC)
COLUMNS = [
    "run_id", "parent_id", "step", "origin_on", "state", "started_at", "metrics", "error",
    "seconds",
]  # fmt: skip


def runs(*rows):
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.assign(origin_on=pd.to_datetime(table["origin_on"]))


NIGHT = (7, np.nan, "nightly", "2025-11-20", "done", BEGAN, {"late_depots": 2}, None,
         125.0)  # fmt: skip
STEP = (8, 7.0, "demand", "2025-11-20", "done", BEGAN, {"new": 6}, None, 2.5)
LOAD = (9, np.nan, "ingest", None, "failed", BEGAN, {}, "It is full.", 4000.0)


def test_nights_steps_and_other_runs_are_told_apart():
    ledger = runs(LOAD, NIGHT, STEP)
    [night] = run_descriptions.nightly_runs(ledger, ZONE).to_dict("records")
    assert night == {
        "Night of": "Thu 20 Nov", "State": "✓ done", "Started": "Fri 21 Nov, 04:30",
        "Duration": "2 min 5 s", "Result": "2 late depots",
    }  # fmt: skip
    [step] = run_descriptions.steps(ledger, 7, ZONE).to_dict("records")
    assert (step["Step"], step["Duration"]) == ("Demand", "2.5 s")
    [other] = run_descriptions.other_runs(ledger, ZONE).to_dict("records")
    assert (other["Run"], other["State"]) == ("Ingest", "✕ failed")
    assert (other["Duration"], other["Result"]) == ("1 h 6 min", "It is full.")


def test_runs_are_offered_nights_first_and_newest_first():
    older = (3, *NIGHT[1:])
    labels = run_descriptions.labels(runs(LOAD, NIGHT, STEP, older))
    assert list(labels) == ["7", "3", "9"]
    assert labels["7"] == "Nightly · Thu 20 Nov · run 7"
    assert labels["9"] == "Ingest · – · run 9"


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        pytest.param({"files": 1, "refused": 0}, "1 file, 0 refused", id="numbers"),
        pytest.param({"done": 29, "plan": 1, "state": "done"}, "29 done, plan 1", id="a plan"),
        pytest.param({"promoted": False}, "not promoted", id="no"),
        pytest.param({"live": True}, "live", id="yes"),
        pytest.param({"mape": 0.0812}, "mape 8.1 %", id="a share"),
        pytest.param({"late_cities": {"Ghent": 2}}, "late cities Ghent 2", id="by city"),
        pytest.param({"alarms": ["Too high.", "Too wide."]}, "Too high.; Too wide.", id="l"),
        pytest.param({"reason": "It is worse.", "new": 1}, "1 new, It is worse.", id="a sentence"),
        pytest.param({"model": "m1", "by_run": 4}, "model m1", id="what is of no use"),
        pytest.param({"scored": None}, "", id="nothing"),
        pytest.param({"memory_bytes": 3, "step_seconds": 0.2}, "", id="measurements"),
        pytest.param(
            {"canary": {"passed": True, "checks": [{"name": "range"}]}}, "canary passed",
            id="a verdict",
        ),
    ],
)  # fmt: skip
def test_counts_become_words(metrics, expected):
    assert run_descriptions.metrics_text(metrics) == expected


def test_a_backfill_tells_how_far_it_came_and_what_holds_it_up():
    found = pd.DataFrame(
        {
            "backfill_id": [4],
            "first_on": ["2025-11-01"],
            "last_on": ["2025-11-03"],
            "state": ["paused"],
            "requested_action": ["cancel"],
            "done": [1],
            "waiting": [1],
            "failed": [1],
            "skipped": [2],
            "estimate_s": [90.0],
            "error": ["No model."],
        }
    )
    [row] = run_descriptions.backfills(found).to_dict("records")
    assert row == {
        "Plan": "4", "Days": "Sat 1 Nov 2025 – Mon 3 Nov 2025", "State": "paused",
        "Progress": "1 of 3",
        "Details": "1 failed: No model.; 2 slots skipped; about 1 min 30 s left; "
        "cancel requested",
    }  # fmt: skip
