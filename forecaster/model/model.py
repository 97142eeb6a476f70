"""The network in Flax, written for one depot; `train_step` maps it over many.

Two GRU layers read the context day by day. From the state after each day a head emits
all H days ahead at once, so that any day of the history is an origin to learn from
(forking sequences, arXiv 2510.04487). Its output is a correction to the baseline forecast.

An entity embedding of each depot (arXiv 1604.06737) adds its response to the kinds of day
ahead. A depot without an embedding has zeros.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jaxtyping import Array, Float

from forecaster.config import ModelConfig
from forecaster.data import inputs, lags
from forecaster.data.calendar_features import SEASON_COLUMNS
from forecaster.data.inputs import Windows

MIN_CAPACITY = 64
LAST_LAYER = "correction"
STATE_LAYERS = {"hr", "hz", "hn"}
"""Names of the kernels in Flax's GRU cell that read its state."""
ORIGIN_STRIDE = 4
"""Context days from one origin to the next in training. Neighbouring origins are nearly
redundant, and the head on all of them is most of a step's work; windows begin at random
days, so that every day of the week is an origin."""


class DepotForecaster(nn.Module):
    """Forecasts log counts of the H days after each context day, for one depot.

    The parts share one scope, so that the layers keep short paths, such as
    `gru_1/ir/kernel`, which the artefact also uses.

    Attributes:
      horizon: H.
      model: Size of the network.
      capacity: Rows of the embedding table, including row 0 for depots without one.
    """

    horizon: int
    model: ModelConfig
    capacity: int

    def setup(self) -> None:
        """Builds the parts."""
        self.calendar = nn.Dense(self.model.head_units)
        self.past_encoder = PastEncoder(self.model)
        self.depot_effect = DepotEffect(self.model, self.capacity)
        self.head = HorizonHead(self.horizon, self.model)
        for part in (self.past_encoder, self.depot_effect, self.head):
            nn.share_scope(self, part)

    def __call__(
        self, windows: Windows, origins: slice = lags.ALL, train: bool = False
    ) -> Float[Array, "origin horizon"]:
        """Forecasts from some context days of one depot; `windows` has no batch axis.

        With `train`, dropout is on and needs the key `dropout`.
        """
        context = inputs.n_context(windows, self.horizon)
        columns = inputs.past_columns(jnp, windows, self.horizon)
        past_cf = jnp.stack([jnp.asarray(column) for column in columns], axis=-1)
        day_sm = self.calendar(windows.calendar)
        state_cu = self.past_encoder(past_cf, day_sm[:context], train)
        effect_sm = self.depot_effect(windows.depot, windows.calendar, train)
        ahead_ohm = lags.days_ahead(day_sm + effect_sm, context, self.horizon, origins)
        future = inputs.future(jnp, windows, self.horizon, origins)
        origin_of = jnp.concatenate([state_cu, past_cf], axis=-1)[origins]
        correction_oh = self.head(
            origin_of, jnp.asarray(future.features), ahead_ohm, train
        )
        return future.baseline + correction_oh


class PastEncoder(nn.Module):
    """Two GRU layers over the context days; returns the state after each day."""

    model: ModelConfig

    @nn.compact
    def __call__(
        self,
        past_cf: Float[Array, "context feature"],
        day_cm: Float[Array, "context hidden"],
        train: bool,
    ) -> Float[Array, "context unit"]:
        """Encodes the features of each context day and its calendar."""
        cell = functools.partial(nn.GRUCell, self.model.units)
        today_cf = jnp.concatenate([past_cf, day_cm], axis=-1)
        # The cell is named, because a name of nn.RNN would not reach the parameters.
        first_cu = jnp.asarray(nn.RNN(cell(name="gru_1"))(today_cf))
        dropped_cu = _dropout(self.model.dropout, "Dropout_0", first_cu, train)
        return jnp.asarray(nn.RNN(cell(name="gru_2"))(dropped_cu))


