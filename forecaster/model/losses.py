"""Masked losses of one window as (total, count), to be divided once over all devices."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float


def huber(
    actual_ch: Float[Array, "context horizon"],
    forecast_ch: Float[Array, "context horizon"],
    observed_ch: Float[Array, "context horizon"],
    delta: float,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Huber loss of log counts over the observed days, divided by `delta`.

    Its slope beyond `delta` is 1 for every `delta`.

    Args:
      actual_ch: Log counts; may be any number, even NaN, where `observed_ch` is 0.
      forecast_ch: Log counts.
      observed_ch: 1.0 where the actual was observed.
      delta: Log counts; below it the loss is squared, above it absolute.

    Returns:
      Sum over observed days, and their number.
    """
    # A NaN actual would survive the mask below, because NaN * 0 is NaN.
    actual_ch = jnp.where(observed_ch > 0, actual_ch, 0.0)
    loss_ch = optax.huber_loss(forecast_ch, actual_ch, delta=delta) / delta
    return jnp.sum(loss_ch * observed_ch), jnp.sum(observed_ch)


def percentage_error(
    actual_ch: Float[Array, "context horizon"],
    forecast_ch: Float[Array, "context horizon"],
    observed_ch: Float[Array, "context horizon"],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Absolute percentage error in orders of log counts, over observed days with any.

    Returns:
      Sum of |forecast - actual| / actual as fractions, and the number of days.
    """
    valid_ch = jnp.where(actual_ch > 0.5, observed_ch, 0.0)
    actual_ch = jnp.where(valid_ch > 0, jnp.expm1(actual_ch), 1.0)
    forecast_ch = jax.nn.relu(jnp.expm1(forecast_ch))
    error_ch = jnp.abs(forecast_ch - actual_ch) / actual_ch
    return jnp.sum(error_ch * valid_ch), jnp.sum(valid_ch)
