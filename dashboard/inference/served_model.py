"""Runs the model that made the forecast shown, on the CPU and without JAX."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.queries.freshness import Freshness
from forecaster.data.features import CALENDAR_REACH
from forecaster.data.panel_builder import build_panel
from forecaster.inference import artefact, infer, predict
from forecaster.inference.artefact import Artefact
from forecaster.inference.infer import Forecast
from pipelines.settings import Settings

QUANTILES = ("p10", "p50", "p90")
Tables = dict[str, pd.DataFrame]
"""depots, demand, events and holidays, as `forecaster.data.panel_builder.build_panel` takes them."""


def load(fresh: Freshness) -> Artefact:
    """Loads the model that made the forecast shown.

    Args:
      fresh: With a forecast.

    Raises:
      ArtefactError: its file is missing, unusable, or not the one recorded.
    """
    return _load(Settings.load().artefacts / str(fresh.filename), str(fresh.sha256))


@st.cache_resource(max_entries=2, show_spinner=False)
def _load(path: Path, sha256: str) -> Artefact:
    return artefact.load(path, sha256)


def model_for_depot(depot: str, fresh: Freshness) -> Artefact:
    """The model, with the baseline fallback applied where the nightly run applied it.

    Raises:
      ArtefactError: as `load`.
    """
    model = load(fresh)
    if not queries.depot_status(depot, fresh).is_fallback:
        return model
    gated = tuple(sorted({*model.postprocessing.fallback_depots, depot}))
    return replace(
        model, postprocessing=replace(model.postprocessing, fallback_depots=gated)
    )


def model_inputs(model: Artefact, depot: str, fresh: Freshness) -> Tables:
    """The input tables of the model's forecast for a depot."""
    first = fresh.origin - timedelta(days=predict.receptive_field_days(model))
    return queries.panel_tables(depot, first, fresh.origin)


def predict_depot(
    model: Artefact, tables: Tables, depot: str, fresh: Freshness
) -> pd.DataFrame:
    """p10, p50 and p90 of one depot, a row per day of the forecast shown.

    Raises:
      NoDataError: no depot of the fleet has demand.
    """
    ahead = model.horizon + CALENDAR_REACH
    panel = build_panel(**tables, through=fresh.origin, ahead=ahead)
    made: Forecast = infer.forecast(model, panel)
    row = panel.depot_ids.index(depot)
    by_quantile = zip(QUANTILES, (made.p10_dh, made.p50_dh, made.p90_dh), strict=True)
    return pd.DataFrame({name: of[row, : fresh.horizon] for name, of in by_quantile})
