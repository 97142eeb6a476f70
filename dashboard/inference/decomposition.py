"""What a depot's forecast leans on: its level, the weekday, holidays, events.

The model is asked again with what is special about the days ahead taken away, piece by
piece; what each piece changes is its part. The parts add up to the forecast shown.
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
def parts(depot: str, fresh: Freshness) -> pd.DataFrame:
    """The forecast shown of each day ahead, in parts that add up to it.

    Args:
      depot: A depot_id.
      fresh: With a forecast of that depot.

    Returns:
      target_on, level (orders of a usual day of the last four weeks), weekday (what the
      day of the week and the last weeks add: all that the others leave), holiday, events, forecast; orders per day.

    Raises:
      ArtefactError: as `asked.load`.
      NoDataError: no depot of the fleet has demand.
    """
    days = queries.depot_days(depot, fresh)
    shown = days[days["p50"].notna()].reset_index(drop=True)
    model = served_model.as_delivered(depot, fresh)
    tables = served_model.what_it_reads(model, depot, fresh)
    bare = _without_holidays(_without_events(tables, fresh), fresh)
    ordinary, holiday, said = (
        served_model.answer(model, each, depot, fresh)["p50"]
        for each in (bare, _without_events(tables, fresh), tables)
    )
    # A closed day is no forecast: nothing is made of it.
    is_open = said > 0
    share = np.where(is_open, shown["p50"] / said.where(is_open, 1.0), 0.0)
    made = pd.DataFrame(
        {
            "target_on": shown["day_on"],
            "level": np.where(is_open, _level(days), 0.0),
            "holiday": share * (holiday - ordinary),
            "events": share * (said - holiday),
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
