"""What a depot's days ahead would be under a supposition, computed here on the CPU.

The model is the one that made the forecast shown, in its NumPy form; JAX is not needed.
It is asked twice, without the supposition and with it, and what the supposition changes
is laid on the forecast shown: corrections that came since do not pass for its effect.
"""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import queries, wording
from dashboard.freshness import Freshness
from forecaster import artefact, asking, infer
from forecaster.artefact import Artefact
from forecaster.calendar import CLOSED, HOLIDAY, NAMED_HOLIDAY
from forecaster.errors import ArtefactError
from forecaster.features import CALENDAR_REACH
from forecaster.infer import Forecast
from forecaster.panel import build_panel
from pipelines.settings import Settings

QUANTILES = ("p10", "p50", "p90")


@dataclass(frozen=True)
class Supposition:
    """That one depot has a day of some kind: 'closed', or an event the model knows."""

    depot: str
    kind: str
    day_on: date


def kinds(fresh: Freshness) -> list[str]:
    """What may be supposed: closed, and every kind of event the model has learnt.

    Raises:
      ArtefactError: as `load`.
    """
    learnt = load(fresh).kinds
    events = [k for k in learnt if k != HOLIDAY and not k.startswith(NAMED_HOLIDAY)]
    return [CLOSED, *events]


def label(kind: str) -> str:
    """A supposition as it is offered."""
    return "a closed day" if kind == CLOSED else f"“{wording.kind(kind)}”"


def load(fresh: Freshness) -> Artefact:
    """The model that made the forecast shown.

    Args:
      fresh: With a forecast.

    Raises:
      ArtefactError: its file is missing, unusable, or not the one recorded.
    """
    return _load(Settings.load().artefacts / str(fresh.filename), str(fresh.sha256))


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
    """The days ahead of a depot as they are forecast, and as they would be.

    Args:
      supposition: About one of those days.
      fresh: With a forecast of that depot.

    Returns:
      target_on, forecast (as it is shown elsewhere), supposed, supposed_p10,
      supposed_p90 (orders per day), a row per day of the forecast shown, in order.

    Raises:
      ArtefactError: as `load`.
      NoDataError: no depot of the fleet has demand.
    """
    days = queries.depot_days(supposition.depot, fresh)
    shown = days[days["p50"].notna()].reset_index(drop=True)
    now, then = _asked_twice(supposition, fresh)
    supposed = {name: _moved(shown[name], now[name], then[name]) for name in QUANTILES}
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
    model = _as_delivered(load(fresh), supposition.depot, fresh)
    first = fresh.origin - timedelta(days=asking.days_that_matter(model))
    tables = queries.panel_tables(supposition.depot, first, fresh.origin)
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
    now = _answer(model, tables, fresh, supposition.depot)
    return now, _answer(model, supposed, fresh, supposition.depot)


def _as_delivered(model: Artefact, depot: str, fresh: Freshness) -> Artefact:
    """The model with the depot gated, if the night has done so."""
    if not queries.news(depot, fresh).is_gated:
        return model
    gated = tuple(sorted({*model.delivery.gated, depot}))
    return replace(model, delivery=replace(model.delivery, gated=gated))


def _answer(
    model: Artefact, tables: dict[str, pd.DataFrame], fresh: Freshness, depot: str
) -> pd.DataFrame:
    """p10, p50 and p90 of one depot, a row per day of the forecast shown."""
    ahead = model.horizon + CALENDAR_REACH
    panel = build_panel(**tables, through=fresh.origin, ahead=ahead)
    made: Forecast = infer.forecast(model, panel)
    row = panel.depot_ids.index(depot)
    by_quantile = zip(QUANTILES, (made.p10_dh, made.p50_dh, made.p90_dh), strict=True)
    return pd.DataFrame({name: of[row, : fresh.horizon] for name, of in by_quantile})


def _moved(shown: pd.Series, now: pd.Series, then: pd.Series) -> pd.Series:
    """The numbers shown, changed by the share by which the model changes its own."""
    share = np.where(now > 0, then / now.where(now > 0, 1.0), 1.0)
    return shown * share
