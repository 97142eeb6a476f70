"""Masked losses of one window as (total, count), to be divided once over all devices."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float


def huber(
    actual_ch: Float[Array, "context horizon"],
    forecast_ch: Float[Array, "context horizon"],
    known_ch: Float[Array, "context horizon"],
    delta: float,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Huber loss of log counts over the known days, divided by `delta`.

    Its slope beyond `delta` is 1 for every `delta`.

    Actuals may be any number, even NaN, where `known_ch` is 0.

    Returns:
      Sum over known days, and their number.
    """
    # A NaN actual would survive the mask below, because NaN * 0 is NaN.
    actual_ch = jnp.where(known_ch > 0, actual_ch, 0.0)
    loss_ch = optax.huber_loss(forecast_ch, actual_ch, delta=delta) / delta
    return jnp.sum(loss_ch * known_ch), jnp.sum(known_ch)


def percentage_error(
    actual_ch: Float[Array, "context horizon"],
    forecast_ch: Float[Array, "context horizon"],
    known_ch: Float[Array, "context horizon"],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Absolute percentage error in orders of log counts, over known days with any.

    Returns:
      Sum of |forecast - actual| / actual as fractions, and the number of days.
    """
    counted_ch = jnp.where(actual_ch > 0.5, known_ch, 0.0)
    actual_ch = jnp.where(counted_ch > 0, jnp.expm1(actual_ch), 1.0)
    forecast_ch = jax.nn.relu(jnp.expm1(forecast_ch))
    error_ch = jnp.abs(forecast_ch - actual_ch) / actual_ch
    return jnp.sum(error_ch * counted_ch), jnp.sum(counted_ch)
