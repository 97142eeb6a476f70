"""What a depot's days ahead would be under a supposition, computed here on the CPU.

The model is the one that made the forecast shown, in its NumPy form; JAX is not needed.
It is asked twice, without the supposition and with it, and what the supposition changes
is laid on the forecast shown: corrections that came since do not pass for its effect.
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
class Supposition:
    """That one depot has a day of some kind: 'closed', or an event the model knows."""

    depot: str
    kind: str
    day_on: date


def kinds(fresh: Freshness) -> list[str]:
    """What may be supposed: closed, and every kind of event the model has learnt.

    Raises:
      ArtefactError: as `asked.load`.
    """
    learnt = served_model.load(fresh).kinds
    events = [k for k in learnt if k != HOLIDAY and not k.startswith(NAMED_HOLIDAY)]
    return [CLOSED, *events]


def label(kind: str) -> str:
    """A supposition as it is offered."""
    return formatting.kind(kind)


@st.cache_data(max_entries=256, show_spinner=False)
def suppose(supposition: Supposition, fresh: Freshness) -> pd.DataFrame:
    """The days ahead of a depot as they are forecast, and as they would be.

    Args:
      supposition: About one of those days.
      fresh: With a forecast of that depot.

    Returns:
      target_on, forecast (as it is shown elsewhere), supposed, supposed_p10,
      supposed_p90 (orders per day), a row per day of the forecast shown, in order.

    Raises:
      ArtefactError: as `asked.load`.
      NoDataError: no depot of the fleet has demand.
    """
    days = queries.depot_days(supposition.depot, fresh)
    shown = days[days["p50"].notna()].reset_index(drop=True)
    now, then = _asked_twice(supposition, fresh)
    supposed = {
        name: _moved(shown[name], now[name], then[name])
        for name in served_model.QUANTILES
    }
    return pd.DataFrame(
        {
            "target_on": shown["day_on"],
            "forecast": shown["p50"],
            "supposed": supposed["p50"],
            "supposed_p10": supposed["p10"],
            "supposed_p90": supposed["p90"],
        }
    )


def _asked_twice(
    supposition: Supposition, fresh: Freshness
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The model's answers for the depot, without the supposition and with it."""
    depot = supposition.depot
    model = served_model.as_delivered(depot, fresh)
    tables = served_model.what_it_reads(model, depot, fresh)
    added = {
        "kind": supposition.kind,
        "starts_on": supposition.day_on,
        "ends_on": supposition.day_on,
        "depot_id": depot,
    }
    events = [*tables["events"].to_dict("records"), added]
    supposed = tables | {
        "events": pd.DataFrame(events, columns=tables["events"].columns, dtype=object)
    }
    now, then = (
        served_model.answer(model, each, depot, fresh) for each in (tables, supposed)
    )
    return now, then


def _moved(shown: pd.Series, now: pd.Series, then: pd.Series) -> pd.Series:
    """The numbers shown, changed by the share by which the model changes its own."""
    share = np.where(now > 0, then / now.where(now > 0, 1.0), 1.0)
    return shown * share
