"""Whether a challenger becomes champion."""

from dataclasses import replace
from datetime import timedelta

import pytest

from forecaster.config import TaskConfig
from forecaster.data.effects import fit_effects
from forecaster.inference.calibration import calibrate_artefact
from forecaster.model.two_stage_fit import Recipe, fit_to_history
from pipelines.training.backtesting import evaluation_scores
from pipelines.training.promotion import decide
from tests.make import START, make_artefact, make_panel


def scores(own, naive):
    return {
        "first_origin": "2024-03-01",
        "last_origin": "2024-03-21",
        "models": {"gru": {"mape": own}, "seasonal_naive": {"mape": naive}},
    }


@pytest.mark.parametrize(
    ("own", "naive", "is_only", "promoted", "reason"),
    [
        pytest.param(6.0, 9.0, False, True, "It beats the seasonal naive", id="better"),
        pytest.param(
            9.0, 9.0, False, True, "It is as good as the seasonal naive", id="as good"
        ),
        pytest.param(
            9.004, 9.0, False, True, "It is as good as", id="as good, as printed"
        ),
        pytest.param(9.1, 9.0, False, False, "It does not beat", id="worse"),
        pytest.param(
            9.1,
            9.0,
            True,
            True,
            "It is the only model that may forecast",
            id="worse, but alone",
        ),
        pytest.param(None, 9.0, False, False, "It does not beat", id="undefined"),
        pytest.param(None, None, False, False, "It does not beat", id="both undefined"),
    ],
)
def test_promotion_by_the_naive_and_the_first_model(
    own, naive, is_only, promoted, reason
):
    decision = decide("v1", scores(own, naive), is_only)
    assert decision.promoted is promoted
    assert decision.reason.startswith(reason)
    assert "2024-03-01" in decision.reason
    assert "2024-03-21" in decision.reason


def test_a_challenger_a_little_worse_than_the_champion_says_so():
    reason = decide("v1", with_champion(5.95), is_only=False).reason
    assert "is within 2 % of the champion" in reason
    assert "within" not in decide("v1", with_champion(7.0), is_only=False).reason


def test_a_challenger_worse_than_a_champion_that_cannot_forecast_is_promoted():
    decision = decide("v1", with_champion(5.0), is_only=True)
    assert decision.promoted
    assert decision.reason.startswith("It is the only model that may forecast: MAPE")
    assert "5.00 % of the champion" in decision.reason


def with_champion(mape, **others):
    table = scores(6.0, 9.0)
    for name, own in ({"champion": mape} | others).items():
        table["models"][name] = {"mape": own}
    return table


@pytest.mark.parametrize(
    ("mape", "promoted"), [(7.0, True), (5.9, True), (5.8, False), (None, True)]
)
def test_a_challenger_is_no_worse_than_the_champion_now_and_before_its_holdout(
    mape, promoted
):
    earlier = with_champion(5.95, earlier_champion=mape)
    tables = {"the champion": with_champion(mape), "an earlier champion": earlier}
    for name, table in tables.items():
        decision = decide("v1", table, is_only=False)
        assert decision.promoted is promoted
        if not promoted:
            assert decision.reason.startswith(f"It is worse than {name}: MAPE 6.00 %")
            assert f"5.80 % of {name}" in decision.reason


def test_two_percent_a_night_do_not_add_up():
    """Each night is 1.5 % worse than the champion, whose holdout begins 28 nights before."""
    champions = [6.0] * 29
    for _ in range(60):
        table = scores(1.015 * champions[-1], 99.0)
        table["models"]["champion"] = {"mape": champions[-1]}
        table["models"]["earlier_champion"] = {"mape": champions[-29]}
        own = table["models"]["gru"]["mape"]
        is_promoted = decide("v1", table, is_only=False).promoted
        champions.append(own if is_promoted else champions[-1])
    assert champions[-1] <= 6.0 * 1.02**3


def test_on_a_tie_the_champion_stays():
    for champion in (6.0, 6.004):
        decision = decide("v1", with_champion(champion), is_only=False)
        assert not decision.promoted
        assert decision.reason.startswith(
            "It is no better than the champion: MAPE 6.00 %"
        )
    assert decide("v1", with_champion(6.01), is_only=False).promoted


