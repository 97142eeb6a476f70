"""The network in Flax, written for one depot; `train_step` maps it over many.

Two GRU layers read the context day by day. From the state after each day a head emits
all H days ahead at once, so that any day of the history is an origin to learn from
(forking sequences, arXiv 2510.04487). Its output is a correction to the baseline forecast.

An entity embedding of each depot (arXiv 1604.06737) adds its response to the kinds of day
ahead. A depot without an embedding has zeros.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jaxtyping import Array, Float

from forecaster.config import ModelConfig
from forecaster.data import inputs, windows
from forecaster.data.calendar_features import SEASON_COLUMNS
from forecaster.data.inputs import Slices

MIN_CAPACITY = 64
LAST_LAYER = "correction"
STATE_LAYERS = {"hr", "hz", "hn"}
"""Names of the kernels in Flax's GRU cell that read its state."""
EVERY_ORIGIN, TRAINED_ORIGINS = slice(None), slice(1, None, 2)
"""Context days used as origins. Neighbouring origins are nearly redundant, so training uses
every other one, at half the cost."""


class DepotForecaster(nn.Module):
    """Log counts of the H days after context days, for one depot.

    Attributes:
      horizon: H.
      model: Size of the network.
      capacity: Rows of the embedding table, including row 0 for depots without one.
      dtype: Type of the matrix products; None is that of the weights, float32.
    """

    horizon: int
    model: ModelConfig
    capacity: int
    dtype: Any = None

    @nn.compact
    def __call__(
        self, slices: Slices, train: bool = False
    ) -> Float[Array, "origin horizon"]:
        """Forecasts from every context day; in training, from `TRAINED_ORIGINS`.

        Args:
          slices: One depot's days, without a batch axis.
          train: Whether dropout is on; it then needs the key `dropout`.
        """
        width, context = self.model.head_units, inputs.n_context(slices, self.horizon)
        dense = functools.partial(nn.Dense, dtype=self.dtype)
        dropout = self._dropout(train)
        past_cf = inputs.past(jnp, slices, self.horizon)
        calendar = dense(width, name="calendar")
        day_sm = calendar(inputs.calendar_of_today(jnp, slices))
        state_cu = self._read(past_cf, day_sm[:context], dropout)
        origins = TRAINED_ORIGINS if train else EVERY_ORIGIN
        # A kernel for each day ahead: the influence of yesterday fades with the horizon.
        origin_ohm = nn.DenseGeneral(
            (self.horizon, width), dtype=self.dtype, name="origin"
        )(jnp.concatenate([state_cu, past_cf], axis=-1)[origins])
        targets = inputs.targets(jnp, slices, self.horizon)
        target_ohm = dense(width, use_bias=False, name="target")(
            targets.features[origins]
        )
        if slices.lead is None:
            effect_sm = self._depot_effect(slices.depot, slices.calendar, train)
            every_chm = windows.days_ahead(
                jnp, day_sm + effect_sm, context, self.horizon
            )
            ahead_ohm = every_chm[origins]
        else:
            # Origins before a late announcement see that day without it.
            known_chf = inputs.calendar_ahead(jnp, slices, self.horizon)
            known_ohf = known_chf[origins]
            effect_ohm = self._depot_effect(slices.depot, known_ohf, train)
            ahead_ohm = calendar(known_ohf) + effect_ohm
        sum_ohm = nn.silu(ahead_ohm + origin_ohm + target_ohm)
        mixed_ohm = nn.silu(dense(width, name="mix")(dropout(sum_ohm)))
        correction = nn.Dense(1, name=LAST_LAYER)(mixed_ohm)
        return targets.baseline[origins] + correction[..., 0]

    def _depot_effect(
        self, depot: Array, days: Float[Array, "*day feature"], train: bool
    ) -> Float[Array, "*day hidden"]:
        """Effect of the depot's embedding on each day."""
        model, width = self.model, self.model.head_units
        row = depot.astype(jnp.int32)
        table = nn.Embed(self.capacity, model.embedding_units, name="depots")
        has_embedding = row > 0
        if train:
            keep = 1.0 - model.embedding_dropout
            has_embedding &= jax.random.bernoulli(self.make_rng("dropout"), keep)
        embedding_e = jnp.where(has_embedding, table(row), 0.0)
        dense = functools.partial(nn.Dense, dtype=self.dtype)
        gain_m = dense(width, use_bias=False, name="gain")(embedding_e)
        # No depot-specific season: a year or two of data would overfit it.
        days_sk = days[..., SEASON_COLUMNS:]
        answer_sm = dense(width, use_bias=False, name="answer")(days_sk)
        bias_m = dense(width, use_bias=False, name="own")(embedding_e)
        return jnp.asarray(gain_m * answer_sm + bias_m)

    def _dropout(self, train: bool) -> Callable[[Array], Array]:
        """Dropout with one mask per window: a mask per step makes it a third slower."""

        def dropout(value: Array) -> Array:
            shared = tuple(range(value.ndim - 1))
            layer = nn.Dropout(self.model.dropout, broadcast_dims=shared)
            return jnp.asarray(layer(value, deterministic=not train))

        return dropout

    def _read(
        self,
        past_cf: Float[Array, "context feature"],
        day_cm: Float[Array, "context hidden"],
        dropout: Callable[[Array], Array],
    ) -> Float[Array, "context unit"]:
        """Two GRU layers over the context days."""
        cell = functools.partial(nn.GRUCell, self.model.units, dtype=self.dtype)
        today_cf = jnp.concatenate([past_cf, day_cm], axis=-1)
        # The cell is named, not nn.RNN: that name would not reach the parameters.
        first_cu = jnp.asarray(nn.RNN(cell(name="gru_1"))(today_cf))
        second = nn.RNN(cell(name="gru_2"))
        return jnp.asarray(second(dropout(first_cu)))


def padded_capacity(n_depots: int) -> int:
    """Rows of a fleet's embedding table, padded to a power of two.

    One more depot then does not change the shapes that a training step was compiled for.
    """
    return max(MIN_CAPACITY, 1 << int(n_depots).bit_length())


def init_params(module: DepotForecaster, example: Slices, seed: int) -> dict[str, Any]:
    """Fresh weights; the same seed gives the same ones.

    Biases, embeddings and the last layer start at zero, so that training starts from the
    baseline forecast; recurrent kernels start orthogonal; other kernels keep the variance
    of their input. Drawn on the host: Flax's initialisers, a hundred small programs, took
    longer to compile than a step.

    Args:
      module: The network.
      example: One window, for its shapes.
      seed: Seed of the weights.
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
