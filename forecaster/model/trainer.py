"""The training loop: decays the learning rate and keeps the epoch of lowest validation MAPE.

Several processes that have joined (`multihost.join`) run this same code: each computes its
own rows of every batch, and all hold the same state.
"""

import functools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.data import sampling
from forecaster.data.features import Features
from forecaster.data.sampling import BatchRows
from forecaster.errors import TrainingError
from forecaster.model import multihost, train_step
from forecaster.model.checkpoint import Checkpoints, Progress
from forecaster.model.model import DepotForecaster, padded_capacity
from forecaster.model.train_step import Batch, MetricSums, Params, StepConfig

STEPS_BETWEEN_VALIDATIONS = 10
EPOCHS_BETWEEN_CHECKPOINTS = 10
WARM_UP_STEPS = 50
"""Steps over which the learning rate rises."""
SETTLED_STEPS, SETTLED_SHARE = 200, 0.25
"""Steps, or share of all if that is less, before which no epoch is kept: the learning rate
has just risen, the average of the weights is of few, and a lucky month would stop there."""


@dataclass(frozen=True)
class Fit:
    """Result of one fit.

    Attributes:
      params: Averaged weights of all members, on the host; every leaf is [member, ...].
      epochs: Number of epochs behind these weights.
      validation_mape: Lowest validation MAPE, a fraction; NaN without validation days.
      first_step_seconds: Until the first step had run, compilation included.
      step_seconds: Mean seconds of the steps after it, validation included; NaN where a
        checkpoint left no step to take.
      seconds: Seconds of the whole fit.
      steps: Optimiser steps taken.
      batch_size: Windows of one step.
    """

    params: Params
    epochs: int
    validation_mape: float
    first_step_seconds: float
    step_seconds: float
    seconds: float
    steps: int
    batch_size: int


Report = Callable[[int, int, float], None]
"""Called with epochs done, epochs at most, and the best validation MAPE so far."""


def fit(
    features: Features,
    task: TaskConfig,
    model: ModelConfig,
    config: TrainConfig,
    validation: Features | None = None,
    *,
    checkpoints: Checkpoints | None = None,
    report: Report = lambda *_: None,
    start: Params | None = None,
) -> Fit:
    """Trains on `features`; with `validation`, keeps the best epoch.

    Args:
      features: Features of the training panel.
      task: Horizon and context.
      model: Size of the network.
      config: Training settings. A step has at most `batch_size` windows, as many as pad
        least. With `start` it has just that many: pass the first fit's, so that both share a
        compiled step.
      validation: Features of a panel that has the validation days as well.
      checkpoints: Training resumes from the newest complete one.
      report: Called with the progress after every epoch.
      start: Initial weights; fresh ones by the seed if None.

    Raises:
      TrainingError: there is nothing to learn from, or a loss stopped being finite.
      ConfigError: the processes have different numbers of devices.
    """
    started = time.perf_counter()
    if start is None:
        size = sampling.even_batch_size(features, task, config.batch_size)
        config = replace(config, batch_size=size)
    trainer = _Trainer(features, task, model, config, validation)
    progress = trainer.start(start)
    if checkpoints is not None:
        progress = checkpoints.restore(progress)
    first_step_seconds = trainer.precompile(progress)
    progress = trainer.to_devices(progress)
    warmed_up, steps_before = time.perf_counter(), int(progress.state.step)
    while progress.epoch < trainer.most_epochs:
        progress = trainer.run_epoch(progress)
        if checkpoints is not None and progress.epoch % EPOCHS_BETWEEN_CHECKPOINTS == 0:
            checkpoints.save(progress)
        report(progress.epoch, trainer.most_epochs, progress.best_mape)
    steps, best_mape = int(progress.state.step), progress.best_mape
    taken = steps - steps_before
    return Fit(
        params=jax.device_get(progress.best),
        epochs=progress.best_epoch,
        validation_mape=best_mape if math.isfinite(best_mape) else math.nan,
        first_step_seconds=first_step_seconds,
        step_seconds=(time.perf_counter() - warmed_up) / taken if taken else math.nan,
        seconds=time.perf_counter() - started,
        steps=steps,
        batch_size=config.batch_size,
    )