@pytest.mark.parametrize(
    ("share", "is_named"), [(0.0, True), (0.25, False), (1.0, False), (None, False)]
)
def test_a_model_whose_network_did_not_help_is_named_the_baseline(share, is_named):
    judged = scores(6.0, 9.0) | {"network_share": share}
    reason = decide("v1", judged, is_only=False).reason
    started = reason.startswith("Delivering the baseline, it beats the seasonal naive")
    assert started is is_named


@pytest.fixture(scope="module")
def panel():
    return make_panel(n_depots=2, n_days=60)


@pytest.fixture(scope="module")
def judged(panel):
    """A model that has not seen the last two weeks."""
    unseen_from = panel.origin - timedelta(days=14)
    return replace(make_artefact(panel), trained_through=unseen_from)


def test_a_champion_is_compared_only_on_days_that_it_has_not_seen(panel, judged):
    unseen_from = judged.trained_through
    before = replace(judged, trained_through=unseen_from - timedelta(days=1))
    saw_more = replace(judged, trained_through=unseen_from + timedelta(days=1))
    longer = replace(before, task=replace(before.task, horizon=8))
    compared = evaluation_scores(
        panel, judged, panel.as_of, before, earlier_champion=before
    )
    compared = compared["models"]
    for champion in ("champion", "earlier_champion"):
        assert compared[champion]["mape"] == compared["gru"]["mape"]
    for other in (saw_more, longer, None):
        models = evaluation_scores(
            panel, judged, panel.as_of, other, earlier_champion=other
        )["models"]
        assert not {"champion", "earlier_champion"} & set(models)


@pytest.mark.parametrize(
    ("n_days", "horizon"), [(14, 7), (21, 7), (28, 7), (28, 14), (126, 63)]
)
def test_a_model_of_the_shortest_history_is_evaluated(n_days, horizon):
    panel = make_panel(n_depots=2, n_days=n_days, ahead=horizon + 14)
    recipe = fit_to_history(panel, Recipe(TaskConfig(horizon=horizon)))
    before = panel.origin - timedelta(days=recipe.train.validation_days)
    model = make_artefact(panel.as_of(before), horizon)
    models = evaluation_scores(panel, model, panel.as_of)["models"]
    assert all(score["mape"] > 0 for score in models.values())


def test_evaluation_forecasts_see_the_data_as_known_then(panel, judged):

    def known(origin):
        """The counts came doubled at first."""
        then = panel.as_of(origin)
        return replace(then, demand_dt=2 * then.demand_dt)

    models = evaluation_scores(panel, judged, known)["models"]
    unchanged = evaluation_scores(panel, judged, panel.as_of)["models"]
    for name in ("gru", "seasonal_naive"):
        assert models[name]["bias"] > 80
        assert abs(unchanged[name]["bias"]) < 20


def test_the_scores_are_those_of_the_point(panel, judged):
    by_point = [
        evaluation_scores(panel, judged, panel.as_of, judged, point=point)["models"]
        for point in ("median", "balanced", "mape")
    ]
    assert (
        by_point[1] == evaluation_scores(panel, judged, panel.as_of, judged)["models"]
    )
    for name in ("gru", "champion"):
        median, balanced, mape = (models[name]["bias"] for models in by_point)
        assert mape < balanced < median
    assert by_point[2]["seasonal_naive"] == by_point[0]["seasonal_naive"]


def calibrated_at(panel, n_days):
    """A model without a network, fitted and calibrated when so many days were known."""
    before = panel.as_of(START + timedelta(days=n_days - 15))
    made = replace(make_artefact(before), effects=fit_effects(before, 7))
    return calibrate_artefact(made, panel.as_of(START + timedelta(days=n_days - 1)))


def test_the_bands_of_a_young_fleet_are_renewed_although_its_point_is_the_same():
    panel = make_panel(3, 230, 21)
    old, new = calibrated_at(panel, 42), calibrated_at(panel, 230)
    assert not len(old.paths.error_och)
    assert len(new.paths.error_och)
    scores = evaluation_scores(panel, new, panel.as_of, champion=old)
    scores["network_share"] = new.network_share
    assert decide("new", scores, is_only=False).promoted


@pytest.mark.parametrize("is_only", [False, True])
def test_a_mape_that_is_undefined_is_not_told_as_a_number(is_only):
    scores = {
        "models": {
            name: {"mape": None} for name in ("gru", "seasonal_naive", "champion")
        },
        "first_origin": "2026-02-01",
        "last_origin": "2026-02-21",
    }
    decision = decide("v", scores, is_only)
    assert "nan" not in decision.reason
    assert decision.promoted == is_only
