"""The training loop: decays the learning rate and keeps the epoch of lowest validation MAPE.

Several processes that have joined (`multihost.join`) run this same code: each computes its
own rows of every batch, and all hold the same state.
"""

import functools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.data import sampling
from forecaster.data.features import Features
from forecaster.data.sampling import Rows
from forecaster.errors import TrainingError
from forecaster.model import multihost, train_step
from forecaster.model.checkpoint import Checkpoints, Progress
from forecaster.model.model import DepotForecaster, padded_capacity
from forecaster.model.train_step import Batch, Params, Setup, Sums

STEPS_BETWEEN_VALIDATIONS = 10
EPOCHS_BETWEEN_CHECKPOINTS = 10
WARM_UP_STEPS = 50


@dataclass(frozen=True)
class Fit:
    """Result of one fit.

    Attributes:
      params: Averaged weights of all members, on the host; every leaf is [K, ...].
      epochs: Number of epochs behind these weights.
      validation_mape: As a fraction; NaN where nothing was held out.
      first_step_seconds: Until the first step had run, compilation included.
      step_seconds: Mean seconds of the steps after it, validation included; NaN where a
        checkpoint left no step to take.
      seconds: Seconds of the whole fit.
      steps: Optimiser steps taken.
    """

    params: Params
    epochs: int
    validation_mape: float
    first_step_seconds: float
    step_seconds: float
    seconds: float
    steps: int


class PendingValidation(NamedTuple):
    """Loss and validation errors of an epoch, not fetched from the devices yet."""

    epoch: int
    loss: Sums
    errors: list[Sums]
    average: Params


Report = Callable[[int, int, float], None]
"""Called with epochs done, epochs at most, and the best validation MAPE so far."""


