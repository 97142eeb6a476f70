"""The scores kept with models, as tables and figures."""

import math
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from dashboard.tables import model_list

ZONE = ZoneInfo("Europe/Amsterdam")
DAYS = pd.to_datetime(["2025-11-21", "2025-12-21"]).as_unit("s")
SCORES = {
    "first_origin": "2025-11-01",
    "last_origin": "2025-11-28",
    "models": {
        "gru": {"mape": 8.1, "wape": 7.0, "bias": -1.2, "mase": 0.61,
                "coverage80": 0.79, "days": 684},
        "champion": {"mape": 8.9},
        "seasonal_naive": {"mape": 12.0, "wape": 9.0, "bias": None, "mase": None,
                           "coverage80": None, "days": 684},
    },
}  # fmt: skip


@pytest.fixture
def models():
    return pd.DataFrame(
        {
            "version": ["new", "old"],
            "role": ["champion", "retired"],
            "trained_through": DAYS[::-1],
            "created_at": DAYS[::-1].tz_localize("UTC"),
            "promoted_at": DAYS[::-1].tz_localize("UTC"),
            "pruned_at": [pd.NaT, pd.NaT],
            "decision_reason": ["It beats it.", None],
            "scores": [SCORES, {}],
        }
    )


def test_every_model_has_its_status_scores_and_decision(models):
    first, second = model_list.all_models(models, NO_SCORES, ZONE).to_dict("records")
    assert first == {
        "Trained up to": "Sun 21 Dec", "Version": "new", "Status": "In use. It beats it", "Went live": "Sun 21 Dec",
        "Test: Off by": 8.1, "Test: Model before": 8.9,
    }  # fmt: skip
    assert second["Status"] == "Used before"
    assert second["Went live"] == "Fri 21 Nov"
    assert math.isnan(second["Test: Off by"])
    live = LIVE.assign(model_version="old")
    scored = model_list.all_models(models, live, ZONE)
    assert scored[["Live: Off by", "Live: Days scored"]].isna().all(
        axis=1
    ).tolist() == [
        True,
        False,
    ]
    assert scored["Live: Off by"][1] == pytest.approx(7.7)
    assert scored["Live: Same day last week"][1] == pytest.approx(10.9)
    assert scored["Live: Days scored"][1] == 9
    early = model_list.all_models(models, live.assign(n_days=3), ZONE)
    assert "Live: vs last week" not in early, "three days say little"
    assert scored["Live: vs last week"][1] == pytest.approx(-29.4, abs=0.05)
    assert [*scored][3:9] == [
        "Test: Off by", "Test: Model before", "Live: Off by",
        "Live: Same day last week", "Live: vs last week", "Live: Days scored",
    ]  # fmt: skip
    unknown = models.assign(scores=[{"models": None}, {}])
    of_none = model_list.all_models(unknown, NO_SCORES, ZONE)
    assert "Test: Off by" not in of_none, "a column of dashes says nothing"


def test_a_champion_that_passed_its_test_needs_no_reason_others_do_in_the_pages_words(
    models,
):
    [stored, own] = (
        "It beats the seasonal naive: MAPE 8.10 % against 12.00 % of the seasonal naive.",
        "Anna: the seasonal naive was right on Sunday.",
    )
    reasons = models.assign(decision_reason=[stored, own])
    assert model_list.all_models(reasons, NO_SCORES, ZONE)["Status"].tolist() == [
        "In use",
        "Used before. Anna: the seasonal naive was right on Sunday",
    ]
    only = "It is the only model that may forecast: MAPE 13.10 % against 12.00 % of the"
    told = reasons.assign(decision_reason=[only, "Anna: MAPE is better on Sundays."])
    assert model_list.all_models(told, NO_SCORES, ZONE)["Status"].tolist() == [
        "In use. It is the only model that may forecast",
        "Used before. Anna: MAPE is better on Sundays",
    ]


def test_a_pruned_model_says_so(models):
    pruned = models.assign(
        pruned_at=[pd.NaT, pd.Timestamp("2026-02-28 23:30", tz="UTC")]
    )
    notice = "Artefact pruned on Sun 1 Mar 2026; it can no longer forecast"
    decisions = model_list.all_models(pruned, NO_SCORES, ZONE)["Status"].tolist()
    assert decisions == ["In use. It beats it", f"Used before. {notice}"]