class _Trainer:
    """The compiled steps and the data they run on."""

    def __init__(
        self,
        features: Features,
        task: TaskConfig,
        model: ModelConfig,
        config: TrainConfig,
        validation: Features | None,
    ) -> None:
        self.features, self.task, self.config = features, task, config
        self.validation = validation
        capacity = padded_capacity(len(features.group_d))
        module = DepotForecaster(task.horizon, model, capacity)
        self.step_config = StepConfig.of(module, config)
        devices = multihost.training_devices(config.batch_size)
        self.own_devices = [
            device for device in devices if device.process_index == jax.process_index()
        ]
        multihost.assert_same_inputs(
            _run_fingerprint(features, validation, task, model, config)
        )
        self.steps = sampling.steps_per_epoch(features, task, config.batch_size)
        if self.steps == 0:
            raise TrainingError(
                "No depot has an observed day to learn from. Load earlier orders."
            )
        origins = config.validation_days + 1
        self.step, self.evaluate = _mapped_steps(self.step_config, origins, devices)
        by_steps = max(1, config.most_steps // self.steps)
        self.most_epochs = min(config.epochs, by_steps)
        settled = min(SETTLED_STEPS, SETTLED_SHARE * self.most_epochs * self.steps)
        self.first_kept = math.ceil(settled / self.steps)

    def start(self, params: Params | None) -> Progress:
        """Progress before the first epoch, from these weights or fresh ones."""
        example = next(self._batches(epoch=0)).windows
        one = jax.tree.map(lambda value: value[0], example)
        state = jax.device_get(
            train_step.create_train_state(
                self.step_config, one, self.config.seed, params
            )
        )
        return Progress(0, 0, math.inf, state, state.average)

    def to_devices(self, progress: Progress) -> Progress:
        """Copies the host's progress to this process's devices."""
        state, best = train_step.replicate(
            self.own_devices, (progress.state, progress.best)
        )
        return progress._replace(state=state, best=best)

    def precompile(self, progress: Progress) -> float:
        """Compiles and runs one step on a copy of the progress; returns the seconds taken."""
        started = time.perf_counter()
        state, batch = self.to_devices(progress).state, next(self._batches(epoch=0))
        key = _epoch_key(self.config.seed, 0)
        jax.block_until_ready(self.step(state, self._shard(batch), key, np.float32(0)))
        return time.perf_counter() - started

    def run_epoch(self, progress: Progress) -> Progress:
        """Runs one epoch, and a validation about every ten steps and after the last."""
        state, loss = progress.state, None
        key = _epoch_key(self.config.seed, progress.epoch)
        first = progress.epoch * self.steps
        for number, batch in enumerate(self._batches(progress.epoch), start=first):
            rate = self._learning_rate(number)
            state, loss = self.step(state, self._shard(batch), key, rate)
        assert loss is not None, "an epoch has at least one step"
        progress = progress._replace(epoch=progress.epoch + 1, state=state)
        every = math.ceil(STEPS_BETWEEN_VALIDATIONS / self.steps)
        is_due = progress.epoch % every == 0 and progress.epoch >= self.first_kept
        if not is_due and progress.epoch < self.most_epochs:
            return progress
        return self._validate(progress, loss)

    def _validate(self, progress: Progress, loss: MetricSums) -> Progress:
        """Keeps the average weights if they are the best so far."""
        average = progress.state.average
        errors = [
            self.evaluate(average, self._shard(batch))
            for batch in self._validation_batches()
        ]
        if not math.isfinite(float(loss.total)):
            raise TrainingError(
                f"The loss is {float(loss.total)} in epoch {progress.epoch}: training "
                "cannot go on. Lower the learning rate, or look for absurd counts."
            )
        n_days = sum(float(error.n) for error in errors)
        total = sum(float(error.total) for error in errors)
        mape = total / n_days if n_days else math.inf
        # The first one is kept unconditionally: there may be no validation days.
        is_first = progress.best_epoch == 0
        if self.validation is not None and not (is_first or mape < progress.best_mape):
            return progress
        best = train_step.copy_tree(average)
        return progress._replace(best_epoch=progress.epoch, best_mape=mape, best=best)

    def _learning_rate(self, step: int) -> np.float32:
        """Learning rate of a step: linear warm-up, and cosine decay to a half.

        The running average of the weights makes a decay to 0 unnecessary.
        """
        total = self.most_epochs * self.steps
        cosine = 0.5 * (1 + math.cos(0.5 * math.pi * step / total))
        warm_up = min(1.0, (step + 1) / min(WARM_UP_STEPS, total))
        return np.float32(self.config.learning_rate * warm_up * cosine)

    def _batches(self, epoch: int) -> Iterator[Batch]:
        size, seed = self.config.batch_size, self.config.seed
        rows = sampling.epoch_rows(self.features, self.task, size, seed, epoch)
        return self._cut(self.features, rows)

    def _validation_batches(self) -> Iterator[Batch]:
        if self.validation is None:
            return iter(())
        rows = sampling.last_rows(self.validation, self.config.batch_size)
        return self._cut(self.validation, rows)

    def _cut(self, features: Features, rows: Iterator[BatchRows]) -> Iterator[Batch]:
        own = multihost.own_rows(self.config.batch_size)
        return train_step.batches(features, self.task, rows, own)

    def _shard(self, batch: Batch) -> Batch:
        return train_step.shard_batch(batch, len(self.own_devices))


def _run_fingerprint(*inputs: object) -> bytes:
    """Bytes of everything that decides a fit's outcome: configurations and demand."""
    features = [each for each in inputs if isinstance(each, Features)]
    settings = [each for each in inputs if not isinstance(each, Features)]
    demand = b"".join(each.log_demand_dt.tobytes() for each in features)
    return repr(settings).encode() + demand


@jax.jit
def _epoch_key(seed: Array, epoch: Array) -> Array:
    return jax.random.fold_in(jax.random.key(seed), epoch)


@functools.lru_cache(maxsize=4)
def _mapped_steps(
    step_config: StepConfig, origins: int, devices: tuple[jax.Device, ...]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Maps the training and the validation step, compiled once for fits that share a step_config."""
    return (
        train_step.map_train_step(step_config, devices),
        train_step.map_evaluate_step(step_config, origins, devices),
    )
