"""The scores kept with models, as tables and figures."""

import math
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from dashboard.tables import models as model_tables

CORRECTION = "of the network's correction to the baseline"
ZONE = ZoneInfo("Europe/Amsterdam")
DAYS = pd.to_datetime(["2025-11-21", "2025-12-21"]).as_unit("s")
SCORES = {
    "first_origin": "2025-11-01",
    "last_origin": "2025-11-28",
    "models": {
        "gru": {"mape": 8.1, "wape": 7.0, "bias": -1.2, "mase": 0.61,
                "coverage80": 0.79, "days": 684},
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
            "promoted_at": DAYS[::-1],
            "pruned_at": [pd.NaT, pd.NaT],
            "decision_reason": ["It beats it.", None],
            "scores": [SCORES, {}],
            "rollback_target": ["old", "old"],
        }
    )


def test_a_backtest_is_a_row_per_forecaster_with_the_model_first():
    table = model_tables.holdout_scores(SCORES)
    assert table.index.tolist() == ["this model", "same day last week"]
    assert table["MAPE"].tolist() == [8.1, 12.0]
    assert table["In the 80 % band"].iloc[0] == 79.0
    assert math.isnan(table["In the 80 % band"].iloc[1])
    assert table["MASE"].iloc[0] == 0.61
    assert table["Days"].tolist() == [684, 684]


@pytest.mark.parametrize("scores", [{}, {"models": {}}, {"models": None}])
def test_a_model_without_scores_has_an_empty_table_and_no_window(scores):
    assert model_tables.holdout_scores(scores).empty
    assert model_tables.holdout_window(scores) is None


def test_the_window_is_named_in_days():
    assert (
        model_tables.holdout_window(SCORES) == "from Sat 1 Nov 2025 to Fri 28 Nov 2025"
    )


def test_every_model_has_its_status_and_decision(models):
    table = model_tables.all_models(models, ZONE)
    assert table["Status"].tolist() == ["champion", "former champion"]
    assert table["MAPE"].iloc[0] == 8.1
    assert math.isnan(table["MAPE"].iloc[1])
    assert table["Decision"].tolist() == ["It beats it.", "No reason recorded."]


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, ("0 %", "only the baseline: its network did not help", "baseline")),
        (0.25, ("25 %", CORRECTION, "25 % of the network's correction")),
        (1.0, ("100 %", CORRECTION, "network")),
        (None, ("–", "not recorded", "–")),
    ],
)
def test_key_figures_state_whether_the_network_or_the_baseline_is_delivered(
    models, share, expected
):
    recorded = {} if share is None else {"network_share": share}
    with_share = models.assign(scores=[SCORES | recorded, {}])
    figures = model_tables.figures(with_share.iloc[0].to_dict(), ZONE)
    assert figures["Network weight"] == expected[:2]
    assert model_tables.all_models(with_share, ZONE)["Network weight"].tolist() == [
        expected[2],
        "–",
    ]


def test_the_score_says_on_which_days_and_beside_what(models):
    held_out = models.assign(trained_through=pd.Timestamp("2025-12-05"))
    figures = model_tables.figures(held_out.iloc[0].to_dict(), ZONE)
    assert figures["Off by, on average (MAPE)"] == (
        "8.1 %", "same day last week 12.0 %, on 34 held-out days",
    )  # fmt: skip
    unknown = model_tables.figures(models.iloc[1].to_dict(), ZONE)
    assert unknown["Off by, on average (MAPE)"] == ("–", "same day last week –")


def test_the_reason_of_a_decision_uses_the_pages_name_of_the_naive_forecast(models):
    [stored, own] = (
        "It beats the seasonal naive: MAPE 8.10 % against 12.00 % of the seasonal naive.",
        "Anna: the seasonal naive was right on Sunday.",
    )
    reasons = models.assign(decision_reason=[stored, own])
    assert model_tables.all_models(reasons, ZONE)["Decision"].tolist() == [
        "It beats same day last week: MAPE 8.10 % against 12.00 % of same day last week.",
        own,
    ]


def test_a_pruned_model_says_so(models):
    pruned = models.assign(pruned_at=[pd.NaT, pd.Timestamp("2026-03-01", tz="UTC")])
    notice = "Artefact pruned on Sun 1 Mar 2026; it can no longer forecast."
    decisions = model_tables.all_models(pruned, ZONE)["Decision"].tolist()
    assert decisions == ["It beats it.", f"No reason recorded. {notice}"]


def test_labels_have_the_training_cutoff_version_and_status(models):
    named = models.assign(version=["20251221-7fde911c", "old"])
    assert list(model_tables.labels(named).values()) == [
        "Sun 21 Dec · 7fde911c · champion",
        "Fri 21 Nov · old · former champion",
    ]


def test_times_are_in_the_given_zone(models):
    figures = model_tables.figures(models.iloc[0].to_dict(), ZONE)
    assert figures["Trained through"] == ("Sun 21 Dec", "made Sun 21 Dec, 01:00")


def test_a_challenger_waits_for_its_evaluation(models):
    waiting = models.assign(role="challenger", decision_reason=None)
    assert set(model_tables.all_models(waiting, ZONE)["Decision"]) == {
        "To be evaluated in the next nightly run."
    }


def test_a_rollback_is_to_the_last_champion(models):
    assert model_tables.rollback_target(models) == "old"
    assert model_tables.rollback_target(models.assign(rollback_target=None)) is None


def status_of(*rows):
    columns = ["version", "role", "created_at", "promoted_at"]
    return model_tables.status_line(pd.DataFrame(rows, columns=columns), ZONE)


def test_the_status_names_the_champion_and_the_newest_model():
    old, new = (pd.Timestamp(f"2025-11-{day}T05:00Z") for day in (20, 21))
    champion = ("20251119-aaa", "champion", old, old)
    assert status_of(champion, ("20251120-bbb", "rejected", new, None)) == (
        "Champion aaa since Thu 20 Nov · newest model bbb not promoted"
    )
    assert status_of(champion) == (
        "Champion aaa since Thu 20 Nov · it is the newest model"
    )
    assert status_of(("20251120-bbb", "challenger", new, None)) == (
        "No champion · newest model bbb not evaluated yet"
    )
