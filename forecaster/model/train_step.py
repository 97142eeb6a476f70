"""The training step: one window's loss, `vmap` over windows, `pmap` over devices.

Several members, which differ in their initial weights and dropout, are trained on the same
windows side by side; every leaf of their parameters has a leading axis of members. The
forecast is the mean of the members.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from forecaster.config import TaskConfig, TrainConfig
from forecaster.data import inputs
from forecaster.data.features import Features
from forecaster.data.inputs import Windows
from forecaster.data.sampling import BatchRows
from forecaster.model.model import DepotForecaster, init_params, trained_origins

DEVICES = "devices"
# By default an accelerator multiplies float32 in reduced precision.
FLOAT32 = "float32"
CLIP_NORM = 1.0
# Distance between the seeds of two members, so that runs with close seeds share no member.
SEED_STRIDE = 1_000_003
Params = Any


@struct.dataclass
class TrainState:
    """Weights of all members, optimiser state, and the average weights that are exported.

    Flax's own `TrainState` has neither members nor an average, and its `apply_gradients`
    takes no learning rate: an optax schedule is part of the compiled step, which would
    be compiled again for every night's number of steps.
    """

    step: Any  # scalar
    params: Params  # [member, ...]
    opt_state: Any
    average: Params


@dataclass(frozen=True)
class StepConfig:
    """Static arguments of a step; fits with equal ones share the compiled step."""

    module: DepotForecaster
    config: TrainConfig

    @classmethod
    def of(cls, module: DepotForecaster, config: TrainConfig) -> "StepConfig":
        """Builds the configuration of a step; what does not affect it has its default."""
        defaults = TrainConfig()
        return cls(
            module,
            replace(
                config,
                epochs=defaults.epochs,
                most_steps=defaults.most_steps,
                learning_rate=defaults.learning_rate,
                seed=defaults.seed,
                validation_days=defaults.validation_days,
            ),
        )

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """AdamW with gradient clipping, for a learning rate of 1; biases decay as well."""
        adamw = optax.adamw(1.0, weight_decay=self.config.weight_decay)
        return optax.chain(optax.clip_by_global_norm(CLIP_NORM), adamw)

    def train_forecast(
        self, params: Params, windows: Windows, origins: slice, key: Array
    ) -> Array:
        """Forecast log counts of one window, with dropout drawn from the key."""
        rngs = {"dropout": key}
        with jax.default_matmul_precision(FLOAT32):
            forecast_oh = self.module.apply(
                {"params": params}, windows, origins, train=True, rngs=rngs
            )
        return jnp.asarray(forecast_oh, jnp.float32)


class Batch(NamedTuple):
    """Windows of one step; every array's first axis is the row."""

    windows: Windows
    # Volume weight; 0.0 for a padding row.
    weight_b: Any  # [B]
    # Position in the global batch, independent of the device.
    row_b: Any  # [B]


class MetricSums(NamedTuple):
    """A metric as total and count over all devices; divide once, when reporting."""

    total: Any  # scalar
    n: Any  # scalar


def create_train_state(
    step_config: StepConfig, example: Windows, seed: int, params: Params | None = None
) -> TrainState:
    """Creates the state at step 0, from the given weights or from fresh ones drawn by seed.

    `example` is one window without a batch axis, which gives the shapes.
    """
    if params is None:
        members = [
            init_params(step_config.module, example, seed + SEED_STRIDE * number)
            for number in range(step_config.config.members)
        ]
        params = jax.tree.map(lambda *values: np.stack(values), *members)
    return _first_state(step_config, params)


# Jitted as a whole: otherwise each operation would be compiled separately.
@functools.partial(jax.jit, static_argnums=0)
def _first_state(step_config: StepConfig, params: Params) -> TrainState:
    state = jax.vmap(step_config.optimiser.init)(params)
    return TrainState(jnp.zeros((), jnp.int32), params, state, params)


def train_step(
    step_config: StepConfig, state: TrainState, batch: Batch, key: Array, rate: Array
) -> tuple[TrainState, MetricSums]:
    """Takes one optimiser step on one device's share of the batch.

    Pure; `map_train_step` maps it. The mean is taken over the observed days of *all* devices,
    so a share full of gaps weighs less.

    Returns:
      The next state, and the members' loss over all devices.
    """
    key = jax.random.fold_in(key, state.step)

    def of_member(member: tuple[Params, Array]) -> tuple[Params, MetricSums]:
        params, number = member
        return _gradients(step_config, params, batch, jax.random.fold_in(key, number))

    # One member after another: their products are too small to gain from a joint one.
    numbered = (state.params, jnp.arange(step_config.config.members))
    grads, sums = jax.lax.map(of_member, numbered)
    state = _advance(step_config, state, jax.lax.psum(grads, DEVICES), rate)
    return state, MetricSums(
        jax.lax.psum(jnp.sum(sums.total), DEVICES), jnp.sum(sums.n)
    )


def map_train_step(
    step_config: StepConfig, devices: Sequence[jax.Device]
) -> Callable[..., Any]:
    """Maps `train_step` over devices; the only use of `pmap`.

    Replicated arguments have the axis None and are passed as they are; batches have the axis 0
    and are passed as `shard_batch` returns them, with each process's own rows. Results are the
    same on all devices, so every process gets one copy. The memory of the state passed in is
    donated to the next state.
    """
    # The equivalent with jax.shard_map under jax.jit: a mesh of these devices with the axis
    # DEVICES, in_specs P() for None and P(DEVICES) for 0, out_specs P(), donate_argnums for
    # jit. Batches would be global arrays [B, ...], put on their devices before the step.
    return jax.pmap(
        functools.partial(train_step, step_config),
        axis_name=DEVICES,
        in_axes=(None, 0, None, None),
        out_axes=None,
        devices=devices,
        donate_argnums=(0,),
    )


