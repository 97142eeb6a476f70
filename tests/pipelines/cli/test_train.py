"""`harbor train` says what the new model delivers."""

from datetime import date

import pytest

from pipelines.cli import train
from pipelines.training.promotion import PromotionDecision
from pipelines.training.train import TrainedModel

SCORE = {"mape": 8, "wape": 8, "bias": 0, "mase": 0.8, "coverage80": 0.8, "days": 10}


@pytest.mark.parametrize(
    ("share", "sentence", "says_no_help"),
    [
        (0.3, "Delivers: 30 % of the network's correction.", False),
        (1.0, "Delivers: network.", False),
        (0, "Delivers: baseline.", True),
    ],
)
def test_the_share_of_the_network_is_printed(capsys, share, sentence, says_no_help):
    scores = {"models": {"gru": SCORE}, "network_share": share}
    model = TrainedModel("20260719-5dc66c5b", date(2026, 7, 19), scores, 3.2, 2e-7)
    decision = PromotionDecision(model.version, promoted=True, reason="It is first.")
    train._show(model, decision, as_json=False)
    printed = capsys.readouterr().err
    assert sentence in printed
    assert ("helped too little" in printed) is says_no_help


@pytest.mark.parametrize(
    ("coverage", "shown"), [(0.8149, "81"), (None, "–")], ids=["known", "not known"]
)
def test_the_table_of_scores_has_coverage_in_percent(capsys, coverage, shown):
    scores = {"models": {"gru": SCORE | {"coverage80": coverage}}, "network_share": 1}
    train.show_scores(scores, "Scores")
    lines = capsys.readouterr().out.splitlines()
    [row] = [line.split() for line in lines if line.strip().startswith("gru")]
    assert row == ["gru", "8", "8", "0", "0.80", shown, "10"]
