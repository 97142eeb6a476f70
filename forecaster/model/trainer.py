"""Epoch after epoch, while the learning rate falls; the best epoch is kept.

Several processes that have joined (`hosts.join`) run this same code: each cuts and
computes its own rows of every batch, and all hold the same state.
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
    """A finished training.

    Attributes:
      params: Averaged weights of all members, on the host; every leaf is [K, ...].
      epochs: Epochs they were trained for.
      validation_mape: As a fraction; NaN where nothing was held out.
      first_step_seconds: Until the first step had run, compilation included.
      step_seconds: Of one of the steps after it, with its share of the validations; NaN
        where a checkpoint left none to take.
      seconds: In all.
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
    """What an epoch said, still on its way to the host."""

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
      features: Of the training panel.
      task: What is forecast from what.
      model: Size of the network.
      config: How it is trained.
      validation: Features of a panel that shows the validation days too.
      checkpoints: Where states are kept; training resumes from the newest whole one.
      report: Told about progress, one evaluation late.
      start: Weights to go on from; fresh ones by the seed without it.

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
    """The mapped steps and the data they run on."""

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
        """Training before its first epoch, from these weights or fresh ones."""
        example = next(self._batches(epoch=0)).slices
        one = jax.tree.map(lambda value: value[0], example)
        state = train_step.create_train_state(self.setup, one, self.config.seed, params)
        return Progress(0, 0, math.inf, state, state.average)

    def placed(self, progress: Progress) -> Progress:
        """The same, with its arrays where the steps leave theirs."""
        state, best = train_step.replicate(
            self.own_devices, (progress.state, progress.best)
        )
        return progress._replace(state=state, best=best)

    def precompile(self, progress: Progress) -> float:
        """Seconds until one step has run, compilation included; its result is dropped."""
        started = time.perf_counter()
        batch = self._sharded(next(self._batches(epoch=0)))
        rate = np.float32(0)
        jax.block_until_ready(self.step(progress.state, batch, self._key(0), rate))
        return time.perf_counter() - started

    def is_done(self, progress: Progress) -> bool:
        """Whether the epochs are through; what is best is often the end of the fall."""
        return progress.epoch >= self.most_epochs

    def run_epoch(self, progress: Progress) -> Progress:
        """Runs one epoch, and reads what the one before it said."""
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
        """Waits for what the last look said, and keeps its weights if they are best."""
        look, self.pending = self.pending, None
        if look is None:
            return progress
        if not math.isfinite(float(look.loss.total)):
            raise TrainingError(
                f"The loss is {float(look.loss.total)} in epoch {look.epoch}: training "
                "cannot go on. Lower the learning rate, or look for absurd counts."
            )
        counted = sum(float(error.n) for error in look.errors)
        missed = sum(float(error.total) for error in look.errors)
        mape = missed / counted if counted else math.inf
        # The first look is kept whatever it says: there may be nothing to validate on.
        is_first = progress.best_epoch == 0
        if self.validation is not None and not (is_first or mape < progress.best_mape):
            return progress
        return progress._replace(
            best_epoch=look.epoch, best_mape=mape, best=look.average
        )

    def _start_validation(
        self, progress: Progress, loss: Sums
    ) -> PendingValidation | None:
        """Asks the validation days every ten steps or so; never waits for the answer."""
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
        """Learning rate of a step: up in a line, then down to half in a cosine.

        The average over the steps does what a fall to 0 would do.
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
        """Split over this process's devices."""
        return train_step.shard_batch(batch, len(self.own_devices))

    def _key(self, epoch: int) -> jax.Array:
        return _epoch_key(self.config.seed, epoch)


def _run_fingerprint(*told: object) -> bytes:
    """What decides a fit's outcome: every configuration, and the demand it sees."""
    seen = [part for part in told if isinstance(part, Features)]
    plain = [part for part in told if not isinstance(part, Features)]
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
    """The training and the validation step, compiled once for fits that share a setup.

    Args:
      setup: What the steps share.
      origins: Last origins of each window that validation counts.
      devices: To map over.
    """
    step = functools.partial(train_step.train_step, setup)
    look = functools.partial(train_step.evaluate_step, setup, origins)
    return (
        train_step.over_devices(step, devices, (None, 0, None, None)),
        train_step.over_devices(look, devices, (None, 0)),
    )
