"""Losses against plain NumPy, with gaps that must not leak."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from forecaster.model.train_step import huber


def plain_huber(actual, forecast, observed, delta):
    total = 0.0
    for a, f, is_observed in zip(
        actual.flat, forecast.flat, observed.flat, strict=True
    ):
        gap = abs(f - a)
        if is_observed:
            total += gap**2 / (2 * delta) if gap <= delta else gap - delta / 2
    return total


@pytest.mark.parametrize("delta", [0.05, 0.5, 2.0])
def test_huber_agrees_with_a_plain_loop(delta, rng):
    actual, forecast = rng.normal(5, 0.5, (2, 9, 7)).astype(np.float32)
    observed = (rng.random((9, 7)) > 0.4).astype(np.float32)
    total, count = huber(
        jnp.asarray(actual), jnp.asarray(forecast), jnp.asarray(observed), delta
    )
    assert float(total) == pytest.approx(
        plain_huber(actual, forecast, observed, delta), rel=1e-5
    )
    assert float(count) == observed.sum()


def test_a_gap_changes_neither_loss_nor_gradient(rng):
    forecast = jnp.asarray(rng.normal(size=(4, 3)).astype(np.float32))
    observed = jnp.ones((4, 3)).at[1, 2].set(0.0)
    actual = jnp.zeros((4, 3))

    def total(forecast, actual):
        return huber(actual, forecast, observed, 0.1)[0]

    for odd in (jnp.nan, jnp.inf, 7.0):
        gappy = actual.at[1, 2].set(odd)
        assert float(total(forecast, gappy)) == float(total(forecast, actual))
        np.testing.assert_array_equal(
            jax.grad(total)(forecast, gappy), jax.grad(total)(forecast, actual)
        )
