"""Display tables of runs."""

from datetime import UTC, datetime, timedelta
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
    origins = pd.to_datetime(table["origin_on"])
    return table.assign(origin_on=origins, late_came_at=pd.NaT)


NIGHT = (7, np.nan, "nightly", "2025-11-20", "done", BEGAN, {"late_depots": 2}, None,
         125.0)  # fmt: skip
STEP = (8, 7.0, "demand", "2025-11-20", "done", BEGAN, {"new": 6}, None, 2.5)
LOAD = (9, np.nan, "ingest", None, "failed", BEGAN, {}, "It is full.", 4000.0)


def test_nights_steps_and_other_runs_are_told_apart():
    ledger = runs(LOAD, NIGHT, STEP)
    [night] = run_descriptions.runs_table(ledger, ZONE).to_dict("records")
    assert night == {
        "Night after": "Thu 20 Nov", "State": "◐\N{NO-BREAK SPACE}partial", "Started": "Fri 21 Nov, 04:30",
        "Duration": "2 min 5 s", "Result": "2 late depots",
    }  # fmt: skip
    [step] = run_descriptions.steps(ledger, 7, ZONE).to_dict("records")
    assert (step["Step"], step["Duration"]) == ("Demand", "2.5 s")
    assert "Started" not in step, "as the night"
    [other] = run_descriptions.steps(ledger, 9, ZONE).to_dict("records")
    assert (other["Step"], other["State"]) == ("Ingest", "✕\N{NO-BREAK SPACE}failed")
    assert (other["Duration"], other["Result"]) == ("1 h 6 min", "It is full.")
    assert "Started" in other


@pytest.mark.parametrize(
    ("newest", "before", "told"),
    [
        ("done", "failed", "Last trouble: the night after Thu 20 Nov. Full."),
        ("done", "repaired", "Last trouble, repaired: the night after Thu 20 Nov. Full."),
        ("running", "failed", ""),
    ],
)  # fmt: skip
def test_the_last_trouble_is_told_once_no_night_runs(newest, before, told):
    states = [run_descriptions.STATES[each] for each in (newest, before, "partial")]
    days = ["Fri 21 Nov", "Thu 20 Nov", "Wed 19 Nov"]
    nights = pd.DataFrame({"Night after": days, "State": states, "Result": "Full."})
    assert run_descriptions.last_trouble(nights) == told
    untold = run_descriptions.last_trouble(nights.assign(Result=""))
    assert untold == told.removesuffix(" Full.")
    assert run_descriptions.last_trouble(nights[:1]) == ""


def test_a_night_leaves_what_it_counted_to_its_step():
    counted = {"new": 16, "corrected": 9}
    night = (*NIGHT[:6], counted | {"depots": 24}, *NIGHT[7:])
    ledger = runs(night, (*STEP[:6], counted, *STEP[7:]))
    table = run_descriptions.runs_table(ledger, ZONE)
    assert table["Result"].tolist() == [""]
    step = run_descriptions.steps(ledger, 7, ZONE)
    told = ["16 depot-days counted, 9 depot-days corrected"]
    assert step["Result"].tolist() == told


def test_a_night_says_how_many_accuracy_alarms_it_raised():
    alarms = [[], ["One.", "Two."], ["Old."]]
    ledger = runs(
        *((9 - n, *NIGHT[1:3], f"2025-11-{21 - n}", "done", BEGAN, {"alarms": each}, None, 9.0)
          for n, each in enumerate(alarms))
    )  # fmt: skip
    nights = run_descriptions.runs_table(ledger, ZONE)
    assert nights["Result"].tolist() == ["", "2 accuracy alarms", "1 accuracy alarm"]
    assert run_descriptions.last_trouble(nights) == "", "it made its forecast"


@pytest.mark.parametrize(
    ("came_at", "came"),
    [(pd.Timestamp("2025-11-22T23:30Z"), ", which came on Sun 23 Nov"), (pd.NaT, "")],
)
def test_a_night_tells_which_cities_were_late_and_when_their_orders_came(came_at, came):
    own = (*NIGHT[:6], {"late_depots": 9, "refused": 1}, *NIGHT[7:])
    cities = {"late_cities": {"London": 8, "Delft": 1}}
    step = (8, 7.0, "forecast", *STEP[3:6], cities, *STEP[7:])
    ledger = runs(own, step).assign(late_came_at=[came_at, pd.NaT])
    table = run_descriptions.runs_table(ledger, ZONE)
    orders = "London (8\N{NO-BREAK SPACE}depots) and Delft (1\N{NO-BREAK SPACE}depot)"
    told = f"Without the orders of {orders}{came}. 1 file refused"
    assert table["Result"].tolist() == [told]
    assert table["State"].tolist() == ["◐\N{NO-BREAK SPACE}partial"], (
        "not as a night with all orders"
    )


