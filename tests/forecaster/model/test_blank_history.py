"""Blank counts before the first observed day."""

from datetime import timedelta

import numpy as np
import pytest

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.inference import infer
from forecaster.model.two_stage_fit import Recipe, train_model
from tests.make import START, make_demand, make_panel

RECIPE = Recipe(
    TaskConfig(7, 28),
    ModelConfig(units=6, head_units=8),
    TrainConfig(epochs=1, batch_size=12, members=2),
)


@pytest.mark.parametrize("n", [15, 27])
def test_blank_counts_before_the_first_day_do_not_keep_a_fleet_from_training(n):
    """A partner's table begins in January, with empty cells until the fleet opens."""
    demand = make_demand(3, 120)
    opened = START + timedelta(days=120 - n)
    demand["orders"] = demand["orders"].where(demand["service_on"] >= opened)
    panel = make_panel(3, 120, 21, demand=demand)
    trained = train_model(panel, RECIPE)
    assert np.isfinite(infer.forecast(trained.production, panel).p50_dh).all()
