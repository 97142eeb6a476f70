"""The lab's cells: what is cut, what is scored, what is printed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks import bands
from tests.benchmarks.cutoffs import (
    CUTOFFS,
    HOLDOUT_DAYS,
    LENGTHS,
    Cell,
    ModelForecasts,
    cut,
    report,
    total_scores,
)
from tests.benchmarks.invented import invented_panel
from tests.benchmarks.peers import Forecasts, naive_forecast, with_actuals


def panel_of(n_days, *opened):
    """A fleet, and depots that open on these days."""
    panel = invented_panel(9, n_days)
    for row, step in enumerate(opened):
        panel.demand_dt[row, :step] = np.nan
    return panel


def test_a_cell_has_its_days_before_the_cutoff_and_four_weeks_after():
    panel, split = cut(panel_of(500), Cell("x", 7, 60, 2, CUTOFFS))
    assert (panel.n_depots, panel.n_steps) == (7, 60 + HOLDOUT_DAYS)
    assert (panel.origin - split.trained_through).days == HOLDOUT_DAYS
    ahead = [(origin - split.trained_through).days for origin in split.origins]
    assert ahead == [0, 7, 14, 21]


def test_a_history_shorter_than_asked_is_no_cell():
    assert cut(panel_of(300), Cell("x", 7, 285, 0, CUTOFFS)) is None
    whole, _ = cut(panel_of(300), Cell("x", 7, LENGTHS[-1], 0, CUTOFFS))
    assert whole.n_steps == 300


def test_a_depot_without_two_weeks_of_history_is_left_out():
    cell = Cell("x", 9999, 60, 0, CUTOFFS)
    panel, _ = cut(panel_of(200, 171, 159, 158, 150), cell)
    assert panel.depot_ids == tuple(f"D{row}" for row in range(2, 9))


def test_totals_are_scored_by_coverage_and_bias():
    panel = invented_panel(4, 60)
    cell_data = cut(panel, Cell("x", 4, LENGTHS[-1], 0, CUTOFFS))
    assert cell_data is not None
    panel, split = cell_data
    forecasts = naive_forecast("median4")(panel, split)
    scored = with_actuals(panel, split, forecasts)
    fleet_oh = scored.actual_odh.sum(axis=1)
    inside = np.stack([fleet_oh - 1, fleet_oh, fleet_oh + 1], axis=1)
    outside = np.stack([fleet_oh + 1, fleet_oh + 2, fleet_oh + 3], axis=1)
    totals = np.stack([inside, outside], axis=1)
    forecasts_with_totals = ModelForecasts(Forecasts(*forecasts), ("", "Delft"), totals)
    shares = total_scores(panel, scored, forecasts_with_totals)
    assert shares["fleet_in"] == 1.0
    assert shares["cities_in"] < 1.0
    assert shares["fleet_bias"] == 0.0
    low = ModelForecasts(Forecasts(*forecasts), ("", "Delft"), totals - 1)
    bias = total_scores(panel, scored, low)["fleet_bias"]
    assert bias == pytest.approx(-100 * fleet_oh.size / fleet_oh.sum())


def test_bands_are_counted_by_kind_of_day():
    panel = invented_panel(4, 60)
    cell_data = cut(panel, Cell("x", 4, LENGTHS[-1], 0, CUTOFFS))
    assert cell_data is not None
    panel, split = cell_data
    scored = with_actuals(panel, split, naive_forecast("median4")(panel, split))
    fleet_oh = scored.actual_odh.sum(axis=1)
    above = np.stack([fleet_oh + 1, fleet_oh + 2, fleet_oh + 3], axis=1)
    inside = np.stack([fleet_oh - 5, fleet_oh - 4, fleet_oh + 1], axis=1)
    totals = np.stack([inside, above], axis=1)
    forecasts = ModelForecasts(
        Forecasts(*naive_forecast("median4")(panel, split)), ("", "Delft"), totals
    )
    counts = bands.band_counts(panel, split, scored, forecasts)
    kinds = bands.kinds_of_days(panel, split)
    n_fleet = sum(counts[f"fleet {kind} n"] for kind in bands.KINDS)
    assert (
        n_fleet
        == sum(counts[f"fleet {kind} in"] for kind in bands.KINDS)
        == fleet_oh.size
    )
    assert sum(counts[f"depots {kind} n"] for kind in bands.KINDS) <= kinds.size
    rows = pd.DataFrame([counts | {"model": "delivered", "length": 60}])
    table = bands.report(rows, "delivered")
    assert "fleet ordinary" in table
    assert bands.report(rows.drop(columns="depots ordinary n"), "delivered") == ""


def test_the_day_after_a_holiday_is_beside_it():
    whole, found = invented_panel(4, 500), 0
    named = replace(whole.calendar, kinds=("festival",))
    whole = replace(whole, calendar=named)
    for number in range(CUTOFFS):
        cell_data = cut(whole, Cell("x", 4, LENGTHS[-1], number, CUTOFFS))
        assert cell_data is not None
        kind_odh = bands.kinds_of_days(*cell_data)
        kind_dt = kind_odh.swapaxes(0, 1).reshape(kind_odh.shape[1], -1)
        after = (kind_dt[:, :-1] == 1) & (kind_dt[:, 1:] != 1)
        assert (kind_dt[:, 1:][after] == 2).all()
        found += after.sum()
    assert found > 0


def test_the_table_takes_geometric_means_against_the_best_peer_of_each_cell():
    rows = [
        {"name": "a", "n_depots": 7, "length": length, "cutoff": 0, "model": model}
        | {"mape": mape, "wape": mape, "bias": 0.01}
        for length, scores in (
            (60, {"delivered": 0.2, "median4": 0.1, "theta": 0.4, "baseline": 0.2}),
            (90, {"delivered": 0.2, "median4": 0.8, "theta": 0.4, "baseline": 0.4}),
        )
        for model, mape in scores.items()
    ]
    table = report(pd.DataFrame(rows))
    of_all = table.split("\n\n")[0].splitlines()[-1].split()
    assert of_all[0] == "all"
    # 0.2 / 0.1 and 0.2 / 0.4: their geometric mean is 1, the worst 2.
    assert [float(each) for each in of_all[1:3]] == [1.0, 2.0]
    assert "cells lost to the baseline: 0.00" in table