def test_a_night_whose_late_orders_a_later_one_has_is_repaired():
    late = (
        8,
        7.0,
        "forecast",
        *STEP[3:6],
        {"late_depots": 2, "late_cities": {"London": 2}},
        *STEP[7:],
    )
    next_night = BEGAN + timedelta(days=1)
    later = (9, np.nan, "nightly", "2025-11-21", "done", next_night, {}, None, 9.0)
    ledger = runs(later, NIGHT, late)

    def results(hours):
        came_at = BEGAN + timedelta(hours=hours)
        told = ledger.assign(late_came_at=[pd.NaT, came_at, pd.NaT])
        return run_descriptions.runs_table(told, ZONE)

    states = [run_descriptions.STATES[each] for each in ("done", "repaired")]
    assert results(5)["State"].tolist() == states
    assert results(5)["Result"][1].endswith("Later forecasts include them.")
    came = ledger.assign(late_came_at=[pd.NaT, BEGAN + timedelta(hours=5), pd.NaT])
    [step] = run_descriptions.steps(came, 7, ZONE).to_dict("records")
    assert (step["State"], step["Result"]) == (states[1], results(5)["Result"][1])
    failed = ledger.assign(
        state=["done", "failed", "done"], late_came_at=[pd.NaT, BEGAN, pd.NaT]
    )
    assert (
        run_descriptions.runs_table(failed, ZONE)["State"][1]
        == run_descriptions.STATES["failed"]
    )
    told = run_descriptions.last_trouble(results(5))
    assert told == (
        "Last trouble, repaired: the night after Thu 20 Nov had its forecast made without the orders of "
        "London (2\N{NO-BREAK SPACE}depots), which came on Fri 21 Nov."
    )
    not_yet = results(30)
    assert not_yet["State"][1] == run_descriptions.STATES["partial"]
    assert "Later" not in not_yet["Result"][1], "no night has them yet"


def test_an_alarm_names_the_naive_forecast_as_pages_do():
    alarm = (
        "The forecasts shown have missed by more than the seasonal naive for 9 days."
    )
    row = (8, 7.0, "accuracy", *STEP[3:6], {"alarms": [alarm]}, None, 1.0)
    [step] = run_descriptions.steps(runs(NIGHT, row), 7, ZONE).to_dict("records")
    assert step["Result"] == alarm.replace("the seasonal naive", "same day last week")
    alarmed = list(NIGHT)
    alarmed[6] = {"late_depots": 2, "alarms": [f"{alarm} Train anew."]}
    table = run_descriptions.runs_table(runs(alarmed), ZONE)
    assert table["Result"].tolist() == ["1 accuracy alarm, 2 late depots"]
    told = run_descriptions.last_trouble(table)
    assert told == (
        "Last trouble: the night after Thu 20 Nov. 1 accuracy alarm, 2 late depots."
    )


def test_runs_are_offered_nights_first_and_newest_first():
    older = (3, *NIGHT[1:])
    labels = run_descriptions.labels(runs(LOAD, NIGHT, STEP, older), ZONE)
    assert list(labels) == ["7", "3", "9"]
    assert labels["7"] == "Nightly · Thu 20 Nov · run 7"
    assert labels["9"] == "Ingest · Fri 21 Nov, 04:30 · run 9 · failed"


def test_a_night_and_a_step_with_nothing_to_tell_say_nothing():
    def results(state, metrics):
        both = [(*row[:4], state, BEGAN, metrics, *row[7:]) for row in (NIGHT, STEP)]
        ledger = runs(*both)
        nights = run_descriptions.runs_table(ledger, ZONE)
        steps = run_descriptions.steps(ledger, 7, ZONE)
        return [*nights["Result"], *steps["Result"]]

    for state, metrics in (("done", {}), ("done", {"artefacts": 0}), ("running", {})):
        assert results(state, metrics) == ["", ""]


def test_a_step_that_wrote_the_morning_message_says_to_how_many_cities():
    row = (
        8,
        7.0,
        "message",
        *STEP[3:6],
        {"lines": ["London: 3 short."], "notifications": "not set up"},
        None,
        1.0,
    )
    [step] = run_descriptions.steps(runs(NIGHT, row), 7, ZONE).to_dict("records")
    assert step["Result"] == (
        "Notifications not set up, morning message written for 1 city"
    )