def test_a_challenger_waits_for_its_evaluation(models):
    waiting = models.assign(role="challenger", decision_reason=None)
    assert set(model_list.all_models(waiting, NO_SCORES, ZONE)["Status"]) == {
        "Not evaluated yet. The next nightly run evaluates it"
    }


LIVE = pd.DataFrame(
    [
        ("20251119-aaa", "forecast", 0.077, 9, 0.72, "model", None),
        ("20251119-aaa", "seasonal naive", 0.109, 9, None, "model", None),
    ],
    columns=[
        "model_version", "forecaster", "mape", "n_days", "coverage", "grain", "day_on",
    ],
)  # fmt: skip
NO_SCORES = LIVE[:0]
OLD, NEW = (pd.Timestamp(f"2025-11-{day}T05:00Z") for day in (20, 21))
CHAMPION = ("20251119-aaa", "champion", OLD, OLD, "It beats the seasonal naive: MAPE 8 %.",
            SCORES, pd.NaT)  # fmt: skip


def status_of(*rows, scores=NO_SCORES, occasions=None):
    columns = ["version", "role", "created_at", "promoted_at", "decision_reason", "scores",
               "pruned_at"]  # fmt: skip
    models = pd.DataFrame(rows, columns=columns).assign(trained_through=DAYS[0])
    return model_list.status(models, scores, ZONE, occasions or {})


def newest(role, reason):
    return ("20251120-bbb", role, NEW, None, reason, {}, pd.NaT)


TEST = "In the test before use, on Sun 2 – Fri 21 Nov, it was off by 8.1 %, the model before by 8.9 %."


def test_the_status_says_how_much_better_a_live_model_is_then_its_test():
    assert status_of(CHAMPION, scores=LIVE) == (
        "Nothing to do. Live since Thu 20 Nov and scored on 9 days, the model was off by 7.7 % per depot and "
        f"day, better than repeating the same day last week (10.9 %). {TEST}"
    )
    days = pd.date_range("2025-11-19", periods=5).as_unit("s")
    by_day = pd.DataFrame({"grain": "day", "day_on": days, "forecaster": "forecast"})
    known = pd.concat([LIVE.assign(n_days=3), by_day], ignore_index=True)
    assert status_of(CHAMPION, scores=known).startswith(
        "Nothing to do until Fri 28 Nov, when 7 days of the new model are scored (3 so far). Live since "
        "Thu 20 Nov and scored on 3 days, the model was"
    )
    names = {days[0]: "Before it", days[3]: "Black Friday", days[4]: "Black Friday"}
    special = status_of(CHAMPION, scores=known, occasions=names)
    assert special.endswith(f"(10.9 %). {TEST}")
    assert "on 3 days with Black Friday, the model was off by 7.7 %" in special
    assert "Black Friday" not in status_of(CHAMPION, scores=LIVE, occasions=names)
    worse = status_of(CHAMPION, scores=LIVE.assign(mape=[0.12, 0.109]))
    assert "12.0 % per depot and day, worse than repeating the same" in worse
    assert "Nothing to do" not in worse
    unscored = f"Live since Thu 20 Nov, the model is not scored yet. {TEST}"
    assert status_of(CHAMPION) == unscored
    assert status_of(CHAMPION, scores=LIVE.assign(mape=math.nan)) == unscored
    first = {"first_origin": "2025-11-01", "models": {"gru": {"mape": 8.1}}}
    assert status_of((*CHAMPION[:5], first, pd.NaT)).endswith(
        "yet. In the test before use, on Sun 2 – Fri 21 Nov, it was off by 8.1 %."
    )


@pytest.mark.parametrize(
    ("role", "reason", "expected"),
    [
        ("rejected", "It is worse than the champion: MAPE 9.10 % against 8.00 %.",
         "turned down. It is worse than the champion."),
        ("rejected", "Its canary failed: all orders are 0.",
         "turned down. Its canary failed: all orders are 0."),
        ("challenger", None, "not evaluated yet. The next nightly run evaluates it."),
    ],
)  # fmt: skip
def test_the_status_says_what_became_of_the_newest_model_and_why(
    role, reason, expected
):
    told = f"The newest model, trained on Fri 21 Nov: {expected}"
    assert status_of(CHAMPION, newest(role, reason)).endswith(told)
    alone = status_of(newest(role, reason))
    assert alone == f"No model is in use, so no forecasts will be made. {told}"


def test_a_champion_that_nobody_has_scored_is_told_of_all_the_same():
    told = status_of((*CHAMPION[:5], {}, pd.NaT))
    assert told == "Live since Thu 20 Nov, the model is not scored yet."
