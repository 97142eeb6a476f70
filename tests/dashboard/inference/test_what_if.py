"""What-if forecasts and contributions, against the model run without the dashboard."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.inference import what_if
from dashboard.inference.what_if import Scenario
from forecaster.data.features import CALENDAR_REACH
from forecaster.data.panel_builder import build_panel
from forecaster.inference import artefact, infer, predict
from forecaster.inference.explain import CORRECTED
from pipelines import schema
from pipelines.demand import counting
from tests.dashboard.seed import HORIZON, make_depots, make_events, make_holidays
from tests.pipelines.make import (
    LAST,
    NOW,
    START,
    add_champion,
    add_depot,
    forecast_from,
)

pytestmark = pytest.mark.db


def of_whole_fleet(model, seeded, demand, events):
    """Medians of every depot by the champion, built without the dashboard."""
    panel = build_panel(
        make_depots(), demand, events, make_holidays(seeded.through),
        seeded.through, HORIZON + CALENDAR_REACH,
    )  # fmt: skip
    made = infer.forecast(model, panel)
    return pd.DataFrame(made.p50_dh, index=panel.depot_ids)


def one_day(depot, kind, day):
    return Scenario(depot, day, day, kind)


def event(kind, day, depot):
    row = {"kind": kind, "starts_on": day, "ends_on": day, "depot_id": depot}
    return pd.DataFrame([row], columns=list(make_events(day).columns))


def ordinary_day(seeded):
    """A day ahead without events that is no Sunday."""
    first = seeded.through + timedelta(days=1)
    return first if first.isoweekday() != 7 else first + timedelta(days=1)


def shown(seeded, depot):
    newest = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    return newest.loc[newest["depot_id"] == depot, "point"].to_numpy()


def share_of_change(folder, seeded, scenario):
    """Ratio of the model's own forecasts with and without the scenario, by day."""
    model, demand = artefact.load(next(folder.glob("*.npz"))), seeded.demand
    events = make_events(seeded.through)
    depot, kind, day_on = scenario
    added = event(kind, day_on, depot)
    now = of_whole_fleet(model, seeded, demand, events)
    then = of_whole_fleet(model, seeded, demand, pd.concat([events, added]))
    changed = then.loc[depot] / now.loc[depot]
    return changed.fillna(1.0).to_numpy()


@pytest.mark.parametrize("kind", ["closed", "promotion"])
@pytest.mark.parametrize("depot", ["LON-01", "RTM-02"])
def test_a_scenario_scales_the_forecast_shown_as_it_scales_the_models(
    dashboard, freshness, seeded, kind, depot
):
    """The seeded forecasts are not the model's own, so the two can be told apart."""
    scenario = (depot, kind, ordinary_day(seeded))
    outcome = what_if.simulate(one_day(*scenario), freshness)
    share = share_of_change(dashboard, seeded, scenario)
    assert (share != 1).any()
    np.testing.assert_allclose(outcome["forecast"], shown(seeded, depot))
    np.testing.assert_allclose(
        outcome["scenario"], shown(seeded, depot) * share, rtol=1e-5
    )
    assert outcome["target_on"].dt.date.tolist() == [
        seeded.through + timedelta(days=step) for step in range(1, 8)
    ]


def test_an_event_changes_each_day_of_a_scenario(freshness, seeded):
    first = seeded.through + timedelta(days=2)
    scenario = Scenario("LON-01", first, first + timedelta(days=2), "promotion")
    outcome = what_if.simulate(scenario, freshness)
    changed = outcome["scenario"] / outcome["forecast"]
    # There is a promotion on the last day already.
    assert (changed.iloc[1:3] != 1).all()


def test_corrected_counts_are_no_effect_of_the_scenario(freshness, seeded, write):
    versions = schema.demand_versions
    write(sa.update(versions).values(orders=versions.c.orders * 3))
    day = seeded.through + timedelta(days=4)
    outcome = what_if.simulate(one_day("LON-01", "closed", day), freshness)
    np.testing.assert_allclose(outcome["forecast"], shown(seeded, "LON-01"))
    others = outcome.drop(index=3)
    np.testing.assert_allclose(others["scenario"], others["forecast"], rtol=0.2)


