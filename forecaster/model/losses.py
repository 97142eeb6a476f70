"""Masked losses of one window as (total, count), to be divided once over all devices."""

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
