"""A training is recorded with its scores beside those of the champions; no fit is run."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from forecaster.model.two_stage_fit import Recipe
from pipelines.demand.panels import read_panel
from pipelines.runs.ledger import recorded
from pipelines.settings import Settings
from pipelines.store import models
from pipelines.training import train
from tests.make import make_artefact
from tests.pipelines.make import LAST, count_fleet, newest_panels, save_model


@pytest.fixture
def fleet(clean_engine):
    count_fleet(clean_engine)
    return clean_engine


@pytest.fixture
def trained(fleet, tmp_path, monkeypatch):
    """Trains, with invented fits that end two weeks ago and on the last day."""
    settings = Settings(home=tmp_path)
    one_epoch = SimpleNamespace(epochs=1, steps=1)

    def invented(panel, *_, **__):
        before = panel.as_of(panel.origin - timedelta(days=14))
        return SimpleNamespace(
            evaluation=make_artefact(before), production=make_artefact(panel),
            evaluation_fit=one_epoch, production_fit=one_epoch, seconds=1.0,
        )  # fmt: skip

    monkeypatch.setattr(train, "_fit", invented)

    def run():
        with recorded(fleet, "train", LAST) as run:
            panels = newest_panels(fleet)
            return train.train(run, settings, LAST, Recipe(), lambda _: None, panels)

    return settings, run


def publish(engine, settings, day, seed):
    """A champion that was trained through a day."""
    made = make_artefact(read_panel(engine, day), seed=seed)
    path = save_model(engine, made, settings.artefacts, role="challenger")
    with engine.begin() as connection:
        models.promote(connection, made.version, "for the test")
    return path


def test_a_champion_of_before_the_holdout_is_scored_beside_the_challenger(
    fleet, trained
):
    settings, run = trained
    assert "earlier_champion" not in run().scores["models"]
    path = publish(fleet, settings, LAST - timedelta(days=20), seed=1)
    publish(fleet, settings, LAST - timedelta(days=3), seed=2)
    scores = run().scores["models"]
    assert 0 < scores["earlier_champion"]["mape"] != scores["gru"]["mape"]
    # Without its file it is not compared, and the training is recorded all the same.
    path.unlink()
    assert "earlier_champion" not in run().scores["models"]