class DepotEffect(nn.Module):
    """Effect of a depot's embedding on each day; none for a depot without one."""

    model: ModelConfig
    capacity: int

    @nn.compact
    def __call__(
        self,
        depot: Float[lags.Array, ""],
        days: Float[lags.Array, "*day feature"],
        train: bool,
    ) -> Float[Array, "*day hidden"]:
        """Effect of a depot, given by the row of its embedding (0 for none), on each day."""
        row = jnp.asarray(depot, jnp.int32)
        table = nn.Embed(self.capacity, self.model.embedding_units, name="depots")
        has_embedding = row > 0
        if train:
            keep = 1.0 - self.model.embedding_dropout
            has_embedding &= jax.random.bernoulli(self.make_rng("dropout"), keep)
        embedding_e = jnp.where(has_embedding, table(row), 0.0)
        dense = functools.partial(nn.Dense, self.model.head_units, use_bias=False)
        gain_m = dense(name="gain")(embedding_e)
        # No depot-specific season: a year or two of data would overfit it.
        response_sm = dense(name="answer")(days[..., SEASON_COLUMNS:])
        return jnp.asarray(gain_m * response_sm + dense(name="own")(embedding_e))


class HorizonHead(nn.Module):
    """Correction to the baseline forecast of each of the H days after an origin."""

    horizon: int
    model: ModelConfig

    @nn.compact
    def __call__(
        self,
        origin_of: Float[Array, "origin feature"],
        future_ohf: Float[Array, "origin horizon future"],
        ahead_ohm: Float[Array, "origin horizon hidden"],
        train: bool,
    ) -> Float[Array, "origin horizon"]:
        """Returns the corrections, log counts.

        Inputs are each origin's state and features, the features of the days ahead that derive from
        the past, and the calendar of these days with the depot's effect added.
        """
        width = self.model.head_units
        # A kernel for each day ahead: the influence of yesterday fades with the horizon.
        project_per_day = nn.DenseGeneral((self.horizon, width), name="origin")
        # The initial weights depend on the layer's name, so it must not change.
        future_ohm = nn.Dense(width, use_bias=False, name="target")(future_ohf)
        sum_ohm = nn.silu(ahead_ohm + project_per_day(origin_of) + future_ohm)
        dropped_ohm = _dropout(self.model.dropout, "Dropout_1", sum_ohm, train)
        mixed_ohm = nn.silu(nn.Dense(width, name="mix")(dropped_ohm))
        return jnp.asarray(nn.Dense(1, name=LAST_LAYER)(mixed_ohm)[..., 0])


def _dropout(rate: float, name: str, value: Array, train: bool) -> Array:
    """Dropout with one mask per window: a mask per step makes it a third slower.

    The layer is named because the parts share one scope, where each would be `Dropout_0`.
    """
    shared = tuple(range(value.ndim - 1))
    layer = nn.Dropout(rate, broadcast_dims=shared, name=name)
    return jnp.asarray(layer(value, deterministic=not train))


def trained_origins(context: int, horizon: int) -> slice:
    """Context days that are origins in training: every `ORIGIN_STRIDE`th, back from the last.

    There are fewer for horizons of five weeks or more: a window would otherwise learn each target
    many times over, at a cost that grows with the horizon.
    """
    stride = max(ORIGIN_STRIDE, horizon // 7)
    return slice((context - 1) % stride, None, stride)


def padded_capacity(n_depots: int) -> int:
    """Rows of a fleet's embedding table, padded to a power of two.

    An additional depot then rarely changes the shapes that a training step was compiled for.
    """
    return max(MIN_CAPACITY, 1 << int(n_depots).bit_length())


def init_params(module: DepotForecaster, example: Windows, seed: int) -> dict[str, Any]:
    """Draws initial weights; the same seed gives the same weights.

    Biases, embeddings and the last layer start at zero, so that training starts from the
    baseline forecast; recurrent kernels start orthogonal; other kernels keep the variance
    of their input. They are drawn on the host: Flax's initialisers, a hundred small programs,
    took longer to compile than a step.

    `example` is one window, which gives the shapes.
    """
    rng = np.random.default_rng(seed)
    shapes = jax.eval_shape(module.init, jax.random.key(0), example)["params"]
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: _initial_value(rng, [step.key for step in path], leaf.shape),
        shapes,
    )


def _initial_value(
    rng: np.random.Generator, path: list[str], shape: tuple[int, ...]
) -> np.ndarray:
    """Initial values of the array at a path, such as `gru_1`, `hr`, `kernel`."""
    *layers, name = path
    if name in {"bias", "embedding"} or layers == [LAST_LAYER]:
        return np.zeros(shape, np.float32)
    value = rng.normal(size=shape)
    if layers[-1] in STATE_LAYERS:
        value, upper = np.linalg.qr(value)
        value *= np.sign(np.diag(upper))
    else:
        value /= math.sqrt(shape[0])
    return value.astype(np.float32)