def fit(
    features: Features,
    task: TaskConfig,
    model: ModelConfig,
    config: TrainConfig,
    validation: Features | None = None,
    checkpoints: Checkpoints | None = None,
    report: Report = lambda *_: None,
    start: Params | None = None,
) -> Fit:
    """Trains on `features`; with `validation`, keeps the best epoch.

    Args:
      features: Features of the training panel.
      task: What is forecast from what.
      model: Size of the network.
      config: Training settings.
      validation: Features of a panel that shows the validation days too.
      checkpoints: Store of states; training resumes from the newest complete one.
      report: Called with the progress, one validation late.
      start: Initial weights; fresh ones by the seed if None.

    Raises:
      TrainingError: there is nothing to learn from, or a loss stopped being finite.
      ConfigError: the batch does not divide by the devices.
    """
    started = time.perf_counter()
    trainer = _Trainer(features, task, model, config, validation)
    progress = trainer.start(start)
    if checkpoints is not None:
        progress = checkpoints.restore(progress)
    progress = trainer.placed(progress)
    first_step_seconds = trainer.precompile(progress)
    warm, steps_before = time.perf_counter(), int(progress.state.step)
    while not trainer.is_done(progress):
        progress = trainer.run_epoch(progress)
        if progress.epoch % EPOCHS_BETWEEN_CHECKPOINTS == 0:
            progress = trainer.collect_validation(progress)
            if checkpoints is not None:
                checkpoints.save(progress)
        report(progress.epoch, trainer.most_epochs, progress.best_mape)
    progress = trainer.collect_validation(progress)
    steps = int(progress.state.step)
    taken = steps - steps_before
    return Fit(
        params=jax.device_get(progress.best),
        epochs=progress.best_epoch,
        validation_mape=_known(progress.best_mape),
        first_step_seconds=first_step_seconds,
        step_seconds=(time.perf_counter() - warm) / taken if taken else math.nan,
        seconds=time.perf_counter() - started,
        steps=steps,
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
        self.setup = Setup.of(module, task, config)
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
        self.step, self.evaluate = _mapped_steps(
            self.setup, config.validation_days + 1, devices
        )
        by_steps = max(1, config.most_steps // self.steps)
        self.most_epochs = min(config.epochs, by_steps)
        self.pending: PendingValidation | None = None

    def start(self, params: Params | None) -> Progress:
        """Progress before the first epoch, from these weights or fresh ones."""
        example = next(self._batches(epoch=0)).slices
        one = jax.tree.map(lambda value: value[0], example)
        state = train_step.create_train_state(self.setup, one, self.config.seed, params)
        return Progress(0, 0, math.inf, state, state.average)

    def placed(self, progress: Progress) -> Progress:
        """Replicates the progress over this process's devices."""
        state, best = train_step.replicate(
            self.own_devices, (progress.state, progress.best)
        )
        return progress._replace(state=state, best=best)

    def precompile(self, progress: Progress) -> float:
        """Compiles and runs one step, drops its result, and returns the seconds taken."""
        started = time.perf_counter()
        batch = self._sharded(next(self._batches(epoch=0)))
        rate = np.float32(0)
        jax.block_until_ready(self.step(progress.state, batch, self._key(0), rate))
        return time.perf_counter() - started

    def is_done(self, progress: Progress) -> bool:
        """Whether all epochs have run."""
        return progress.epoch >= self.most_epochs

    def run_epoch(self, progress: Progress) -> Progress:
        """Runs one epoch, collects the previous validation and starts the next."""
        state, key = progress.state, self._key(progress.epoch)
        loss = None
        done = progress.epoch * self.steps
        for number, batch in enumerate(self._batches(progress.epoch), start=done):
            state, loss = self.step(
                state, self._sharded(batch), key, self._rate(number)
            )
        progress = self.collect_validation(
            progress._replace(epoch=progress.epoch + 1, state=state)
        )
        assert loss is not None, "an epoch has at least one step"
        self.pending = self._start_validation(progress, loss)
        return progress

    def collect_validation(self, progress: Progress) -> Progress:
        """Waits for the pending validation, and keeps its weights if they are the best so far."""
        pending, self.pending = self.pending, None
        if pending is None:
            return progress
        if not math.isfinite(float(pending.loss.total)):
            raise TrainingError(
                f"The loss is {float(pending.loss.total)} in epoch {pending.epoch}: training "
                "cannot go on. Lower the learning rate, or look for absurd counts."
            )
        counted = sum(float(error.n) for error in pending.errors)
        total = sum(float(error.total) for error in pending.errors)
        mape = total / counted if counted else math.inf
        # The first one is kept unconditionally: there may be no validation days.
        is_first = progress.best_epoch == 0
        if self.validation is not None and not (is_first or mape < progress.best_mape):
            return progress
        return progress._replace(
            best_epoch=pending.epoch, best_mape=mape, best=pending.average
        )

    def _start_validation(
        self, progress: Progress, loss: Sums
    ) -> PendingValidation | None:
        """Starts a validation about every ten steps, without waiting for its result."""
        every = math.ceil(STEPS_BETWEEN_VALIDATIONS / self.steps)
        if progress.epoch % every and progress.epoch < self.most_epochs:
            return None
        average = progress.state.average
        errors = [
            self.evaluate(average, self._sharded(batch))
            for batch in self._validation_batches()
        ]
        return PendingValidation(progress.epoch, loss, errors, average)

    def _rate(self, step: int) -> np.float32:
        """Learning rate of a step: linear warm-up, then cosine decay to a half.

        The running average of the weights makes a decay to 0 unnecessary.
        """
        total = self.most_epochs * self.steps
        falling = 0.5 * (1 + math.cos(0.5 * math.pi * step / total))
        rising = min(1.0, (step + 1) / min(WARM_UP_STEPS, total))
        return np.float32(self.config.learning_rate * rising * falling)

    def _batches(self, epoch: int) -> Iterator[Batch]:
        rows = sampling.epoch_rows(
            self.features, self.task, self.config.batch_size, self.config.seed, epoch
        )
        return self._cut(self.features, rows)

    def _validation_batches(self) -> Iterator[Batch]:
        if self.validation is None:
            return iter(())
        rows = sampling.last_rows(self.validation, self.config.batch_size)
        return self._cut(self.validation, rows)

    def _cut(self, features: Features, rows: Iterator[Rows]) -> Iterator[Batch]:
        own = multihost.own_rows(self.config.batch_size)
        return train_step.batches(features, self.task, rows, own)

    def _sharded(self, batch: Batch) -> Batch:
        """Shards a batch over this process's devices."""
        return train_step.shard_batch(batch, len(self.own_devices))

    def _key(self, epoch: int) -> jax.Array:
        return _epoch_key(self.config.seed, epoch)


def _run_fingerprint(*inputs: object) -> bytes:
    """Bytes of everything that decides a fit's outcome: configurations and demand."""
    seen = [part for part in inputs if isinstance(part, Features)]
    plain = [part for part in inputs if not isinstance(part, Features)]
    demand = b"".join(part.log_demand_dt.tobytes() for part in seen)
    return repr(plain).encode() + demand


def _known(mape: float) -> float:
    """NaN where nothing was validated."""
    return mape if math.isfinite(mape) else math.nan


@jax.jit
def _epoch_key(seed: Array, epoch: Array) -> Array:
    return jax.random.fold_in(jax.random.key(seed), epoch)


@functools.lru_cache(maxsize=4)
def _mapped_steps(
    setup: Setup, origins: int, devices: tuple[jax.Device, ...]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Maps the training and the validation step, compiled once for fits that share a setup.

    Args:
      setup: Setup of both steps.
      origins: Number of last origins of each window in the validation.
      devices: Devices to map over.
    """
    step = functools.partial(train_step.train_step, setup)
    evaluate = functools.partial(train_step.evaluate_step, setup, origins)
    return (
        train_step.over_devices(step, devices, (None, 0, None, None)),
        train_step.over_devices(evaluate, devices, (None, 0)),
    )
