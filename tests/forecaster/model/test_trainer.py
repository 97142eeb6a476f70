"""Training learns, repeats itself, resumes, and does not depend on its devices."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.data.features import build_features
from forecaster.errors import TrainingError
from forecaster.model import multihost, trainer
from forecaster.model.checkpoint import Checkpoints
from forecaster.model.train_step import Batch, shard_batch
from forecaster.model.trainer import fit
from tests.make import make_panel

TASK = TaskConfig(horizon=7, context=28)
MODEL = ModelConfig(units=6, head_units=8, dropout=0.1)
TRAIN = TrainConfig(
    epochs=12, batch_size=8, members=2, learning_rate=1e-2, validation_days=14
)


def features_of(panel):
    return build_features(panel, (), 7)


@pytest.fixture(scope="module")
def panel():
    return make_panel(n_depots=4, n_days=150)


@pytest.fixture(scope="module")
def parts(panel):
    """All that a fit needs but its settings."""
    return features_of(panel), TASK, MODEL


def flat(params):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(params)])


def test_training_learns_what_the_baseline_cannot_know(panel):
    """Demand is higher in the first ten days of each month."""
    early_t = np.array([panel.day(step).day <= 10 for step in range(panel.n_steps)])
    raised = panel.demand_dt * np.where(early_t, 1.5, 1.0).astype(np.float32)
    parts = (features_of(replace(panel, demand_dt=raised)), TASK, MODEL)
    untrained = fit(*parts, replace(TRAIN, epochs=1, learning_rate=1e-7))
    assert fit(*parts, replace(TRAIN, epochs=20)).loss < 0.7 * untrained.loss


def test_the_running_average_of_the_weights_is_kept(parts):
    config = replace(TRAIN, epochs=3)
    by_epoch = trainer._Trainer(*parts, config)
    progress = by_epoch.to_devices(by_epoch.start(None))
    for _ in range(3):
        progress, _ = by_epoch.run_epoch(progress)
    last, average = flat(progress.state.params), flat(progress.state.average)
    assert (last != average).any()
    np.testing.assert_array_equal(flat(fit(*parts, config).params), average)


def test_steps_are_bounded_whatever_the_epochs(parts):
    fitted = fit(*parts, replace(TRAIN, epochs=1000, most_steps=7))
    assert (fitted.epochs, fitted.steps) == (2, 6)


def test_a_resumed_training_ends_as_an_unbroken_one(parts, tmp_path, monkeypatch):
    """It goes on from the newest complete checkpoint, whatever lies half written beside it."""
    monkeypatch.setattr(trainer, "EPOCHS_BETWEEN_CHECKPOINTS", 4)
    parts = *parts, replace(TRAIN, epochs=9)
    unbroken = fit(*parts)

    class Killed(BaseException):
        pass

    def kill(epoch, *_):
        if epoch == 7:
            raise Killed

    with pytest.raises(Killed), Checkpoints(tmp_path) as checkpoints:
        fit(*parts, checkpoints=checkpoints, report=kill)
    (tmp_path / "8.orbax-checkpoint-tmp-1").mkdir()
    epochs = []
    with Checkpoints(tmp_path) as checkpoints:
        resumed = fit(
            *parts,
            checkpoints=checkpoints,
            report=lambda epoch, *_: epochs.append(epoch),
        )
    assert epochs[0] == 5
    assert resumed.epochs == unbroken.epochs
    assert resumed.loss == unbroken.loss
    np.testing.assert_array_equal(flat(resumed.params), flat(unbroken.params))


def test_a_batch_that_does_not_divide_is_filled_with_rows_that_weigh_nothing():
    windows = np.arange(12.0).reshape(6, 2)
    shared = shard_batch(Batch(windows, np.ones(6), np.arange(6)), 4)
    np.testing.assert_array_equal(shared.windows.reshape(8, 2)[:6], windows)
    np.testing.assert_array_equal(shared.weight_b, [[1, 1], [1, 1], [1, 1], [0, 0]])
    np.testing.assert_array_equal(shared.row_b[:3], [[0, 1], [2, 3], [4, 5]])


def test_every_device_is_trained_on_unless_there_are_more_than_rows():
    everyone = jax.devices()
    assert multihost.training_devices(64) == tuple(everyone)
    assert multihost.training_devices(1) == (everyone[0],)


def test_nothing_observed_is_nothing_to_learn_from(panel):
    empty = replace(panel, demand_dt=np.full_like(panel.demand_dt, np.nan))
    with pytest.raises(TrainingError, match="No depot has an observed day"):
        fit(features_of(empty), TASK, MODEL, TRAIN)


def test_absurd_counts_stop_training_with_a_sentence(parts):
    features, *_ = parts
    # The sum of four such weekdays overflows a float32.
    huge = np.full_like(features.log_demand_dt, 1e38)
    absurd = replace(features, log_demand_dt=huge)
    with pytest.raises(TrainingError, match=r"loss is (nan|inf) in epoch"):
        fit(absurd, TASK, MODEL, replace(TRAIN, epochs=2))
