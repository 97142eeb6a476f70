"""What if: the model that made the forecast, asked again on the CPU."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
import streamlit as st

from dashboard import queries
from dashboard.inference import served_model, whatif
from dashboard.inference.whatif import Scenario
from dashboard.queries import database
from forecaster.data.features import CALENDAR_REACH
from forecaster.data.panel_builder import build_panel
from forecaster.errors import ArtefactError
from forecaster.inference import artefact, infer, predict
from pipelines import schema
from tests.dashboard.queries.test_depot import gate
from tests.dashboard.seed import (
    HORIZON,
    make_depots,
    make_events,
    make_holidays,
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


def event(kind, day, depot):
    row = {"kind": kind, "starts_on": day, "ends_on": day, "depot_id": depot}
    return pd.DataFrame([row], columns=list(make_events(day).columns))


def ordinary_day(seeded):
    """One ahead on which nothing is on: no promotion, no Sunday."""
    first = seeded.through + timedelta(days=1)
    return first if first.isoweekday() != 7 else first + timedelta(days=1)


def shown(seeded, depot):
    newest = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    return newest.loc[newest["depot_id"] == depot, "p50"].to_numpy()


def share_of_change(folder, seeded, scenario, demand=None, model=None):
    """What the scenario multiplies the model's own forecast by, day by day."""
    demand = seeded.demand if demand is None else demand
    model = artefact.load(next(folder.glob("*.npz"))) if model is None else model
    events = make_events(seeded.through)
    added = event(scenario.kind, scenario.day_on, scenario.depot)
    now = of_whole_fleet(model, seeded, demand, events)
    then = of_whole_fleet(model, seeded, demand, pd.concat([events, added]))
    changed = then.loc[scenario.depot] / now.loc[scenario.depot]
    return changed.fillna(1.0).to_numpy()


@pytest.mark.parametrize("kind", ["closed", "promotion"])
@pytest.mark.parametrize("depot", ["LON-01", "RTM-02"])
def test_a_supposition_moves_the_forecast_shown_as_it_moves_the_models(
    dashboard, fresh, seeded, kind, depot
):
    """The seeded forecasts are not the model's own, so the two can be told apart."""
    scenario = Scenario(depot, kind, ordinary_day(seeded))
    outcome = whatif.simulate(scenario, fresh)
    share = share_of_change(dashboard, seeded, scenario)
    assert (share != 1).any()
    np.testing.assert_allclose(outcome["forecast"], shown(seeded, depot))
    np.testing.assert_allclose(
        outcome["scenario"], shown(seeded, depot) * share, rtol=1e-5
    )
    assert outcome["target_on"].dt.date.tolist() == [
        seeded.through + timedelta(days=step) for step in range(1, 8)
    ]


def test_counts_that_changed_since_do_not_pass_for_the_supposition(
    fresh, seeded, write
):
    versions = schema.demand_versions
    write(sa.update(versions).values(orders=versions.c.orders * 3))
    day = seeded.through + timedelta(days=4)
    outcome = whatif.simulate(Scenario("LON-01", "closed", day), fresh)
    np.testing.assert_allclose(outcome["forecast"], shown(seeded, "LON-01"))
    others = outcome.drop(index=3)
    np.testing.assert_allclose(others["scenario"], others["forecast"], rtol=0.2)


def test_a_depot_of_a_city_never_seen_is_forecast_from_the_whole_fleet(
    dashboard, fresh, seeded, write
):
    versions = schema.demand_versions
    write(sa.delete(versions).where(versions.c.depot_id.like("LON-%")))
    left = seeded.demand[~seeded.demand["depot_id"].str.startswith("LON-")]
    day = seeded.through + timedelta(days=2)
    scenario = Scenario("LON-02", "promotion", day)
    outcome = whatif.simulate(scenario, fresh)
    share = share_of_change(dashboard, seeded, scenario, left)
    np.testing.assert_allclose(
        outcome["scenario"], shown(seeded, "LON-02") * share, rtol=1e-5
    )


def test_what_is_read_reaches_as_far_back_as_the_model_looks(
    dashboard, seeded, fresh, monkeypatch
):
    reads = []
    read = queries.panel_tables
    monkeypatch.setattr(
        queries, "panel_tables", lambda *said: reads.append(said) or read(*said)
    )
    whatif.simulate(Scenario("LON-01", "closed", ordinary_day(seeded)), fresh)
    [(_, first, through)] = reads
    days = (through - first).days + 1
    assert days >= predict.receptive_field_days(served_model.load(fresh))


def test_a_depot_with_the_plain_forecast_is_supposed_with_it(dashboard, seeded, write):
    gate(write, seeded, "LON-01")
    [path] = dashboard.glob("*.npz")
    model = artefact.load(path)
    plain = replace(
        model, postprocessing=replace(model.postprocessing, fallback_depots=("LON-01",))
    )
    day = ordinary_day(seeded)
    scenario = Scenario("LON-01", "promotion", day)
    outcome = whatif.simulate(scenario, queries.freshness())
    share = share_of_change(dashboard, seeded, scenario, model=plain)
    np.testing.assert_allclose(
        outcome["scenario"], shown(seeded, "LON-01") * share, rtol=1e-5
    )
    own = share_of_change(dashboard, seeded, scenario)
    assert not np.allclose(own, share)


def everything(engine):
    """How many rows each table has, and what they are in one number."""
    with engine.connect() as connection:
        return {
            table.name: connection.execute(
                sa.text(
                    "select count(*), sum(hashtextextended(row_text, 0)) "
                    f"from (select t::text as row_text from {table.name} t) rows"
                )
            ).one()
            for table in schema.metadata.sorted_tables
        }


def test_nothing_is_written_though_it_could_be(
    dashboard, seeded, clean_engine, monkeypatch
):
    monkeypatch.setattr(database, "READ_ONLY", "-c timezone=UTC")
    st.cache_resource.clear()
    before = everything(clean_engine)
    day = seeded.through + timedelta(days=4)
    outcome = whatif.simulate(Scenario("LON-01", "closed", day), queries.freshness())
    assert not outcome["scenario"].equals(outcome["forecast"])
    assert everything(clean_engine) == before


def test_what_may_be_supposed_is_what_the_model_has_learnt(fresh):
    assert whatif.kinds(fresh) == ["closed", "promotion"]


def test_a_missing_artefact_is_told_with_what_to_do(dashboard, fresh):
    for path in dashboard.glob("*.npz"):
        path.unlink()
    with pytest.raises(ArtefactError, match=r"is not there.*harbor models promote"):
        served_model.load(fresh)


def test_a_corrupt_artefact_is_not_used(dashboard, fresh):
    [path] = dashboard.glob("*.npz")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ArtefactError, match="so it is not used"):
        served_model.load(fresh)


def test_another_whole_artefact_in_its_place_is_not_used(seeded, write):
    write(sa.update(schema.models).values(sha256="0" * 64))
    with pytest.raises(ArtefactError, match="sha256 differs"):
        served_model.load(queries.freshness())
