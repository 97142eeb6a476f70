"""An epoch passes about once over every depot's days, and is a function of seed and epoch."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecaster.config import TaskConfig
from forecaster.data import sampling
from forecaster.data.features import build_features
from tests.make import make_panel

TASK = TaskConfig(horizon=7, context=28)
FEW = settings(max_examples=25)


def rows_of(features, seed=0, epoch=0, batch=8):
    return list(sampling.epoch_rows(features, TASK, batch, seed, epoch))


def test_each_depot_gets_as_many_windows_as_its_days_hold_and_a_batch_is_filled_up():
    panel = make_panel(n_depots=3, n_days=120)
    demand = panel.demand_dt.copy()
    demand[1, :100] = np.nan
    demand[2] = np.nan
    features = build_features(replace(panel, demand_dt=demand), (), 7)
    rows = rows_of(features)
    depots = np.concatenate([row.depot_b[row.weight_b > 0] for row in rows])
    assert np.bincount(depots, minlength=3).tolist() == [4, 1, 0]
    assert {len(part) for row in rows for part in row} == {8}
    assert len(rows) == sampling.steps_per_epoch(features, TASK, 8)


@FEW
@given(
    n_depots=st.integers(1, 40), n_days=st.integers(30, 150), most=st.integers(1, 64)
)
def test_even_batches_take_as_few_steps_with_little_padding(n_depots, n_days, most):
    features = build_features(make_panel(n_depots=n_depots, n_days=n_days), (), 7)
    size = sampling.even_batch_size(features, TASK, most)
    n_steps = sampling.steps_per_epoch(features, TASK, size)
    assert n_steps == sampling.steps_per_epoch(features, TASK, most)
    n_windows = sum(int((row.weight_b > 0).sum()) for row in rows_of(features, batch=1))
    assert 1 <= size <= most
    assert size * n_steps - n_windows < sampling.ROUNDED_WINDOWS * n_steps


def test_seed_and_epoch_decide_everything():
    features = build_features(make_panel(n_days=200), (), 7)
    for name in ("depot_b", "last_b"):
        first, again, later, other = (
            np.concatenate(
                [getattr(row, name) for row in rows_of(features, seed, epoch)]
            )
            for seed, epoch in ((1, 2), (1, 2), (1, 3), (2, 2))
        )
        np.testing.assert_array_equal(first, again)
        assert (first != later).any()
        assert (first != other).any()


def test_a_window_weighs_by_the_volume_of_its_depot():
    panel = make_panel(n_depots=3, n_days=120)
    scale = np.array([1.0, 32.0, 1e6])[:, None]
    demand = (1000 * scale * np.ones_like(panel.demand_dt)).astype(np.float32)
    demand[2] = 0.0
    weights = sampling.volume_weights(
        build_features(replace(panel, demand_dt=demand), (), 7)
    )
    assert weights[1] / weights[0] == pytest.approx(32**0.4, rel=1e-3)
    assert weights[2] == np.float32(0.2)


def test_a_level_below_zero_weighs_least():
    features = build_features(make_panel(n_depots=3, n_days=120), (), 7)
    features.level_dt[1] = -0.01
    weights = sampling.volume_weights(features)
    assert weights[1] == np.float32(0.2)
    assert np.isfinite(weights).all()


@FEW
@given(n_days=st.integers(35, 200), first=st.integers(0, 100), epoch=st.integers(0, 99))
def test_no_window_begins_before_the_history_that_it_is_of(n_days, first, epoch):
    """A window lies within its depot's history, unless the depot is younger than a window."""
    first = min(first, n_days - 1)
    panel = make_panel(n_depots=2, n_days=n_days)
    demand = panel.demand_dt.copy()
    demand[1, :first] = np.nan
    features = build_features(replace(panel, demand_dt=demand), (), 7)
    for row in rows_of(features, epoch=epoch):
        real = row.weight_b > 0
        starts = row.last_b[real] - TASK.context + 1
        begins = np.where(row.depot_b[real] == 1, first, 0)
        ends_today = row.last_b[real] == n_days - 1
        assert ((starts >= begins) | ends_today).all()


def test_every_day_is_learnt_from_and_the_newest_in_every_pass():
    features = build_features(make_panel(n_depots=1, n_days=300), (), 7)
    seen = np.zeros(300)
    for epoch in range(400):
        for row in rows_of(features, epoch=epoch):
            for last in row.last_b[row.weight_b > 0]:
                seen[last - TASK.context + 1 : last + 1] += 1
    assert (seen > 0).all()
    assert (seen[-TASK.context :] >= 400).all()


@pytest.mark.parametrize(("n_days", "expected"), [(28, 1), (29, 2), (83, 2), (84, 3)])
def test_a_history_longer_than_a_window_has_two(n_days, expected):
    features = build_features(make_panel(n_depots=1, n_days=n_days), (), 7)
    assert sampling.steps_per_epoch(features, TASK, batch_size=1) == expected
