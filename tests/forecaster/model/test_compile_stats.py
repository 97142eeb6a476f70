"""A second training in the same process compiles nothing, even one day or depot larger."""

import jax
import pytest

from forecaster.model.two_stage_fit import train_model
from tests.forecaster.model.test_two_stage_fit import RECIPE
from tests.make import make_panel


@pytest.fixture(scope="module")
def compilations():
    """Events of XLA's compilations, a list that grows."""
    events = []

    def count(event, *_, **__):
        if event.endswith("backend_compile_duration"):
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(count)
    jax.jit(lambda value: value + 1)(1)
    assert events, "a function that is new is compiled, and counted"
    return events


@pytest.fixture(scope="module")
def first_night(compilations):
    """Number of compilations of a training with 24 windows, three full batches."""
    before = len(compilations)
    train_model(make_panel(n_depots=4, n_days=150), RECIPE)
    return len(compilations) - before


def test_a_first_night_compiles_its_steps_and_little_else(first_night):
    assert first_night <= 12


@pytest.mark.parametrize(
    ("n_depots", "n_days"),
    [
        pytest.param(4, 151, id="a day longer"),
        pytest.param(5, 151, id="a depot more, whose last batch is short"),
    ],
)
def test_the_next_night_compiles_nothing(compilations, first_night, n_depots, n_days):
    assert first_night is not None
    before = len(compilations)
    train_model(make_panel(n_depots, n_days), RECIPE)
    assert len(compilations) == before
