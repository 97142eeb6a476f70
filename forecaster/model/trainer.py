"""The training loop: a fixed number of epochs at a falling learning rate.

The average of the weights over the last steps is kept. There is no early stopping, because
the best epoch differs from month to month.

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
from forecaster.errors import TrainingError
from forecaster.model import multihost, train_step
from forecaster.model.checkpoint import Checkpoints, Progress
from forecaster.model.model import DepotForecaster, padded_capacity
from forecaster.model.train_step import Batch, MetricSums, Params, StepConfig

EPOCHS_BETWEEN_CHECKPOINTS = 10
WARM_UP_STEPS = 50
"""Steps over which the learning rate rises."""


@dataclass(frozen=True)
class Fit:
    """Result of one fit.

    Attributes:
      params: Averaged weights of all members, on the host; every leaf is [member, ...].
      loss: Huber loss of the last step, mean over members and observed days, by volume weight.
      first_step_seconds: Seconds of one step on a copy of the state, compilation included.
      step_seconds: Mean seconds of the training steps; NaN if the checkpoint left no step
        to take.
      seconds: Seconds of the whole fit.
    """

    params: Params
    epochs: int
    loss: float
    first_step_seconds: float
    step_seconds: float
    seconds: float
    steps: int
    batch_size: int


Report = Callable[[int, int], None]
"""Called with the number of epochs done, and the total number of epochs."""


def fit(
    features: Features,
    task: TaskConfig,
    model: ModelConfig,
    config: TrainConfig,
    *,
    checkpoints: Checkpoints | None = None,
    report: Report = lambda *_: None,
    start: Params | None = None,
) -> Fit:
    """Trains on `features`.

    Args:
      features: Features of the training panel.
      task: Horizon and context.
      model: Size of the network.
      config: Training settings. A step has at most `batch_size` windows, fewer if that
        pads less. With `start` it has exactly `batch_size`: pass the first fit's size, so that
        both share a compiled step.
      checkpoints: Checkpoints of this training, which resumes from the newest complete one.
      report: Called with the progress after every epoch.
      start: Initial weights; if None, fresh ones drawn by the seed.

    Raises:
      TrainingError: there is nothing to learn from, or a loss stopped being finite.
      ConfigError: the processes have different numbers of devices.
    """
    started = time.perf_counter()
    if start is None:
        size = sampling.even_batch_size(features, task, config.batch_size)
        config = replace(config, batch_size=size)
    trainer = _Trainer(features, task, model, config)
    progress = trainer.start(start)
    if checkpoints is not None:
        progress = checkpoints.restore(progress)
    first_step_seconds = trainer.precompile(progress)
    progress = trainer.to_devices(progress)
    warmed_up, steps_before = time.perf_counter(), int(progress.state.step)
    loss = math.nan
    while progress.epoch < trainer.epochs:
        progress, sums = trainer.run_epoch(progress)
        is_due = progress.epoch % EPOCHS_BETWEEN_CHECKPOINTS == 0
        if is_due or progress.epoch == trainer.epochs:
            loss = _finite_loss(sums, progress.epoch)
        if checkpoints is not None and is_due:
            checkpoints.save(progress)
        report(progress.epoch, trainer.epochs)
    steps = int(progress.state.step)
    taken = steps - steps_before
    return Fit(
        params=jax.device_get(progress.state.average),
        epochs=progress.epoch,
        loss=loss,
        first_step_seconds=first_step_seconds,
        step_seconds=(time.perf_counter() - warmed_up) / taken if taken else math.nan,
        seconds=time.perf_counter() - started,
        steps=steps,
        batch_size=config.batch_size,
    )


def _finite_loss(sums: MetricSums, epoch: int) -> float:
    """Returns the mean loss of a step; raises a TrainingError if it is not finite."""
    loss = float(sums.total) / max(1.0, float(sums.n))
    if not math.isfinite(loss):
        raise TrainingError(
            f"The loss is {loss} in epoch {epoch}: training cannot go on. Lower the "
            "learning rate, or look for absurd counts."
        )
    return loss


class _Trainer:
    """The compiled step and the data it runs on."""

    def __init__(
        self,
        features: Features,
        task: TaskConfig,
        model: ModelConfig,
        config: TrainConfig,
    ) -> None:
        self.features, self.task, self.config = features, task, config
        capacity = padded_capacity(len(features.group_d))
        module = DepotForecaster(task.horizon, model, capacity)
        self.step_config = StepConfig.of(module, config)
        devices = multihost.training_devices(config.batch_size)
        self.own_devices = [
            device for device in devices if device.process_index == jax.process_index()
        ]
        settings = repr((task, model, config)).encode()
        multihost.assert_same_inputs(settings + features.log_demand_dt.tobytes())
        self.steps = sampling.steps_per_epoch(features, task, config.batch_size)
        if self.steps == 0:
            raise TrainingError(
                "No depot has an observed day to learn from. Load earlier orders."
            )
        self.step = _mapped_step(self.step_config, devices)
        self.epochs = min(config.epochs, max(1, config.most_steps // self.steps))

    def start(self, params: Params | None) -> Progress:
        """Progress before the first epoch, from these weights; if None, from fresh ones."""
        example = next(self._batches(epoch=0)).windows
        one = jax.tree.map(lambda value: value[0], example)
        state = jax.device_get(
            train_step.create_train_state(
                self.step_config, one, self.config.seed, params
            )
        )
        return Progress(0, state)

    def to_devices(self, progress: Progress) -> Progress:
        """Copies the host's progress to this process's devices."""
        state = train_step.replicate(self.own_devices, progress.state)
        return progress._replace(state=state)

    def precompile(self, progress: Progress) -> float:
        """Compiles and runs one step on a copy of the progress; returns the seconds taken."""
        started = time.perf_counter()
        state, batch = self.to_devices(progress).state, next(self._batches(epoch=0))
        key = _epoch_key(self.config.seed, 0)
        jax.block_until_ready(self.step(state, self._shard(batch), key, np.float32(0)))
        return time.perf_counter() - started

    def run_epoch(self, progress: Progress) -> tuple[Progress, MetricSums]:
        """Runs one epoch; returns the progress, and the loss of its last step."""
        state, loss = progress.state, None
        key = _epoch_key(self.config.seed, progress.epoch)
        first = progress.epoch * self.steps
        for number, batch in enumerate(self._batches(progress.epoch), start=first):
            rate, sharded = self._learning_rate(number), self._shard(batch)
            # Only one step in flight: with several, all CPU threads may wait in sums over
            # devices, and none is left to run the device that they wait for.
            jax.block_until_ready(state)
            state, loss = self.step(state, sharded, key, rate)
        assert loss is not None, "an epoch has at least one step"
        return Progress(progress.epoch + 1, state), loss

    def _learning_rate(self, step: int) -> np.float32:
        """Learning rate of a step: linear warm-up, and cosine decay to a half.

        The running average of the weights makes a decay to 0 unnecessary.
        """
        total = self.epochs * self.steps
        cosine = 0.5 * (1 + math.cos(0.5 * math.pi * step / total))
        warm_up = min(1.0, (step + 1) / min(WARM_UP_STEPS, total))
        return np.float32(self.config.learning_rate * warm_up * cosine)

    def _batches(self, epoch: int) -> Iterator[Batch]:
        size, seed = self.config.batch_size, self.config.seed
        rows = sampling.epoch_rows(self.features, self.task, size, seed, epoch)
        own = multihost.own_rows(self.config.batch_size)
        return train_step.batches(self.features, self.task, rows, own)

    def _shard(self, batch: Batch) -> Batch:
        return train_step.shard_batch(batch, len(self.own_devices))


@jax.jit
def _epoch_key(seed: Array, epoch: Array) -> Array:
    return jax.random.fold_in(jax.random.key(seed), epoch)


@functools.lru_cache(maxsize=4)
def _mapped_step(
    step_config: StepConfig, devices: tuple[jax.Device, ...]
) -> Callable[..., Any]:
    """Maps the training step; it is compiled once for fits that share a `step_config`."""
    return train_step.map_train_step(step_config, devices)
