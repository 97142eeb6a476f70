"""Intervals are wider where the newest days are missing, and only there."""

from dataclasses import replace

import numpy as np

from forecaster.inference import infer
from forecaster.inference.intervals import MIN_WIDENING, IntervalTable
from tests.make import make_artefact, make_panel


def panel_without(missing):
    """Four depots; the newest days of some are missing."""
    panel = make_panel(n_depots=4, n_days=120)
    demand_dt = panel.demand_dt.copy()
    for depot, days in missing.items():
        demand_dt[panel.depot_ids.index(depot), -days:] = np.nan
    return replace(panel, demand_dt=demand_dt)


def test_a_late_depot_is_as_uncertain_as_from_an_earlier_day():
    missing = {"D1": 1, "D2": 2}
    panel = panel_without(missing)
    reach_h = 0.1 * np.array([1, 2, 3, 4, 5, 6, 7], np.float32)
    made = replace(make_artefact(panel), intervals=IntervalTable(-reach_h, 2 * reach_h))
    before = infer.forecast(made, panel)
    after = infer.forecast(made, panel, missing)

    def reach(forecast, name):
        return np.log1p(getattr(forecast, name)) - np.log1p(forecast.p50_dh)

    np.testing.assert_array_equal(after.p50_dh, before.p50_dh)
    for name in ("p10_dh", "p90_dh"):
        ratio = reach(after, name) / reach(before, name)
        np.testing.assert_array_equal(ratio[[0, 3]], 1)
        flat = MIN_WIDENING, MIN_WIDENING**2
        np.testing.assert_allclose(
            ratio[1], [2, 3 / 2, 4 / 3, 5 / 4, 6 / 5, 7 / 6, flat[0]], rtol=1e-4
        )
        by_two = [3, 4 / 2, 5 / 3, 6 / 4, 7 / 5, 7 / 6, flat[1]]
        np.testing.assert_allclose(ratio[2], by_two, rtol=1e-4)
    fleet_before, fleet_after = before.totals[0], after.totals[0]
    np.testing.assert_array_equal(fleet_after.p50_h, fleet_before.p50_h)
    assert (fleet_after.p10_h < fleet_before.p10_h).all()
    assert (fleet_after.p90_h > fleet_before.p90_h).all()


def test_a_flat_table_and_an_empty_one_keep_the_order_of_quantiles():
    panel = panel_without({"D1": 9})
    for reach in (0.0, 0.4):
        flat_h = np.full(7, reach, np.float32)
        made = replace(make_artefact(panel), intervals=IntervalTable(-flat_h, flat_h))
        after = infer.forecast(made, panel, {"D1": 9})
        assert (after.p10_dh >= 0).all()
        assert (after.p10_dh <= after.p50_dh).all()
        assert (after.p50_dh <= after.p90_dh).all()
