"""Trains the network: one depot's loss, `vmap` over windows, `pmap` over devices."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state
from jaxtyping import Array

from forecaster import inputs, losses
from forecaster.config import TaskConfig, TrainConfig
from forecaster.errors import ConfigError
from forecaster.features import Features
from forecaster.inputs import Slices
from forecaster.model import DepotForecaster, init_params
from forecaster.sampling import Rows

DEVICES = "devices"
CLIP_NORM = 1.0
Params = Any


class TrainState(train_state.TrainState):
    """Weights, optimiser, and the running average of the weights that is delivered."""

    average: Params = None


class Batch(NamedTuple):
    """Windows of one step; every array's first axis is the row."""

    slices: Slices
    # 0.0 for a row that only fills the batch up.
    weight_b: Any  # [B]
    # Position in the whole batch, whatever device the row is on.
    row_b: Any  # [B]


class Sums(NamedTuple):
    """A metric as total and count over all devices; divide once, when reporting."""

    total: Any  # scalar
    n: Any  # scalar


def create_train_state(
    module: DepotForecaster, example: Slices, config: TrainConfig
) -> TrainState:
    """A state at step 0; the same seed gives the same one."""
    params = init_params(module, example, config.seed)
    optimiser = optax.chain(
        optax.clip_by_global_norm(CLIP_NORM),
        optax.adamw(config.learning_rate, weight_decay=config.weight_decay),
    )
    return TrainState.create(
        apply_fn=module.apply, params=params, tx=optimiser, average=params
    )


def train_step(
    config: TrainConfig, task: TaskConfig, state: TrainState, batch: Batch, key: Array
) -> tuple[TrainState, Sums]:
    """Takes one optimiser step on one device's share of the batch.

    Pure; `over_devices` maps it. The mean is taken over the known days of *all* devices,
    so a share full of gaps weighs less.

    Returns:
      The next state, and the loss over all devices.
    """
    key = jax.random.fold_in(key, state.step)
    # A key per row, not per device: dropout must not depend on how many devices there are.
    keys = jax.vmap(functools.partial(jax.random.fold_in, key))(batch.row_b)
    window_loss = functools.partial(_window_loss, state.apply_fn, task, config)
    batch_loss = jax.vmap(window_loss, in_axes=(None, 0, 0))

    def mean_loss(params: Params) -> tuple[Array, Sums]:
        total_b, count_b = batch_loss(params, batch.slices, keys)
        count = jax.lax.psum(jnp.sum(count_b * batch.weight_b), DEVICES)
        total = jnp.sum(total_b * batch.weight_b)
        return total / jnp.maximum(count, 1.0), Sums(total, count)

    (_, sums), grads = jax.value_and_grad(mean_loss, has_aux=True)(state.params)
    state = state.apply_gradients(grads=jax.lax.psum(grads, DEVICES))
    state = state.replace(average=_average(config, state))
    return state, Sums(jax.lax.psum(sums.total, DEVICES), sums.n)


def evaluate_step(
    apply_fn: Callable[..., Array],
    task: TaskConfig,
    origins: int,
    params: Params,
    batch: Batch,
) -> Sums:
    """Absolute percentage error from the last `origins` origins of each window."""

    def window_error(slices: Slices) -> tuple[Array, Array]:
        forecast_ch = apply_fn({"params": params}, slices)[-origins:]
        actual_ch, known_ch = inputs.actuals(jnp, slices, task.horizon)
        return losses.percentage_error(
            actual_ch[-origins:], forecast_ch, known_ch[-origins:]
        )

    total_b, count_b = jax.vmap(window_error)(batch.slices)
    return Sums(
        jax.lax.psum(jnp.sum(total_b * batch.weight_b), DEVICES),
        jax.lax.psum(jnp.sum(count_b * batch.weight_b), DEVICES),
    )


def over_devices(
    step: Callable[..., Any],
    devices: Sequence[jax.Device],
    in_axes: tuple[int | None, ...],
) -> Callable[..., Any]:
    """Maps a step over devices: the only place that knows of `pmap`.

    Replicated arguments have the axis None and come as they are; batches have the axis 0
    and come as `share_out` gives them. Results are the same on all devices, so one copy
    comes back.
    """
    return jax.pmap(
        step, axis_name=DEVICES, in_axes=in_axes, out_axes=None, devices=devices
    )


def share_out(batch: Batch, n_devices: int) -> Batch:
    """Gives each device its share: [B, …] becomes [N, B / N, …].

    Raises:
      ConfigError: the batch does not divide by the number of devices.
    """
    size = len(batch.weight_b)
    if size % n_devices:
        raise ConfigError(
            f"batch_size is {size}, but must divide by the {n_devices} devices. Choose a "
            f"multiple of {n_devices}."
        )
    return jax.tree.map(
        lambda value: value.reshape(n_devices, size // n_devices, *value.shape[1:]),
        batch,
    )


def batches(
    features: Features, task: TaskConfig, rows: Iterator[Rows]
) -> Iterator[Batch]:
    """Cuts the windows of each step, on the host and a batch at a time."""
    for row in rows:
        slices = inputs.cut(features, task, row.depot_b, row.last_b)
        yield Batch(
            Slices(*(np.asarray(value, np.float32) for value in slices)),
            row.weight_b,
            np.arange(len(row.weight_b), dtype=np.int32),
        )


def _window_loss(
    apply_fn: Callable[..., Array],
    task: TaskConfig,
    config: TrainConfig,
    params: Params,
    slices: Slices,
    key: Array,
) -> tuple[Array, Array]:
    """Huber loss of one window, as (total, count) over its known days."""
    forecast_ch = apply_fn(
        {"params": params}, slices, train=True, rngs={"dropout": key}
    )
    actual_ch, known_ch = inputs.actuals(jnp, slices, task.horizon)
    return losses.huber(actual_ch, forecast_ch, known_ch, config.huber_delta)


def _average(config: TrainConfig, state: TrainState) -> Params:
    """The running average, which starts as a plain mean so that it forgets the start."""
    step = jnp.asarray(state.step, jnp.float32)
    decay = jnp.minimum(config.average_decay, (step + 1.0) / (step + 10.0))
    return optax.incremental_update(state.params, state.average, 1.0 - decay)