def replicate(devices: Sequence[jax.Device], tree: Any) -> Any:
    """Copies the host's arrays to this process's devices, sharded as a step returns them.

    A step whose first arguments have another sharding is compiled twice.
    """
    mesh = Mesh(np.array(devices), (DEVICES,))
    # Copies, because the state is donated to the step.
    return jax.device_put(tree, NamedSharding(mesh, PartitionSpec()), may_alias=False)


def shard_batch(batch: Batch, n_devices: int) -> Batch:
    """Splits a batch over devices: [B, …] becomes [N, ⌈B / N⌉, …].

    Where B is not a multiple of N, the last row is repeated with a weight of 0.
    """
    n_missing = -len(batch.weight_b) % n_devices

    def share(value: np.ndarray, mode: Literal["edge", "constant"]) -> np.ndarray:
        fill = [(0, n_missing)] + [(0, 0)] * (value.ndim - 1)
        padded = np.pad(value, fill, mode=mode) if n_missing else value
        return padded.reshape(n_devices, -1, *value.shape[1:])

    edge = functools.partial(share, mode="edge")
    weight_b = share(batch.weight_b, "constant")
    return jax.tree.map(edge, batch)._replace(weight_b=weight_b)


def batches(
    features: Features, task: TaskConfig, rows: Iterator[BatchRows], own: range
) -> Iterator[Batch]:
    """Cuts the windows of each step, on the host and a batch at a time.

    This process computes its `own` rows of each global batch; rows past the end of the batch
    repeat its last row with a weight of 0.
    """
    row_b = np.asarray(own, dtype=np.int32)
    for row in rows:
        size = len(row.weight_b)
        at_b = np.minimum(row_b, size - 1)
        windows = inputs.cut_windows(
            features, task, row.depot_b[at_b], row.last_b[at_b]
        )
        weight_b = np.where(row_b < size, row.weight_b[at_b], np.float32(0))
        yield Batch(
            jax.tree.map(lambda value: np.asarray(value, np.float32), windows),
            weight_b,
            row_b,
        )


def _gradients(
    step_config: StepConfig, params: Params, batch: Batch, key: Array
) -> tuple[Params, MetricSums]:
    """This device's share of one member's gradients and loss."""
    # A key per row, not per device: dropout must not depend on how many devices there are.
    keys = jax.vmap(functools.partial(jax.random.fold_in, key))(batch.row_b)
    window_loss = functools.partial(_window_loss, step_config)
    batch_loss = jax.vmap(window_loss, in_axes=(None, 0, 0))

    def mean_loss(params: Params) -> tuple[Array, MetricSums]:
        total_b, count_b = batch_loss(params, batch.windows, keys)
        count = jax.lax.psum(jnp.sum(count_b * batch.weight_b), DEVICES)
        total = jnp.sum(total_b * batch.weight_b)
        return total / jnp.maximum(count, 1.0), MetricSums(total, count)

    (_, sums), grads = jax.value_and_grad(mean_loss, has_aux=True)(params)
    return grads, sums


def _window_loss(
    step_config: StepConfig, params: Params, windows: Windows, key: Array
) -> tuple[Array, Array]:
    """Huber loss of one window, as (total, count) over its observed days."""
    horizon = step_config.module.horizon
    origins = trained_origins(inputs.n_context(windows, horizon), horizon)
    forecast_oh = step_config.train_forecast(params, windows, origins, key)
    actual_oh, observed_oh = map(
        jnp.asarray, inputs.actuals(jnp, windows, horizon, origins)
    )
    return huber(actual_oh, forecast_oh, observed_oh, step_config.config.huber_delta)


def huber(
    actual_ch: Float[Array, "context horizon"],
    forecast_ch: Float[Array, "context horizon"],
    observed_ch: Float[Array, "context horizon"],
    delta: float,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Huber loss over observed days, as (sum, number of days); its slope beyond `delta` is 1.

    Args:
      actual_ch: Log counts; may be any number, even NaN, where `observed_ch` is 0.
      forecast_ch: Log counts.
      observed_ch: 1.0 where the actual was observed.
      delta: Error, in log counts, at which the loss turns from squared to absolute.
    """
    # A NaN actual would survive the mask below, because NaN * 0 is NaN.
    actual_ch = jnp.where(observed_ch > 0, actual_ch, 0.0)
    loss_ch = optax.huber_loss(forecast_ch, actual_ch, delta=delta) / delta
    return jnp.sum(loss_ch * observed_ch), jnp.sum(observed_ch)


def _advance(
    step_config: StepConfig, state: TrainState, grads: Params, rate: Array
) -> TrainState:
    update = jax.vmap(step_config.optimiser.update)
    updates, opt_state = update(grads, state.opt_state, state.params)
    scaled = jax.tree.map(lambda change: rate * change, updates)
    params = optax.apply_updates(state.params, scaled)
    # A plain mean at first, so that the average forgets the initial weights; optax.ema has a
    # fixed decay.
    step = jnp.asarray(state.step + 1, jnp.float32)
    decay = jnp.minimum(step_config.config.average_decay, (step + 1.0) / (step + 10.0))
    average = optax.incremental_update(params, state.average, 1.0 - decay)
    return TrainState(state.step + 1, params, opt_state, average)