def test_a_failed_night_that_was_repaired_says_so():
    failed = (6, *NIGHT[1:4], "failed", BEGAN, {}, "There is no new forecast.", 9.0)

    def results(*rows):
        table = run_descriptions.runs_table(runs(*rows), ZONE)
        return table["Result"].tolist()

    skipped = (6, *NIGHT[1:4], "skipped", BEGAN, {}, None, 0.0)
    table = run_descriptions.runs_table(runs(NIGHT, skipped), ZONE)
    assert table["State"][1] == run_descriptions.STATES["skipped"]
    after = (8, *failed[1:])
    assert results(after, NIGHT) == [failed[7], "2 late depots"], "it failed again"

    assert results(NIGHT, failed) == ["2 late depots", run_descriptions.REPAIRED]
    other = (7, NIGHT[1], NIGHT[2], "2025-11-21", *NIGHT[4:])
    told = "There is no new forecast."
    assert results(other, failed)[1] == f"{told}{run_descriptions.LATER}"
    earlier = (5, *other[1:])
    assert results(failed, earlier)[0] == told, "nothing came after it"


def night(state="done", late=0, **steps):
    """A night and its steps: the state of each, or its metrics where it is done."""
    rows = [(*NIGHT[:4], state, BEGAN, {"late_depots": late}, None, 60.0)]
    for number, (step, result) in enumerate(steps.items(), start=8):
        is_state = isinstance(result, str)
        rows.append(
            (number, 7.0, step, "2025-11-20", result if is_state else "done", BEGAN,
             {} if is_state else result, None, 660.0)
        )  # fmt: skip
    return runs(*rows)


MADE = "The forecast of the night after Thu 20 Nov was made with all orders."
WHOLE = "The forecast of the night after Thu 20 Nov was made with all orders."
LATE = WHOLE.replace("with all orders", "without the orders of 2 depots")
MEND = "which failed in the night after Thu 20 Nov, then run 'harbor nightly'."
FAILED = (6, *NIGHT[1:4], "failed", BEGAN, {}, "There is no new forecast.", 9.0)
FAILED_STEP = (5, 6.0, "train", "2025-11-20", "failed", BEGAN, {}, "Full.", 2.5)


@pytest.mark.parametrize(
    ("ledger", "needed", "sentence"),
    [
        pytest.param(night(forecast={}), [], WHOLE, id="all is well"),
        pytest.param(
            night(late=2, forecast={}),
            ["Load the missing orders of 2 depots, then run 'harbor nightly'."], LATE, id="late",
        ),
        pytest.param(
            night(late=2, forecast={}).assign(late_came_at=BEGAN),
            ["Run 'harbor nightly', as the late orders have come."],
            LATE.replace(".", ", which have come since."), id="late, and came",
        ),
        pytest.param(
            night("failed", demand="failed"),
            [f"Fix Demand, {MEND}"],
            "No forecast was made in the night after Thu 20 Nov.", id="failed",
        ),
        pytest.param(
            night("failed", train="failed", publish="failed", forecast={}),
            [f"Fix Train and Publish, {MEND}"],
            MADE, id="made all the same",
        ),
        pytest.param(
            night("failed"), [f"Fix the run, {MEND}"],
            "No forecast was made in the night after Thu 20 Nov.", id="ended between steps",
        ),
        pytest.param(
            runs(FAILED, FAILED_STEP), [f"Fix Train, {MEND} Full."],
            "No forecast was made in the night after Thu 20 Nov.", id="told why",
        ),
        pytest.param(
            runs(FAILED, FAILED_STEP, (*FAILED_STEP[:2], "publish", *FAILED_STEP[3:])),
            [f"Fix Train and Publish, {MEND} Train: Full. Publish: Full."],
            "No forecast was made in the night after Thu 20 Nov.", id="told why twice",
        ),
        pytest.param(
            night("running", train="running"), [],
            "The nightly run is under way.", id="running",
        ),
        pytest.param(
            pd.concat([night(forecast={}), runs(FAILED, FAILED_STEP)]), [],
            WHOLE, id="repaired",
        ),
        pytest.param(
            pd.concat([runs((9, *NIGHT[1:4], "skipped", BEGAN, {}, None, 1.0)),
                       night(forecast={})]), [], WHOLE, id="run again without news",
        ),
        pytest.param(runs(LOAD), [], "", id="none"),
    ],
)  # fmt: skip
def test_the_newest_night_is_told_with_what_failed(ledger, needed, sentence):
    assert run_descriptions.to_do(ledger, 0, 0, 0, is_warned=False) == needed
    assert run_descriptions.night_sentence(ledger) == sentence


def test_whatever_needs_somebody_is_named():
    assert run_descriptions.to_do(night(forecast={}), 1, 2, 3, is_warned=True) == [
        "See the warning above.", "Load the missing orders of 1 depot, then run 'harbor nightly'.",
        "Correct 2 refused files.", "Correct 3 rejected rows.",
    ]  # fmt: skip
