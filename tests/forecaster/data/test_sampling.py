"""An epoch passes over every depot's days once, and is a function of seed and epoch."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forecaster.config import TaskConfig
from forecaster.data import sampling
from forecaster.data.features import build_features
from tests.make import make_panel

TASK = TaskConfig(horizon=7, context=28)


def rows_of(features, seed=0, epoch=0, batch=8):
    return list(sampling.epoch_rows(features, TASK, batch, seed, epoch))


def test_each_depot_gets_as_many_windows_as_its_days_need():
    panel = make_panel(n_depots=3, n_days=120)
    demand = panel.demand_dt.copy()
    demand[1, :100] = np.nan
    demand[2] = np.nan
    features = build_features(replace(panel, demand_dt=demand), (), 7)
    rows = rows_of(features)
    depots = np.concatenate([row.depot_b[row.weight_b > 0] for row in rows])
    assert np.bincount(depots, minlength=3).tolist() == [5, 1, 0]
    assert len(rows) == sampling.steps_per_epoch(features, TASK, 8)


def test_a_short_batch_is_filled_up_without_weight():
    features = build_features(make_panel(n_depots=3, n_days=120), (), 7)
    rows = rows_of(features)
    assert all(
        len(row.depot_b) == len(row.last_b) == len(row.weight_b) == 8 for row in rows
    )
    assert sum(row.weight_b.sum() for row in rows) == 15


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


def test_every_day_is_an_origin_sooner_or_later():
    features = build_features(make_panel(n_depots=1, n_days=90), (), 7)
    seen = np.zeros(90, bool)
    for epoch in range(40):
        for row in rows_of(features, epoch=epoch):
            for last in row.last_b[row.weight_b > 0]:
                seen[max(0, last - TASK.context + 1) : last + 1] = True
    assert seen.all()
