"""Serving from the last days alone equals serving from the whole history."""

from dataclasses import fields, replace
from datetime import date, timedelta
from functools import partial

import numpy as np
import pytest

from forecaster.config import TaskConfig
from forecaster.data import inputs
from forecaster.data.features import build_features, embedding_rows
from forecaster.data.panel import Panel
from forecaster.data.residual_features import CityResidualMean
from forecaster.inference import predict
from tests.make import (
    START,
    make_artefact,
    make_demand,
    make_depots,
    make_events,
    make_holidays,
    make_panel,
    make_residuals,
)

HOLIDAYS = [
    (date(year, month, day), name)
    for year in (2024, 2025, 2026)
    for month, day, name in ((1, 1, "New year"), (7, 4, "Summer"), (12, 25, "Winter"))
] + [(date(2024, 4, 1), "Easter"), (date(2025, 4, 21), "Easter")]


def odd_panel(n_days: int, seed: int, ahead: int = 21) -> Panel:
    """A panel with gaps, closed days, events, and depots that are late, silent or never seen."""
    rng = np.random.default_rng(seed)
    demand = make_demand(6, n_days, seed)
    gone = rng.random(len(demand)) < 0.1
    depot, day = demand["depot_id"], demand["service_on"]
    late = (depot == "D2") & (day < START + timedelta(days=n_days // 2))
    silent = (depot == "D3") & (day > START + timedelta(days=n_days // 3))
    back = day > START + timedelta(days=n_days - 15)
    never = depot == "D4"
    steps = [*map(int, rng.integers(n_days, size=9)), n_days + 3]
    games = [
        ("game", first, first + timedelta(days=1), city, None, None)
        for city in ("Delft", "Ghent", None)
        for first in (START + timedelta(days=step) for step in steps)
    ]
    return make_panel(
        6, n_days, ahead,
        depots=make_depots(6, closed_weekdays=[[7], [], [], [], [], [6, 7]]),
        demand=demand[~(gone | late | never | (silent & ~back))],
        events=make_events(*games),
        holidays=make_holidays(*HOLIDAYS),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("n_days", "horizon", "last_days"),
    [
        (1000, 7, 68),
        (760, 7, 40),
        (400, 10, 90),
        (50, 7, 68),
    ],
)
def test_features_of_the_last_days_are_the_last_of_all(n_days, horizon, last_days):
    panel = odd_panel(n_days, seed=n_days)
    kinds, rows = panel.calendar.kinds, embedding_rows(panel.depot_ids[:4])
    whole = build_features(panel, kinds, horizon, rows)
    some = build_features(panel, kinds, horizon, rows, last_days=last_days)
    assert some.n_steps == min(last_days, n_days)
    for name in (field.name for field in fields(some)):
        result, all_of_it = getattr(some, name), getattr(whole, name)
        if name.endswith(("_dt", "_dtf", "_gtf")) and all_of_it is not None:
            is_of_days_ahead = name in ("yearly_dtf", "event_response_dtf")
            read = 1 if is_of_days_ahead else min(last_days, n_days)
            assert result.shape[1] == read + panel.ahead, name
            all_of_it = all_of_it[:, -result.shape[1] :]
            np.testing.assert_allclose(result, all_of_it, 1e-6, 1e-7, err_msg=name)
    assert np.abs(some.event_response_dtf).max() > 0
    assert (some.yearly_dtf != 0).any() == (n_days > 357)


@pytest.mark.parametrize("n_days", [300, 50])
def test_the_last_windows_are_those_that_are_cut_from_all_days(n_days):
    panel, task = odd_panel(n_days, seed=3), TaskConfig(7, 40)
    of_panel = partial(
        build_features, panel, panel.calendar.kinds, 7, embedding_rows(("D1",))
    )
    last = inputs.last_windows(of_panel(last_days=68), task)
    last_d = np.full(6, n_days - 1)
    cut = inputs.cut_windows(of_panel(), task, np.arange(6), last_d)
    for name, value in last._asdict().items():
        is_of_days_ahead = name in ("yearly", "event_response")
        read = np.s_[:, task.context :] if is_of_days_ahead else np.s_[:]
        expected = getattr(cut, name)[read]
        np.testing.assert_allclose(value[read], expected, 1e-6, 1e-6, err_msg=name)


def test_chunks_give_the_same_city_residuals_as_the_whole_fleet(monkeypatch):
    """Chunks compute them from the last days, the whole fleet from all days."""
    panel = odd_panel(700, seed=5)
    artefact = make_artefact(panel)
    monkeypatch.setattr(predict, "DEPOTS_PER_CHUNK", 4)
    recorded: list[CityResidualMean] = []
    build = predict.build_features

    def record(*args):
        recorded.append(args[4])
        return build(*args)

    monkeypatch.setattr(predict, "build_features", record)
    # Depots without history are filled in before; this fleet has none of them.
    panel = replace(panel, demand_dt=np.nan_to_num(panel.demand_dt, nan=80.0))
    predict.predict(artefact, panel)
    whole = CityResidualMean()
    whole.add(make_residuals(panel), panel.cities)
    late_dt, all_dt = recorded[0].of(panel.cities), whole.of(panel.cities)
    read = artefact.task.context + 28 + 3 + panel.ahead
    np.testing.assert_allclose(late_dt[:, -read:], all_dt[:, -read:], 1e-5, 1e-6)
    assert np.abs(all_dt[:, -read : -panel.ahead]).max() > 0
