"""The canary: a new model forecasts beside the champion before it is promoted."""

import re
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from pipelines.demand.panels import read_panel
from pipelines.nightly import steps
from pipelines.nightly.steps import NightlyContext
from pipelines.runs.ledger import recorded
from pipelines.schema import runs
from pipelines.store import models
from pipelines.training import canary, promotion
from tests.make import make_artefact
from tests.pipelines.make import (
    LAST,
    NOW,
    count_fleet,
    judge,
    record_model,
    save_model,
    scalar,
)

REST = {"wape": 5.0, "bias": 0.1, "mase": 0.6, "coverage80": 0.8, "days": 100}
SCORES = {
    "models": {"gru": {"mape": 6.0, **REST}, "seasonal_naive": {"mape": 9.0, **REST}}
}


@pytest.fixture
def panel(clean_engine):
    count_fleet(clean_engine, n_depots=3)
    return read_panel(clean_engine, LAST)


@pytest.fixture
def publish(clean_engine, settings):
    """Records an artefact, as a training does."""

    def published(made, role="challenger"):
        save_model(clean_engine, made, settings.artefacts, role=role, scores=SCORES)
        return made.version

    return published


@pytest.fixture
def champion(panel, publish):
    return publish(make_artefact(panel), "champion")


def scaled(made, times):
    weights = {name: each * np.float32(times) for name, each in made.weights.items()}
    return replace(made, weights=weights)


def recorded_model(engine, version):
    with engine.connect() as connection:
        return models.model(connection, version)


def champion_version(engine):
    with engine.connect() as connection:
        model = models.champion(connection)
    return None if model is None else model["version"]


BAD = {
    "weights a hundredfold": lambda made: scaled(made, 100),
    "weights that are no numbers": lambda made: scaled(made, np.nan),
    "parity out of bounds": lambda made: replace(made, parity_error=2e-5),
}


@pytest.mark.parametrize("spoil", BAD.values(), ids=BAD)
def test_a_defective_model_is_rejected_and_the_champion_stays(
    clean_engine, settings, panel, champion, publish, spoil
):
    bad = publish(spoil(make_artefact(panel, seed=1)))
    decision = judge(clean_engine, settings.artefacts)
    assert not decision.promoted
    assert decision.reason.startswith("Its canary failed: ")
    assert f"harbor models show {bad}" in decision.reason
    assert champion_version(clean_engine) == champion
    model = recorded_model(clean_engine, bad)
    assert (model["role"], model["decision_reason"]) == ("rejected", decision.reason)
    assert model["scores"]["canary"]["passed"] is False
    assert model["scores"]["models"] == SCORES["models"]


def test_the_first_model_needs_a_canary_too(clean_engine, settings, panel, publish):
    publish(scaled(make_artefact(panel), np.nan))
    assert not judge(clean_engine, settings.artefacts).promoted
    assert champion_version(clean_engine) is None


def test_a_model_that_is_pruned_before_it_is_promoted_is_rejected(
    clean_engine, settings, panel, champion, publish, monkeypatch
):
    good = publish(make_artefact(panel, seed=1))
    monkeypatch.setattr(promotion.models, "promote", lambda *_: False)
    decision = judge(clean_engine, settings.artefacts)
    assert (decision.promoted, "was deleted" in decision.reason) == (False, True)
    assert champion_version(clean_engine) == champion
    assert recorded_model(clean_engine, good)["role"] == "rejected"


def test_a_good_model_is_promoted_with_its_checks_recorded(
    clean_engine, settings, panel, champion, publish
):
    good = publish(make_artefact(panel, seed=1))
    assert judge(clean_engine, settings.artefacts).promoted
    assert champion_version(clean_engine) == good
    stored = recorded_model(clean_engine, good)["scores"]["canary"]
    assert (stored["passed"], stored["beside"], stored["origin"]) == (
        True, champion, LAST.isoformat(),
    )  # fmt: skip
    assert [check["name"] for check in stored["checks"]] == [
        "finite", "parity", "range", "fleet", "champion",
    ]  # fmt: skip


def test_a_model_whose_file_was_replaced_is_rejected(
    clean_engine, settings, panel, champion, publish
):
    bad = publish(make_artefact(panel, seed=1))
    (settings.artefacts / f"{bad}.npz").write_bytes(b"another")
    decision = judge(clean_engine, settings.artefacts)
    assert "not the file that was recorded" in decision.reason
    assert champion_version(clean_engine) == champion


def test_a_champion_promoted_meanwhile_is_the_one_compared_with(
    clean_engine, settings, panel, champion, publish, monkeypatch
):
    other = publish(make_artefact(panel, seed=2), "retired")
    publish(make_artefact(panel, seed=1))
    whole, beside = canary.run_canary, []

    def slow(engine, artefacts, model, champion, panels):
        beside.append(champion["version"])
        if len(beside) == 1:
            with engine.begin() as connection:
                models.promote(connection, other, "by hand")
        return whole(engine, artefacts, model, champion, panels)

    monkeypatch.setattr(canary, "run_canary", slow)
    assert judge(clean_engine, settings.artefacts).promoted
    assert beside == [champion, other]


def test_the_night_records_a_failed_canary_and_logs_a_warning(
    clean_engine, settings, panel, champion, publish
):
    bad = publish(scaled(make_artefact(panel, seed=1), np.nan))
    night = NightlyContext(clean_engine, settings, NOW, LAST)
    with capture_logs() as lines, recorded(clean_engine, "promote", LAST) as run:
        steps.promote(night, run)
    [alarm] = [line for line in lines if line["event"] == "canary_failed"]
    assert alarm["log_level"] == "warning"
    assert alarm["reason"].startswith(f"{bad}: Its canary failed: ")
    counts = scalar(clean_engine, sa.select(runs.c.metrics))
    assert counts["canary"]["passed"] is False
    assert counts["canary_failed"] == alarm["reason"]


def test_promotion_by_hand_needs_a_passed_canary_or_unchecked(
    clean_engine, panel, champion, publish, harbor
):
    bad = publish(scaled(make_artefact(panel, seed=1), np.nan))
    refused = harbor("models", "promote", bad)
    assert re.search(r"canary failed.*--unchecked", refused.stderr)
    assert champion_version(clean_engine) == champion
    assert "WRONG finite" in harbor("models", "show", bad).stderr
    harbor("models", "promote", bad, "--unchecked")
    assert champion_version(clean_engine) == bad


def test_a_former_champion_needs_no_canary(
    clean_engine, panel, champion, publish, harbor, monkeypatch
):
    monkeypatch.setattr(
        canary, "run_canary", lambda *_, **__: pytest.fail("ran a canary")
    )
    with clean_engine.begin() as connection:
        models.promote(connection, champion, "first")
        record_model(connection, "second", role="challenger", trained_through=LAST)
        models.promote(connection, "second", "second")
    harbor("models", "rollback")
    assert champion_version(clean_engine) == champion
    assert harbor("models", "promote", champion).returncode == 0
