"""The network: its gradients, its types, and what it may not see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from forecaster.config import ModelConfig, TaskConfig
from forecaster.data import inputs, lags
from forecaster.data.features import build_features, embedding_rows
from forecaster.model.model import DepotForecaster, init_params, trained_origins
from forecaster.model.train_step import huber
from tests.make import make_panel

TASK = TaskConfig(horizon=3, context=14)
MODEL = ModelConfig(units=4, head_units=5, dropout=0.5)


@pytest.fixture(scope="module")
def window():
    features = build_features(
        make_panel(n_depots=1, n_days=80), (), 7, embedding_rows(["D0"])
    )
    windows = inputs.cut_windows(features, TASK, np.array([0]), np.array([70]))
    return jax.tree.map(lambda value: jnp.asarray(value[0], jnp.float32), windows)


@pytest.fixture(scope="module")
def module():
    return DepotForecaster(TASK.horizon, MODEL, capacity=4)


@pytest.fixture(scope="module")
def apply(module):
    """The network compiled once; otherwise every operation would be compiled by itself."""
    return jax.jit(module.apply, static_argnames="train")


@pytest.fixture(scope="module")
def params(module, window):
    fresh = init_params(module, window, seed=1)
    # The last layer starts at zero; for gradients it must not be.
    return jax.tree.map(lambda value: value + 0.05, fresh)


def test_training_starts_from_the_baseline_forecast(module, apply, window):
    fresh = init_params(module, window, seed=1)
    np.testing.assert_allclose(
        apply({"params": fresh}, window),
        inputs.future(jnp, window, TASK.horizon).baseline,
        rtol=1e-6,
    )


def test_fresh_weights_follow_the_seed_and_keep_the_variance_of_their_input():
    module = DepotForecaster(7, ModelConfig(units=64), capacity=4)
    features = build_features(make_panel(n_depots=1, n_days=80), (), 7)
    window = inputs.cut_windows(
        features, TaskConfig(7, 14), np.array([0]), np.array([70])
    )
    one = jax.tree.map(lambda value: np.float32(value[0]), window)
    fresh, same, other = (init_params(module, one, seed) for seed in (1, 1, 2))
    jax.tree.map(np.testing.assert_array_equal, fresh, same)
    assert (fresh["mix"]["kernel"] != other["mix"]["kernel"]).any()
    state = fresh["gru_2"]["hz"]["kernel"]
    np.testing.assert_allclose(state @ state.T, np.eye(64), atol=1e-5)
    into = fresh["gru_2"]["iz"]["kernel"]
    assert np.std(into) == pytest.approx(1 / 8, rel=0.05)
    assert not fresh["depots"]["embedding"].any()


def test_gradients_agree_with_finite_differences(apply, params, window):
    actual, observed = inputs.actuals(jnp, window, TASK.horizon)

    def loss(weights):
        # A wide Huber loss is smooth, as finite differences require.
        result = apply({"params": weights}, window)
        total, count = huber(actual, result, observed, delta=10.0)
        return total / count

    check_grads(
        jax.jit(loss), (params,), order=1, modes=["rev"], atol=2e-3, rtol=2e-2, eps=1e-2
    )


def test_an_origin_sees_no_later_demand(apply, params, window):
    reach = lags.LOOKBACK_DAYS
    origin = 5
    later = jnp.arange(window.log_demand.shape[0]) > reach + origin
    tampered = window._replace(
        **{
            name: jnp.where(later, 9.0, getattr(window, name))
            for name in ("log_demand", "observed", "regular", "level", "spread", "age")
        }
    )
    one, other = (apply({"params": params}, each) for each in (window, tampered))
    np.testing.assert_array_equal(one[: origin + 1], other[: origin + 1])
    assert (one[origin + 1 :] != other[origin + 1 :]).any()


@pytest.mark.parametrize("step", [1, 2, 3])
def test_each_step_reads_the_calendar_of_its_own_day(apply, params, window, step):
    """An offset by one would move the change to another step."""
    origin = 6
    shifted = window._replace(calendar=window.calendar.at[origin + step].add(1.0))
    one, other = (apply({"params": params}, each) for each in (window, shifted))
    # Days up to the origin are read by the recurrent layers too; later days are not.
    changed = np.flatnonzero(np.asarray(one[origin] != other[origin])) + 1
    assert changed.tolist() == [step]


def test_training_forecasts_every_fourth_day_up_to_the_last_as_serving_does(
    params, window
):
    origins = trained_origins(TASK.context, TASK.horizon)
    sure = ModelConfig(units=4, head_units=5, dropout=0.0, embedding_dropout=0.0)
    module = DepotForecaster(TASK.horizon, sure, capacity=4)
    key = {"dropout": jax.random.key(0)}

    @jax.jit
    def both(params, window):
        train = {"train": True, "rngs": key}
        trained = module.apply({"params": params}, window, origins, **train)
        return trained, module.apply({"params": params}, window)

    trained, served = both(params, window)
    np.testing.assert_allclose(trained, served[::-1][::4][::-1], atol=1e-6)


def test_a_long_horizon_costs_no_larger_program_and_not_many_more_targets():
    panel = make_panel(n_depots=1, n_days=300, ahead=61)
    operations, targets = {}, {}
    for horizon in (7, 61):
        task = TaskConfig(horizon=horizon)
        features = build_features(panel, (), horizon)
        window = inputs.cut_windows(features, task, np.array([0]), np.array([200]))
        one = jax.tree.map(lambda value: np.float32(value[0]), window)
        module = DepotForecaster(horizon, MODEL, capacity=4)
        fresh = init_params(module, one, seed=0)
        origins = trained_origins(task.context, horizon)
        program = jax.make_jaxpr(
            lambda params, one, module=module, origins=origins: module.apply(
                {"params": params}, one, origins
            )
        )(fresh, one)
        operations[horizon] = str(program).count("\n")
        targets[horizon] = len(range(task.context)[origins]) * horizon
    assert operations[61] < 1.2 * operations[7]
    assert targets[61] < 5 * targets[7]


def test_model_loss_and_gradient_keep_strict_types(apply, params, window):
    with jax.numpy_dtype_promotion("strict"):
        key = jax.random.key(0)
        actual, observed = inputs.actuals(jnp, window, TASK.horizon)

        def total(weights):
            result = apply(
                {"params": weights}, window, train=True, rngs={"dropout": key}
            )
            return huber(actual, result, observed, delta=0.05)[0]

        jax.eval_shape(jax.grad(total), params)


def test_dropout_follows_its_key(apply, params, window):
    result = [
        apply(
            {"params": params}, window, train=True, rngs={"dropout": jax.random.key(k)}
        )
        for k in (1, 1, 2)
    ]
    np.testing.assert_array_equal(result[0], result[1])
    assert (result[0] != result[2]).any()
