"""A night makes its forecast even if the champion is unusable, as after an upgrade."""

import json
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import sqlalchemy as sa

from forecaster.inference import artefact
from forecaster.inference.artefact_file import MANIFEST, SCHEMA
from pipelines.nightly import steps
from pipelines.nightly.run import NightlyError, run_nightly
from pipelines.nightly.steps import NightlyContext
from pipelines.schema import forecasts, models
from pipelines.settings import Settings
from pipelines.training import train as train_module
from tests.pipelines.faults.victim import invent_training
from tests.pipelines.make import LAST, NOW, count, query

WORSE = {"gru": {"mape": 9.0}, "seasonal_naive": {"mape": 1.0}}


def of_an_earlier_schema(engine, path):
    """Writes a file as an earlier release would have, and records it."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    manifest = json.loads(arrays[MANIFEST].tobytes()) | {"schema": SCHEMA - 1}
    arrays[MANIFEST] = np.frombuffer(json.dumps(manifest).encode(), np.uint8)
    np.savez(path, **arrays)
    record(engine, path, artefact.file_sha256(path))


def of_other_columns(engine, path):
    """Writes an artefact with one feature less than this program builds, and records it."""
    made = artefact.load(path)
    saved = artefact.save(
        replace(made, feature_names=made.feature_names[:-1]), path.parent
    )
    saved.replace(path)
    record(engine, path, artefact.file_sha256(path))


def lost(_engine, path):
    path.unlink()


def record(engine, path, sha256):
    by_file = models.c.filename == path.name
    query(engine, sa.update(models).where(by_file).values(sha256=sha256))


@pytest.fixture
def night(fleet, tmp_path, monkeypatch):
    """A night whose challenger does not beat the seasonal naive."""
    invent_training(monkeypatch.setattr)
    whole = train_module.evaluation_scores

    def worse(*args):
        scores = whole(*args)
        return scores | {"models": scores["models"] | WORSE}

    monkeypatch.setattr(train_module, "evaluation_scores", worse)
    settings = Settings(home=tmp_path, settle_seconds=0)
    return lambda now=NOW: run_nightly(NightlyContext(fleet, settings, now, None))


def files(engine, home, role):
    with engine.connect() as connection:
        names = sa.select(models.c.filename).where(models.c.role == role)
        return [home / "artefacts" / name for name in connection.scalars(names)]


def live_rows(engine, version):
    of_night = forecasts.c.origin_on == LAST, forecasts.c.model_version == version
    return count(engine, forecasts, *of_night, forecasts.c.is_live)


@pytest.mark.parametrize("spoil", [of_an_earlier_schema, of_other_columns, lost])
def test_a_night_whose_champion_cannot_be_used_forecasts_with_the_model_it_trains(
    fleet, night, tmp_path, spoil
):
    (champion,) = files(fleet, tmp_path, "champion")
    spoil(fleet, champion)
    done = night()["steps"]
    assert done["promote"]["promoted"]
    assert "It is the only model that may forecast" in done["promote"]["reason"]
    assert done["promote"]["canary"]["beside"] is None
    assert live_rows(fleet, done["train"]["model"]) == 2 * 7


def test_a_usable_champion_stays_before_a_model_that_is_worse(fleet, night):
    assert not night()["steps"]["promote"]["promoted"]
    assert live_rows(fleet, "v") == 2 * 7


def test_a_night_trains_again_where_an_earlier_release_has_trained_for_it(
    fleet, night, tmp_path, monkeypatch
):
    """The night failed after its training, and then the program was upgraded."""
    work = Mock(side_effect=OSError("broken"))
    with monkeypatch.context() as broken:
        for name in ("promote", "forecast"):
            step = replace(steps.STEPS[name], work=work)
            broken.setitem(steps.STEPS, name, step)
        with pytest.raises(NightlyError, match="no new forecast"):
            night()
    for role in ("champion", "challenger", "evaluation"):
        for path in files(fleet, tmp_path, role):
            of_an_earlier_schema(fleet, path)
    make = train_module._fit
    monkeypatch.setattr(
        train_module, "_fit", lambda *args: with_another_seed(make(*args))
    )
    done = night()["steps"]
    assert "by_run" not in done["train"]
    assert live_rows(fleet, done["train"]["model"]) == 2 * 7


def test_a_night_killed_twice_in_training_trains_again_if_nothing_else_can_forecast(
    fleet, night, tmp_path, monkeypatch
):
    (champion,) = files(fleet, tmp_path, "champion")
    of_an_earlier_schema(fleet, champion)
    with monkeypatch.context() as dying:
        dying.setattr(train_module, "train", Mock(side_effect=KeyboardInterrupt))
        for _ in range(steps.MAX_NIGHTS_ENDED_IN_TRAINING):
            with pytest.raises(KeyboardInterrupt):
                night()
    done = night()["steps"]
    assert live_rows(fleet, done["train"]["model"]) == 2 * 7


def with_another_seed(made):
    """Models of this release, whose versions differ from those of the earlier release."""
    for name in ("evaluation", "production"):
        setattr(made, name, replace(getattr(made, name), seed=1))
    return made
