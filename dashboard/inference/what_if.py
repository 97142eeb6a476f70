"""What-if forecasts of one depot, and the contributions to its forecast, computed on the CPU without JAX.

The model that made the forecast runs in NumPy on changed inputs. Its relative change is
applied to the published forecast, so that data corrected since is not mistaken for an effect.
"""

from collections.abc import Iterator
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

QUANTILES = ("p10", "p50", "p90")
Tables = dict[str, pd.DataFrame]
"""depots, demand, events, holidays and signals, as `build_panel` takes them."""


@dataclass(frozen=True)
class Scenario:
    """An event on some days ahead of one depot, of which nothing is saved.

    Attributes:
      depot: Id of the depot.
      first_on: Its first day.
      last_on: Its last day.
      kind: Event on each of the days, from `kinds`.
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

    Returns:
      target_on, forecast (as published), scenario, scenario_p10,
      scenario_p90 (orders per day), a row per day of the published forecast, in order.

    Raises:
      ArtefactError: as `queries.load_model`.
      NoDataError: no depot of the fleet has demand.
    """
    published = _days_ahead(scenario.depot, freshness)
    ratio = _event_ratio(scenario, freshness).loc[published.index]
    changed = published[["p10", "point", "p90"]] * ratio
    return pd.DataFrame(
        {
            "target_on": published["day_on"],
            "forecast": published["point"],
            "scenario": changed["point"],
            "scenario_p10": changed["p10"],
            "scenario_p90": changed["p90"],
        }
    )


def _event_ratio(scenario: Scenario, freshness: Freshness) -> pd.DataFrame:
    """By how much the point and its band change with the event, a row per day ahead.

    The point changes as the median does.
    """
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
    before, after = _predict(model, [tables, changed], scenario.depot, freshness)
    ratio = (after / before.where(before > 0)).fillna(1.0)
    return ratio.rename(columns={"p50": "point"})


@st.cache_data(max_entries=128, show_spinner=False)
def contributions(depot: str, freshness: Freshness) -> pd.DataFrame:
    """Splits each day's forecast into parts that add up to it, as `harbor explain` does.

    Returns:
      target_on, part (see `explain.Part`), orders, forecast (the model's, orders per day): a row
      for each day and part, in order.

    Raises:
      ArtefactError: as `queries.load_model`.
      NoDataError: no depot of the fleet has demand.
    """
    published = _days_ahead(depot, freshness)
    model = queries.load_model(freshness)
    panel = _panel(model, _inputs(model, depot, freshness), freshness)
    explained = explain.explain(model, panel, depot, queries.settings().point)
    rows = [
        (day_on, part.name, part.orders, number)
        for step, day_on, number in published[["day_on", "model_point"]].itertuples()
        for part in explained[step].reaching(number, explain.CORRECTED).parts
    ]
    return pd.DataFrame(rows, columns=["target_on", "part", "orders", "forecast"])


def _inputs(model: Artefact, depot: str, freshness: Freshness) -> Tables:
    first = freshness.origin - timedelta(days=predict.receptive_field_days(model))
    return queries.panel_tables(depot, first, freshness.origin)


def _panel(model: Artefact, tables: Tables, freshness: Freshness) -> Panel:
    ahead = model.horizon + CALENDAR_REACH
    return build_panel(**tables, through=freshness.origin, ahead=ahead)


def _predict(
    model: Artefact, inputs: list[Tables], depot: str, freshness: Freshness
) -> Iterator[pd.DataFrame]:
    """p10, p50 and p90 of one depot for each input, a row per day of the published forecast."""
    for tables in inputs:
        panel = _panel(model, tables, freshness)
        forecast = infer.forecast(model, panel)
        row = panel.depot_ids.index(depot)
        quantiles_hq = np.stack(
            [forecast.p10_dh[row], forecast.p50_dh[row], forecast.p90_dh[row]], axis=1
        )
        yield pd.DataFrame(quantiles_hq[: freshness.horizon], columns=list(QUANTILES))


def _days_ahead(depot: str, freshness: Freshness) -> pd.DataFrame:
    """The rows of `queries.depot_days` that are forecast, by steps of the forecast, from 0."""
    days = queries.depot_days(depot, freshness)
    first = pd.Timestamp(freshness.origin) + timedelta(days=1)
    steps = (days["day_on"] - first).dt.days.rename("step")
    return days.set_index(steps)[days["point"].notna().to_numpy()]
