"""A training is recorded with its scores beside those of the champions; no fit is run."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from forecaster.config import ModelConfig, TrainConfig
from forecaster.model.two_stage_fit import Recipe, watermark
from pipelines.demand.panels import read_panel
from pipelines.runs.ledger import recorded
from pipelines.schema import event_versions
from pipelines.settings import Settings
from pipelines.store import models
from pipelines.training import train
from tests.make import START, make_artefact, make_events, make_panel
from tests.pipelines.make import LAST, NOW, count_fleet, newest_panels, save_model


@pytest.fixture
def fleet(clean_engine):
    count_fleet(clean_engine)
    return clean_engine


@pytest.fixture
def trained(fleet, tmp_path, monkeypatch):
    """Trains, with invented fits that end two weeks ago and on the last day."""
    settings = Settings(home=tmp_path)
    one_epoch = SimpleNamespace(epochs=1, steps=1)

    def made(panel):
        return replace(make_artefact(panel), data_watermark=watermark(panel))

    def invented(panel, *_, **__):
        before = panel.as_of(panel.origin - timedelta(days=14))
        return SimpleNamespace(
            evaluation=made(before), production=made(panel),
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


class KilledError(Exception):
    """Ends a training, as a signal would."""


def test_a_training_is_not_resumed_where_an_event_has_become_known_earlier(tmp_path):
    """The evaluation's panel is of before the held-out days, and so has the event now."""
    settings = Settings(home=tmp_path)
    recipe = Recipe(
        model=ModelConfig(units=4, head_units=4),
        train=replace(TrainConfig(), epochs=20, members=1, batch_size=8),
    )

    def panel(known_on):
        games = [START + timedelta(days=n) for n in (20, 40, 60)]
        fair = ("fair", START, START + timedelta(days=2), None, None, START)
        rows = [("game", day, day, None, None, known_on) for day in games]
        return make_panel(3, 150, 21, events=make_events(fair, *rows))

    def fit(panel, on_epoch):
        train._fit(panel, settings, recipe, lambda _: on_epoch, {})

    def kill(epoch, _):
        if epoch == 12:
            raise KilledError

    with pytest.raises(KilledError):
        fit(panel(START + timedelta(days=147)), kill)
    epochs = []
    fit(panel(START + timedelta(days=10)), lambda epoch, _: epochs.append(epoch))
    assert epochs[0] == 1


def test_a_model_trained_again_for_a_new_event_keeps_its_evaluation(fleet, trained):
    settings, run = trained
    first, fair_on = run(), LAST + timedelta(days=3)
    fair = {"event_id": "e", "version": 1, "kind": "fair", "starts_on": fair_on}
    fair |= {
        "ends_on": fair_on,
        "known_from": LAST,
        "known_at": NOW,
        "withdrawn": False,
    }
    with fleet.begin() as connection:
        connection.execute(sa.insert(event_versions).values(fair))
    again = run()
    assert again.version != first.version
    with fleet.begin() as connection:
        models.promote(connection, again.version, "better")
    assert train._champion_evaluation(fleet, settings) is not None
