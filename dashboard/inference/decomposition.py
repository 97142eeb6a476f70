"""The drivers of a depot's forecast: level, weekday, holidays and events.

The model is rerun without events, then also without holidays; the differences are their
effects. The drivers add up to the forecast shown.
"""

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.inference import served_model
from dashboard.inference.served_model import Tables
from dashboard.queries.freshness import Freshness
from forecaster.data.calendar import CLOSED

LEVEL_DAYS = 28


@st.cache_data(max_entries=128, show_spinner=False)
def drivers(depot: str, fresh: Freshness) -> pd.DataFrame:
    """Splits each day's forecast into drivers that add up to it.

    Args:
      depot: A depot_id.
      fresh: With a forecast of that depot.

    Returns:
      target_on, level (orders of a usual day of the last four weeks), weekday (what the
      day of the week and the last weeks add: all that the others leave), holiday, events, forecast; orders per day.

    Raises:
      ArtefactError: as `served_model.load`.
      NoDataError: no depot of the fleet has demand.
    """
    days = queries.depot_days(depot, fresh)
    shown = days[days["p50"].notna()].reset_index(drop=True)
    model = served_model.model_for_depot(depot, fresh)
    tables = served_model.model_inputs(model, depot, fresh)
    bare = _without_holidays(_without_events(tables, fresh), fresh)
    ordinary, holiday, full = (
        served_model.predict_depot(model, each, depot, fresh)["p50"]
        for each in (bare, _without_events(tables, fresh), tables)
    )
    # A closed day has no forecast to split.
    is_open = full > 0
    share = np.where(is_open, shown["p50"] / full.where(is_open, 1.0), 0.0)
    made = pd.DataFrame(
        {
            "target_on": shown["day_on"],
            "level": np.where(is_open, _level(days), 0.0),
            "holiday": share * (holiday - ordinary),
            "events": share * (full - holiday),
            "forecast": shown["p50"],
        }
    )
    rest = made["forecast"] - made["level"] - made["holiday"] - made["events"]
    made.insert(2, "weekday", rest)
    return made


def _level(days: pd.DataFrame) -> float:
    """Orders of a usual day: the mean of their logarithms over the last four weeks."""
    known = days["actual"].dropna().tail(LEVEL_DAYS)
    return float(np.expm1(np.log1p(known).mean())) if len(known) else 0.0


def _without_events(tables: Tables, fresh: Freshness) -> Tables:
    """Nothing is on in the days ahead; a closed day stays closed."""
    events = tables["events"].copy()
    is_past = pd.to_datetime(events["starts_on"]) <= pd.Timestamp(fresh.origin)
    kept = events[is_past | (events["kind"] == CLOSED)].copy()
    open_ended = (pd.to_datetime(kept["ends_on"]) > pd.Timestamp(fresh.origin)) & (
        kept["kind"] != CLOSED
    )
    kept.loc[open_ended, "ends_on"] = fresh.origin
    return tables | {"events": kept}


def _without_holidays(tables: Tables, fresh: Freshness) -> Tables:
    holidays = tables["holidays"]
    past = pd.to_datetime(holidays["day_on"]) <= pd.Timestamp(fresh.origin)
    return tables | {"holidays": holidays[past]}
