"""What-if forecasts of one depot, and the contributions to its forecast, computed on the CPU without JAX.

The model that made the forecast runs in NumPy on changed inputs. Its relative change is
applied to the published forecast, so that data corrected since is not mistaken for an effect.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.queries.freshness import Freshness
from dashboard.text import formatting
from forecaster.data.calendar import CLOSED, HOLIDAY, NAMED_HOLIDAY
from forecaster.data.features import CALENDAR_REACH
from forecaster.data.panel_builder import build_panel
from forecaster.data.signal_effects import SIGNAL
from forecaster.inference import infer, predict
from forecaster.inference.artefact import Artefact

QUANTILES = ("p10", "p50", "p90")
LEVEL_DAYS = 28
Tables = dict[str, pd.DataFrame]
"""depots, demand, events, holidays and signals, as `build_panel` takes them."""


@dataclass(frozen=True)
class Scenario:
    """A change of some days ahead of one depot, of which nothing is saved.

    Attributes:
      depot: Id of the depot.
      first_on: Its first day.
      last_on: Its last day.
      kind: Event on each of the days, from `kinds`; '' for none.
      demand_change: Change of the orders of each day, as a fraction; 0.1 is 10 % more.
      vans_off: Vans of the depot's city that are off the road.
    """

    depot: str
    first_on: date
    last_on: date
    kind: str = ""
    demand_change: float = 0.0
    vans_off: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing."""
        return not (self.kind or self.demand_change or self.vans_off)


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
    published = _days_ahead(queries.depot_days(scenario.depot, freshness))
    is_changed = published["day_on"].dt.date.between(
        scenario.first_on, scenario.last_on
    )
    changed = published[["p10", "point", "p90"]].mul(
        1 + scenario.demand_change * is_changed, axis="index"
    )
    if scenario.kind:
        changed *= _event_ratio(scenario, freshness)
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
    """Splits each day's forecast into contributions that add up to it.

    The model is rerun without events, then also without holidays, then also without the
    signals of the days ahead; the differences are their effects.

    Returns:
      target_on, level (orders of a usual day of the last four weeks), weekday (the
      remainder), signals (NaN where the model uses none), holiday, events, forecast (the
      model's): orders per day; event_names (of the day, '' without any).

    Raises:
      ArtefactError: as `queries.load_model`.
      NoDataError: no depot of the fleet has demand.
    """
    days = queries.depot_days(depot, freshness)
    published = _days_ahead(days)
    model = queries.load_model(freshness)
    tables = _inputs(model, depot, freshness)
    events = _past_events(tables["events"], freshness.origin)
    holidays = _until(tables["holidays"], freshness.origin)
    signals = _until(tables["signals"], freshness.origin)
    inputs = [tables]
    for fewer in ({"events": events}, {"holidays": holidays}, {"signals": signals}):
        inputs.append(inputs[-1] | fewer)
    full, holiday, ordinary, usual = (
        each["p50"] for each in _predict(model, inputs, depot, freshness)
    )
    has_signals = any(each.startswith(SIGNAL) for each in model.effects.signals.names)
    # A closed day has no forecast to split.
    is_open = full > 0
    share = (published["model_point"] / full.where(is_open)).fillna(0.0)
    parts = pd.DataFrame(
        {
            "target_on": published["day_on"],
            "level": np.where(is_open, _level(days), 0.0),
            "weekday": 0.0,
            "signals": share * (ordinary - usual) if has_signals else np.nan,
            "holiday": share * (holiday - ordinary),
            "events": share * (full - holiday),
            "forecast": published["model_point"],
            "event_names": [_names(kinds) for kinds in published["events"]],
        }
    )
    others = parts[["level", "signals", "holiday", "events"]].sum(axis=1)
    return parts.assign(weekday=parts["forecast"] - others)


def _names(kinds: Sequence[str]) -> str:
    return ", ".join(formatting.event_name(kind) for kind in kinds if kind != CLOSED)


def _inputs(model: Artefact, depot: str, freshness: Freshness) -> Tables:
    first = freshness.origin - timedelta(days=predict.receptive_field_days(model))
    return queries.panel_tables(depot, first, freshness.origin)


def _predict(
    model: Artefact, inputs: list[Tables], depot: str, freshness: Freshness
) -> Iterator[pd.DataFrame]:
    """p10, p50 and p90 of one depot for each input, a row per day of the published forecast."""
    ahead = model.horizon + CALENDAR_REACH
    for tables in inputs:
        panel = build_panel(**tables, through=freshness.origin, ahead=ahead)
        forecast = infer.forecast(model, panel)
        row = panel.depot_ids.index(depot)
        quantiles_hq = np.stack(
            [forecast.p10_dh[row], forecast.p50_dh[row], forecast.p90_dh[row]], axis=1
        )
        yield pd.DataFrame(quantiles_hq[: freshness.horizon], columns=list(QUANTILES))


def _days_ahead(days: pd.DataFrame) -> pd.DataFrame:
    return days[days["point"].notna()].reset_index(drop=True)


def _level(days: pd.DataFrame) -> float:
    """Orders of a usual day: the mean of their logarithms over the last four weeks."""
    observed = days["actual"].dropna().tail(LEVEL_DAYS)
    return float(np.expm1(np.log1p(observed).mean())) if len(observed) else 0.0


def _until(table: pd.DataFrame, origin: date) -> pd.DataFrame:
    """The holidays or signals without those of days ahead, which then count as usual."""
    return table[pd.to_datetime(table["day_on"]) <= pd.Timestamp(origin)]


def _past_events(events: pd.DataFrame, origin: date) -> pd.DataFrame:
    """The events without their days ahead; closures stay."""
    is_closure = events["kind"] == CLOSED
    is_past = pd.to_datetime(events["starts_on"]) <= pd.Timestamp(origin)
    past = events[is_past | is_closure].copy()
    is_open_ended = pd.to_datetime(past["ends_on"]) > pd.Timestamp(origin)
    past.loc[is_open_ended & (past["kind"] != CLOSED), "ends_on"] = origin
    return past