def test_the_inputs_cover_the_models_receptive_field(
    dashboard, seeded, freshness, monkeypatch
):
    reads = []
    read = queries.panel_tables
    monkeypatch.setattr(
        queries, "panel_tables", lambda *keys: reads.append(keys) or read(*keys)
    )
    what_if.simulate(one_day("LON-01", "closed", ordinary_day(seeded)), freshness)
    [(_, first, through)] = reads
    days = (through - first).days + 1
    assert days >= predict.receptive_field_days(queries.load_model(freshness))


def test_kinds_of_scenarios_are_those_of_the_training_data(freshness):
    assert what_if.kinds(freshness) == ["closed", "promotion"]


def test_the_contributions_add_up_to_the_forecast_shown(dashboard, freshness):
    parts = what_if.contributions("LON-01", freshness)
    by_day = parts.groupby("target_on")
    assert by_day.ngroups == (freshness.until - freshness.origin).days
    shown = by_day["forecast"].first()
    np.testing.assert_allclose(by_day["orders"].sum(), shown)
    assert (shown > 0).all()
    assert parts["part"].iloc[0] == "level"


def test_a_past_day_is_explained_by_the_model_and_origin_of_its_last_forecast(
    dashboard, freshness, seeded
):
    past = queries.past_forecasts("LON-01", freshness)
    scored = past.to_dict("records")[-5]
    parts = what_if.contributions("LON-01", queries.as_of(scored, freshness))
    assert set(parts["target_on"]) == {scored["target_on"]}
    assert parts["orders"].sum() == pytest.approx(scored["point"])
    assert set(parts["forecast"]) == {scored["point"]}
    origin = scored["origin_on"].date()
    known = seeded.demand[seeded.demand["service_on"] <= origin]
    panel = build_panel(
        make_depots(), known, make_events(seeded.through), make_holidays(seeded.through),
        origin, HORIZON + CALENDAR_REACH,
    )  # fmt: skip
    made = infer.forecast(queries.load_model(freshness), panel)
    medians = pd.DataFrame(made.p50_dh, index=panel.depot_ids)
    since = parts["part"].isin(["point shift", "corrected since"])
    step = (scored["target_on"] - scored["origin_on"]).days - 1
    assert parts.loc[~since, "orders"].sum() == pytest.approx(
        medians.loc["LON-01", step], rel=1e-3
    )


def test_the_contributions_are_those_of_the_whole_fleet_s_forecast(freshness, seeded):
    """The page reads the depots of the depot's city alone."""
    parts = what_if.contributions("LON-01", freshness)
    since = ["point shift", "corrected since"]
    medians = parts[~parts["part"].isin(since)].groupby("target_on")["orders"].sum()
    model, events = queries.load_model(freshness), make_events(seeded.through)
    fleet = of_whole_fleet(model, seeded, seeded.demand, events)
    np.testing.assert_allclose(medians, fleet.loc["LON-01"], rtol=1e-3)


def test_a_young_depot_of_a_city_of_large_errors_has_no_newer_data(
    dashboard, clean_engine
):
    rng = np.random.default_rng(0)
    spreads = {"Calm": [0.02] * 6, "Wild": [0.5] * 3}
    with clean_engine.begin() as connection:
        for city, depots in spreads.items():
            for number, spread in enumerate(depots):
                depot_id = f"{city}{number}"
                add_depot(connection, depot_id, city=city)
                first = 40 if depot_id == "Wild0" else 0
                rows = [
                    {"depot_id": depot_id, "service_on": START + timedelta(days=step),
                     "file_id": 1, "orders": int(500 * rng.lognormal(0, spread))}
                    for step in range(first, 60)
                ]  # fmt: skip
                connection.execute(sa.insert(schema.daily_counts), rows)
    counting.rebuild(clean_engine, NOW)
    add_champion(clean_engine, LAST, dashboard)
    forecast_from(clean_engine, dashboard, LAST, NOW, ZoneInfo("UTC"))
    parts = what_if.contributions("Wild0", queries.freshness())
    newer = parts.loc[parts["part"] == CORRECTED, "orders"].abs()
    assert newer.sum() < 0.1
