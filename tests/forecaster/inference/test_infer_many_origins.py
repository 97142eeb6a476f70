"""Forecasts of many origins in one pass equal single forecasts, and see no later data."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from forecaster.data.panel import Panel
from forecaster.errors import CutoffError
from forecaster.inference import infer
from tests.make import (
    START,
    make_artefact,
    make_demand,
    make_depots,
    make_holidays,
    make_panel,
)

N_DAYS = 200
HOLIDAYS = make_holidays(
    (date(2024, 3, 29), "Good Friday"), (date(2024, 7, 19), "A day off")
)


def fleet(change=lambda demand: demand) -> Panel:
    demand = change(make_demand(5, N_DAYS))
    depots = make_depots(5, closed_weekdays=[[7], [], [], [], []])
    return make_panel(5, N_DAYS, 21, demand=demand, depots=depots, holidays=HOLIDAYS)


def days_before_last(panel, *days):
    return [panel.origin - timedelta(days=ago) for ago in sorted(days, reverse=True)]


def as_one(result):
    return np.stack([result.p10_dh, result.p50_dh, result.p90_dh])


def opens_late(demand):
    """The last depot has its first order ten days before the end."""
    late = demand["depot_id"] == "D4"
    early = demand["service_on"] < START + timedelta(days=N_DAYS - 10)
    return demand[~(late & early)]


def never_opens(demand):
    return demand[demand["depot_id"] != "D4"]


def falls_silent(demand):
    """The last depot has no demand for longer than the receptive field."""
    silent = demand["service_on"] > START + timedelta(days=9)
    return demand[~((demand["depot_id"] == "D4") & silent)]


@pytest.mark.parametrize(
    "panel",
    [
        pytest.param(fleet(), id="all known"),
        pytest.param(fleet(opens_late), id="one opens on the way"),
        pytest.param(fleet(never_opens), id="one is never seen"),
        pytest.param(fleet(falls_silent), id="one falls silent"),
    ],
)
def test_many_origins_in_one_pass_equal_single_forecasts(panel):
    artefact = make_artefact(panel)
    origins = days_before_last(panel, 0, 1, 2, 9, 10, 11, 30)
    forecasts = dict(infer.forecast_origins(artefact, panel, origins))
    assert list(forecasts) == origins
    for origin, result in forecasts.items():
        alone = infer.forecast(artefact, panel.as_of(origin))
        # In a pass over many origins, the network reads more days than for a single one.
        np.testing.assert_allclose(as_one(result), as_one(alone), rtol=2e-3)
        np.testing.assert_array_equal(result.basis_dh, alone.basis_dh)


def test_a_depot_opens_every_other_day_at_the_cost_of_one_pass_and_the_new_depots():
    """Only the histories of new depots change with every origin; only they are computed again."""
    opening, n_depots = 14, 40
    first_step = dict(zip(range(opening), range(N_DAYS - 27, N_DAYS, 2), strict=True))
    demand = make_demand(n_depots, N_DAYS)
    step = (pd.to_datetime(demand["service_on"]) - pd.Timestamp(START)).dt.days
    opens = demand["depot_id"].str[1:].astype(int).map(first_step).fillna(0)
    demand = demand[step >= opens]
    panel = make_panel(n_depots, N_DAYS, 21, demand=demand, holidays=HOLIDAYS)
    artefact, computed = make_artefact(panel), []
    forward = artefact.network.forward

    def counted(windows, n_origins, group_b):
        computed.append((len(windows.depot), n_origins))
        return forward(windows, n_origins, group_b)

    artefact.network.forward = counted
    list(infer.forecast_origins(artefact, panel, days_before_last(panel, *range(28))))
    assert computed[0] == (n_depots - opening, 28)
    assert all(depots <= opening and days <= 2 for depots, days in computed[1:])


@pytest.mark.parametrize("point", ["median", "mape"])
def test_one_origin_of_many_days_is_a_single_forecast_to_the_last_digits(point):
    panel = fleet()
    artefact = make_artefact(panel)
    (origin,) = days_before_last(panel, 3)
    ((_, result),) = infer.forecast_origins(artefact, panel, [origin], point)
    alone = infer.forecast(artefact, panel.as_of(origin), point=point)
    np.testing.assert_allclose(as_one(result), as_one(alone), rtol=1e-5)
    np.testing.assert_allclose(result.point_dh, alone.point_dh, rtol=1e-5)


def test_an_origin_among_many_sees_nothing_after_it():
    panel = fleet()
    artefact = make_artefact(panel)
    origins = days_before_last(panel, 0, 20, 40)
    tampered = panel.demand_dt.copy()
    tampered[:, panel.step(origins[1]) + 1 :] *= 1_000
    there = dict(infer.forecast_origins(artefact, panel, origins))
    changed = dict(
        infer.forecast_origins(artefact, replace(panel, demand_dt=tampered), origins)
    )
    for origin in origins[:2]:
        np.testing.assert_array_equal(as_one(changed[origin]), as_one(there[origin]))
    assert (changed[origins[2]].p50_dh > 10 * there[origins[2]].p50_dh + 10).any()


def test_an_origin_without_any_history_is_refused():
    def begins_late(demand):
        return demand.assign(
            orders=demand["orders"].where(
                demand["service_on"] > START + timedelta(days=9)
            )
        )

    panel = fleet(begins_late)
    artefact = make_artefact(panel)
    with pytest.raises(CutoffError, match=r"must lie between 2024-01-11 and"):
        list(infer.forecast_origins(artefact, panel, [START + timedelta(days=5)]))
