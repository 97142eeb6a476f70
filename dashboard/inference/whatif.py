"""A depot's forecast under a scenario, computed on the CPU.

The model that made the forecast runs twice in NumPy, without the scenario and with it.
The relative change is applied to the forecast shown, so that data corrected since is not
mistaken for an effect of the scenario.
"""

from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.inference import served_model
from dashboard.queries.freshness import Freshness
from dashboard.text import formatting
from forecaster.data.calendar import CLOSED, HOLIDAY, NAMED_HOLIDAY


@dataclass(frozen=True)
class Scenario:
    """One day of one depot, closed or with an event of a kind the model knows."""

    depot: str
    kind: str
    day_on: date


def kinds(fresh: Freshness) -> list[str]:
    """Kinds of scenarios: closed, and every kind of event in the training data.

    Raises:
      ArtefactError: as `served_model.load`.
    """
    learnt = served_model.load(fresh).kinds
    events = [k for k in learnt if k != HOLIDAY and not k.startswith(NAMED_HOLIDAY)]
    return [CLOSED, *events]


def label(kind: str) -> str:
    """Display name of a kind of scenario."""
    return formatting.event_name(kind)


@st.cache_data(max_entries=256, show_spinner=False)
def simulate(scenario: Scenario, fresh: Freshness) -> pd.DataFrame:
    """Forecasts a depot's days ahead without and with the scenario.

    Args:
      scenario: On one of those days.
      fresh: With a forecast of that depot.

    Returns:
      target_on, forecast (as shown elsewhere), scenario, scenario_p10,
      scenario_p90 (orders per day), a row per day of the forecast shown, in order.

    Raises:
      ArtefactError: as `served_model.load`.
      NoDataError: no depot of the fleet has demand.
    """
    days = queries.depot_days(scenario.depot, fresh)
    shown = days[days["p50"].notna()].reset_index(drop=True)
    now, then = _baseline_and_scenario(scenario, fresh)
    simulated = {
        name: _scale(shown[name], now[name], then[name])
        for name in served_model.QUANTILES
    }
    return pd.DataFrame(
        {
            "target_on": shown["day_on"],
            "forecast": shown["p50"],
            "scenario": simulated["p50"],
            "scenario_p10": simulated["p10"],
            "scenario_p90": simulated["p90"],
        }
    )


def _baseline_and_scenario(
    scenario: Scenario, fresh: Freshness
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The model's forecasts of the depot, without the scenario and with it."""
    depot = scenario.depot
    model = served_model.model_for_depot(depot, fresh)
    tables = served_model.model_inputs(model, depot, fresh)
    added = {
        "kind": scenario.kind,
        "starts_on": scenario.day_on,
        "ends_on": scenario.day_on,
        "depot_id": depot,
    }
    events = [*tables["events"].to_dict("records"), added]
    scenario_tables = tables | {
        "events": pd.DataFrame(events, columns=tables["events"].columns, dtype=object)
    }
    now, then = (
        served_model.predict_depot(model, each, depot, fresh)
        for each in (tables, scenario_tables)
    )
    return now, then


def _scale(shown: pd.Series, now: pd.Series, then: pd.Series) -> pd.Series:
    """The forecast shown, scaled by the model's relative change."""
    share = np.where(now > 0, then / now.where(now > 0, 1.0), 1.0)
    return shown * share
