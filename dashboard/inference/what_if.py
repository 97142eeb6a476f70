"""What-if forecasts of one depot, and the parts of its forecast, on the CPU without JAX.

The model that made the forecast runs in NumPy on changed inputs. Its relative change is
applied to the published forecast, so that data corrected since is not mistaken for an effect.
"""

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.queries.freshness import Freshness
from forecaster.data.calendar import CLOSED, HOLIDAY, NAMED_HOLIDAY
from forecaster.data.features import CALENDAR_REACH
from forecaster.data.panel import Panel
from forecaster.data.panel_builder import build_panel
from forecaster.inference import explain, infer, predict
from forecaster.inference.artefact import Artefact

Tables = dict[str, pd.DataFrame]
"""depots, demand, events, holidays and signals, as `build_panel` takes them."""


@dataclass(frozen=True)
class Scenario:
    """A hypothetical event at one depot on some days ahead; never saved.

    Attributes:
      depot: depot_id of the depot.
      first_on: First day of the event.
      last_on: Last day of the event.
      kind: Kind of the event, from `kinds`.
    """

    depot: str
    first_on: date
    last_on: date
    kind: str


def kinds(freshness: Freshness) -> list[str]:
    """Kinds of scenarios: closed, and every kind of event in the training data.

    Raises:
      ArtefactError: as `queries.load_model`.
    """
    events = [
        kind
        for kind in queries.load_model(freshness).kinds
        if kind != HOLIDAY and not kind.startswith(NAMED_HOLIDAY)
    ]
    return [CLOSED, *events]


@st.cache_data(max_entries=256, show_spinner=False)
def simulate(scenario: Scenario, freshness: Freshness) -> pd.DataFrame:
    """Forecasts a depot's days ahead without and with a scenario.

    The published forecast changes by the same ratio as the model's median.

    Returns:
      target_on, forecast (as published) and scenario (orders per day), a row per day of the
      published forecast, in order.

    Raises:
      ArtefactError: as `queries.load_model`.
      NoDataError: no depot of the fleet has demand.
    """
    published = _days_ahead(scenario.depot, freshness)
    model = queries.load_model(freshness)
    tables = _inputs(model, scenario.depot, freshness)
    event = {
        "kind": scenario.kind,
        "starts_on": scenario.first_on,
        "ends_on": scenario.last_on,
        "depot_id": scenario.depot,
    }
    events = [*tables["events"].to_dict("records"), event]
    columns = tables["events"].columns
    changed = tables | {"events": pd.DataFrame(events, columns=columns, dtype=object)}
    panels = [_panel(model, each, freshness) for each in (tables, changed)]
    before_h, after_h = (
        infer.forecast(model, panel).p50_dh[panel.depot_ids.index(scenario.depot)]
        for panel in panels
    )
    ratio_h = np.divide(
        after_h, before_h, out=np.ones_like(after_h), where=before_h > 0
    )
    forecast = published["point"]
    return pd.DataFrame(
        {
            "target_on": published["day_on"],
            "forecast": forecast,
            "scenario": forecast * ratio_h[published.index],
        }
    )


@st.cache_data(max_entries=128, show_spinner=False)
def contributions(depot: str, freshness: Freshness) -> pd.DataFrame:
    """Splits each day's forecast into parts that add up to it, as `harbor explain` does.

    Returns:
      target_on, part (see `explain.Part`), orders, forecast (the model's, orders per day),
      planned (orders per day, after planners' changes): a row for each day and part, in order.

    Raises:
      ArtefactError: as `queries.load_model`.
      NoDataError: no depot of the fleet has demand.
    """
    published = _days_ahead(depot, freshness)
    model = queries.load_model(freshness)
    panel = _panel(model, _inputs(model, depot, freshness), freshness)
    explained = explain.explain(model, panel, depot, queries.settings().point)
    columns = ["day_on", "model_point", "point"]
    rows = [
        (day_on, part.name, part.orders, number, planned)
        for step, day_on, number, planned in published[columns].itertuples()
        for part in explained[step].reaching(number, explain.CORRECTED).parts
    ]
    return pd.DataFrame(
        rows, columns=["target_on", "part", "orders", "forecast", "planned"]
    )


def _inputs(model: Artefact, depot: str, freshness: Freshness) -> Tables:
    first = freshness.origin - timedelta(days=predict.receptive_field_days(model))
    return queries.panel_tables(depot, first, freshness.origin)


def _panel(model: Artefact, tables: Tables, freshness: Freshness) -> Panel:
    ahead = model.horizon + CALENDAR_REACH
    return build_panel(**tables, through=freshness.origin, ahead=ahead)


def _days_ahead(depot: str, freshness: Freshness) -> pd.DataFrame:
    """The days ahead of `queries.depot_days`, indexed by forecast step from 0."""
    days = queries.depot_days(depot, freshness)
    first = pd.Timestamp(freshness.origin) + timedelta(days=1)
    steps = (days["day_on"] - first).dt.days.rename("step")
    return days.set_index(steps)[days["point"].notna().to_numpy()]
