"""The file of the model that made the published forecast."""

from pathlib import Path

import streamlit as st

from dashboard.queries.database import settings
from dashboard.queries.freshness import Freshness
from forecaster.inference import artefact
from forecaster.inference.artefact import Artefact


def load_model(freshness: Freshness) -> Artefact:
    """Loads the model that made the published forecast.

    Raises:
      ArtefactError: its file is missing, unusable, or not the one recorded.
    """
    return _load(settings().artefacts / str(freshness.filename), str(freshness.sha256))


@st.cache_resource(max_entries=2, show_spinner=False)
def _load(path: Path, sha256: str) -> Artefact:
    return artefact.load(path, sha256)
