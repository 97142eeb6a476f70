"""Fleets, calendars and frames of rare shapes."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from forecaster import forecast
from forecaster.data.effects import fit_effects
from forecaster.errors import BadInputError
from forecaster.hours.today import running_cities, running_depots
from forecaster.inference import infer
from tests.forecaster.hours.test_today import depots
from tests.make import (
    START,
    make_artefact,
    make_demand,
    make_depots,
    make_events,
    make_holidays,
    make_panel,
)  # fmt: skip


@pytest.mark.parametrize("kind", ["game", "holiday"])
def test_an_event_of_any_kind_has_its_effect(kind):
    n_days = 210
    days = [START + timedelta(days=n) for n in (20, 41, 62, 83, 104, 125, n_days + 2)]
    demand = make_demand(4, n_days)
    demand.loc[demand["service_on"].isin(days), "orders"] *= 3
    events = make_events(*((kind, day, day, None, None, None) for day in days))
    panel = make_panel(4, n_days, 21, demand=demand, events=events)
    effect_dt = fit_effects(panel, 7).of(panel, 7)[..., 0]
    assert (effect_dt[:, n_days + 2] > 0.5).all()


@pytest.fixture
def model():
    return make_artefact(make_panel())


@pytest.fixture
def orders():
    return make_demand(n_days=120).rename(columns={"service_on": "date"})


def test_an_event_finds_its_depot_by_a_number(model, orders):
    numbered = orders.assign(depot_id=orders["depot_id"].str[1:].astype(int))
    day = orders["date"].max() + timedelta(days=2)
    events = pd.DataFrame(
        {"kind": "closed", "starts_on": day, "ends_on": day, "depot_id": [0]}
    )
    made = forecast(model, numbered, events)
    assert made["basis"].eq("closed").sum() == 1


@pytest.mark.parametrize("zone", ["Europe/Amsterdam", "America/New_York"])
def test_days_with_a_zone_are_its_local_days(model, orders, zone):
    local = pd.to_datetime(orders["date"]).dt.tz_localize(zone)
    pd.testing.assert_frame_equal(
        forecast(model, orders.assign(date=local)), forecast(model, orders)
    )


def test_a_depot_described_twice_is_refused_in_one_sentence(model, orders):
    twice = pd.DataFrame({"depot_id": ["D0", "D0"], "city": ["Delft", "Ghent"]})
    with pytest.raises(BadInputError, match="D0"):
        forecast(model, orders, depots=twice)


def test_negative_orders_are_refused(model, orders):
    with pytest.raises(BadInputError, match="D0"):
        forecast(
            model, orders.assign(orders=orders["orders"].where(orders.index > 0, -3))
        )


def test_all_cities_are_not_told_while_depots_are_missing():
    assert list(running_cities(depots())["city"]) == ["", "X", "Y"]
    # The source of depot b, in city X, has not spoken today.
    some = running_cities(depots(model_part=[240.0, 240.0, 120.0]).iloc[[0, 2]])
    assert "" not in list(some["city"])


def test_a_city_that_a_planner_opens_is_estimated_as_its_depot_is():
    """Closed by the model (all quantiles 0); the planner sets 50 orders, 60 came by 6."""
    opened = depots(
        part=[240.0, 240.0, 50.0], p10=[200.0, 200.0, 50.0], p50=[240.0, 240.0, 50.0],
        p90=[280.0, 280.0, 50.0], city_p10=[400.0, 400.0, 0.0],
        city_p50=[480.0, 480.0, 0.0], city_p90=[560.0, 560.0, 0.0],
        fleet_p10=400.0, fleet_p50=480.0, fleet_p90=560.0,
    )  # fmt: skip
    city = running_cities(opened).set_index("city").loc["Y", "estimate"]
    depot = running_depots(opened).set_index("depot_id").loc["c", "estimate"]
    assert city == pytest.approx(depot)


def test_a_late_depot_has_the_band_of_the_night(model, orders):
    last = orders["date"].max()
    is_late = orders["depot_id"].eq("D0") & (orders["date"] > last - timedelta(days=5))
    late = orders[~is_late]
    panel = make_panel(demand=late.rename(columns={"date": "service_on"}))
    night = infer.forecast(model, panel, {"D0": 5})
    made = forecast(model, late, depots=make_depots()[["depot_id", "city"]])
    np.testing.assert_allclose(made["p90"], night.p90_dh.ravel(), rtol=1e-6)


def test_a_kind_is_read_in_lower_case_as_from_a_file(model, orders):
    day = orders["date"].max() + timedelta(days=2)
    events = pd.DataFrame({"kind": ["Closed"], "starts_on": [day], "ends_on": [day]})
    assert forecast(model, orders, events)["basis"].eq("closed").sum() == 4


def test_a_holiday_that_falls_on_another_keeps_its_effect():
    """As in Italy on 2026-11-01: the library names such a day "All Saints' Day; National Unity Day"."""
    n_days = 700

    def effect_ahead(name):
        others = [(START + timedelta(days=n), f"Day {n}") for n in range(30, 690, 60)]
        saints = [START + timedelta(days=n_days + 2 - 365)]
        demand = make_demand(4, n_days)
        demand.loc[demand["service_on"].isin(saints), "orders"] *= 0.3
        ahead = (START + timedelta(days=n_days + 2), name)
        holidays = make_holidays(
            *others, *((day, "All Saints' Day") for day in saints), ahead
        )
        panel = make_panel(4, n_days, 21, demand=demand, holidays=holidays)
        return fit_effects(panel, 7).of(panel, 7)[:, n_days + 2, 0]

    alone, shared = map(
        effect_ahead, ("All Saints' Day", "All Saints' Day; National Unity Day")
    )
    np.testing.assert_allclose(shared, alone, atol=0.05)
