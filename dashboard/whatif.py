"""What a depot's week would be under a supposition, computed here on the CPU.

The model is the one that made the forecast shown, in its NumPy form; JAX is not needed.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pandas as pd
import streamlit as st

from dashboard import queries, wording
from dashboard.freshness import DAYS_AHEAD, Freshness
from forecaster import artefact, infer
from forecaster.artefact import Artefact
from forecaster.calendar import CLOSED, HOLIDAY, NAMED_HOLIDAY
from forecaster.errors import ArtefactError, NoModelError
from forecaster.features import CALENDAR_REACH
from forecaster.infer import Forecast
from forecaster.panel import Panel, build_panel
from pipelines.settings import Settings

# Days before a model's context that its lags and levels can reach.
REACH = 1000


@dataclass(frozen=True)
class Supposition:
    """That one depot has a day of some kind: 'closed', or an event the model knows."""

    depot: str
    kind: str
    day_on: date


def kinds(fresh: Freshness) -> list[str]:
    """What may be supposed: closed, and every kind of event the model has learnt.

    Raises:
      NoModelError, ArtefactError: as `load`.
    """
    learnt = load(fresh).kinds
    events = [k for k in learnt if k != HOLIDAY and not k.startswith(NAMED_HOLIDAY)]
    return [CLOSED, *events]


def label(kind: str) -> str:
    """A supposition as it is offered."""
    return "a closed day" if kind == CLOSED else f"“{wording.kind(kind)}”"


def load(fresh: Freshness) -> Artefact:
    """The model that made the forecast shown.

    Raises:
      NoModelError: it was never recorded.
      ArtefactError: its file is missing, unusable, or not the one recorded.
    """
    found = queries.model_file(str(fresh.model))
    if found is None:
        raise NoModelError(
            f"Model {fresh.model} is not recorded. Train one with `harbor train`."
        )
    filename, sha256 = found
    return _load(Settings.load().artefacts / filename, sha256)


@st.cache_resource(max_entries=2, show_spinner=False)
def _load(path: Path, sha256: str) -> Artefact:
    loaded = artefact.load(path)
    if artefact.file_sha256(path) != sha256:
        raise ArtefactError(
            f"{path.name} is not the file that was recorded, so it is not used: its "
            "sha256 differs. Restore it from the backup of the artefacts."
        )
    return loaded


@st.cache_data(max_entries=256, show_spinner=False)
def suppose(supposition: Supposition, fresh: Freshness) -> pd.DataFrame:
    """The next days of a depot as they are forecast, and as they would be.

    Args:
      supposition: About one of those days.
      fresh: With a forecast.

    Returns:
      target_on, forecast, supposed, supposed_p10, supposed_p90 (orders per day), a row
      per day of the forecast shown, in order.

    Raises:
      NoModelError, ArtefactError: as `load`.
      NoDataError: the depot's city has no demand.
    """
    model = load(fresh)
    first = fresh.origin - timedelta(days=model.task.context + REACH)
    tables = queries.city_tables(supposition.depot, first, fresh.origin)
    added = {
        "kind": supposition.kind,
        "starts_on": supposition.day_on,
        "ends_on": supposition.day_on,
        "depot_id": supposition.depot,
    }
    events = [*tables["events"].to_dict("records"), added]
    supposed = tables | {
        "events": pd.DataFrame(events, columns=tables["events"].columns, dtype=object)
    }
    return _beside(
        supposition.depot,
        _forecast(model, tables, fresh.origin),
        _forecast(model, supposed, fresh.origin),
    )


def _forecast(
    model: Artefact, tables: dict[str, pd.DataFrame], origin: date
) -> tuple[Panel, Forecast]:
    panel = build_panel(**tables, through=origin, ahead=model.horizon + CALENDAR_REACH)
    return panel, infer.forecast(model, panel)


def _beside(
    depot: str, now: tuple[Panel, Forecast], then: tuple[Panel, Forecast]
) -> pd.DataFrame:
    panel, forecast = now
    row = panel.depot_ids.index(depot)
    n_days = min(DAYS_AHEAD, forecast.p50_dh.shape[1])
    first = pd.Timestamp(panel.origin) + pd.Timedelta(days=1)
    supposed = then[1]
    return pd.DataFrame(
        {
            "target_on": pd.date_range(first, periods=n_days),
            "forecast": forecast.p50_dh[row, :n_days],
            "supposed": supposed.p50_dh[row, :n_days],
            "supposed_p10": supposed.p10_dh[row, :n_days],
            "supposed_p90": supposed.p90_dh[row, :n_days],
        }
    )
