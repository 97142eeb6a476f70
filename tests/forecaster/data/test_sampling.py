"""An epoch passes over every depot's days once, and is a function of seed and epoch."""

from dataclasses import replace

import numpy as np

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
