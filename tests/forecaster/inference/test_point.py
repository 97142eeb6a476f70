"""The point suits its metric: it is the median, or below it where days vary much."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forecaster.config import POINT_SHIFTS
from forecaster.inference import infer, intervals, predict
from tests.make import make_artefact, make_panel

PANEL = make_panel(n_depots=4, n_days=160)
ARTEFACT = make_artefact(PANEL)


def by_point(panel, artefact=ARTEFACT):
    raw = predict.predict(artefact, panel)
    return {
        each: infer.postprocess(artefact, panel, raw, infer.NONE_MISSING, each)
        for each in ("median", "balanced", "mape")
    }


def fleet(seed, level, scatter, missing):
    """A fleet with gaps, closed days, and a depot without history."""
    rng = np.random.default_rng(seed)
    shape = PANEL.demand_dt.shape
    demand_dt = np.round(level * rng.lognormal(0, scatter, shape)).astype(np.float32)
    demand_dt[rng.random(shape) < missing] = np.nan
    demand_dt[:, -1], demand_dt[0] = level, np.nan
    closed_dt = PANEL.closed_dt | (rng.random(PANEL.closed_dt.shape) < 0.1)
    return replace(PANEL, demand_dt=demand_dt, closed_dt=closed_dt)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    level=st.sampled_from([0.0, 0.3, 5.0, 200.0, 1e6]),
    scatter=st.sampled_from([0.0, 0.1, 1.0, 3.0]),
    missing=st.sampled_from([0.0, 0.3]),
)
def test_a_point_lies_in_its_interval_and_no_higher_the_more_it_is_made_for_mape(
    **drawn,
):
    made = by_point(fleet(**drawn))
    for each in made.values():
        assert ((each.p10_dh <= each.point_dh) & (each.point_dh <= each.p90_dh)).all()
        assert (each.point_dh[each.basis_dh == "closed"] == 0).all()
        np.testing.assert_array_equal(each.p50_dh, made["median"].p50_dh)
    median, balanced, mape = (each.point_dh for each in made.values())
    assert ((mape <= balanced) & (balanced <= median)).all()
    np.testing.assert_array_equal(median, made["median"].p50_dh)


def test_by_default_the_point_lies_a_little_below_the_median():
    result = infer.forecast(ARTEFACT, PANEL)
    is_open = result.basis_dh == infer.MODEL
    assert (result.point_dh < result.p50_dh)[is_open].all()
    assert (result.point_dh > 0.7 * result.p50_dh)[is_open].all()


def test_the_shift_is_the_squared_spread_times_that_of_the_metric():
    spread_d = predict.predict(ARTEFACT, PANEL).spread_d
    for name, made in by_point(PANEL).items():
        shift_dh = np.log1p(made.p50_dh) - np.log1p(made.point_dh)
        expected_dh = np.broadcast_to(
            POINT_SHIFTS[name] * spread_d[:, None] ** 2, (4, 7)
        )
        np.testing.assert_allclose(shift_dh, expected_dh, atol=1e-6)


def test_a_shift_ends_at_the_lower_bound_of_the_interval():
    narrow = intervals.IntervalTable(
        np.full(7, -1e-3, np.float32), np.full(7, 1e-3, np.float32)
    )
    made = by_point(PANEL, replace(ARTEFACT, intervals=narrow))["mape"]
    assert (made.p10_dh < made.p50_dh).all()
    np.testing.assert_array_equal(made.point_dh, made.p10_dh)


def test_a_depot_without_a_history_is_not_shifted():
    demand_dt = PANEL.demand_dt.copy()
    demand_dt[0] = np.nan
    made = by_point(replace(PANEL, demand_dt=demand_dt))["mape"]
    np.testing.assert_array_equal(made.point_dh[0], made.p50_dh[0])
    assert (made.point_dh[1:] < made.p50_dh[1:]).all()
