"""Messages for pages without a forecast: the command that makes one, or the run's progress."""

from typing import NoReturn

import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.text import summaries

REFRESH_S = 3
NO_OPEN_DEPOTS = "The newest forecast has no open depots. Run `harbor forecast`."


def stop_page(sentence: str, champion: str | None) -> NoReturn:
    """Shows that there is no forecast, and stops the page; reloads it once there is one.

    While a run is in progress, its step and the progress of its training are shown. `sentence`
    names what is missing; `champion` is None before the first model.
    """
    if queries.run_in_progress() is None:
        widgets.stop_page(f"{sentence} {summaries.first_forecast_advice(champion)}")
    _show_progress(sentence)
    st.stop()


def what_follows(champion: str | None) -> str:
    """The progress of the run that is in progress; without one, the commands that make a forecast."""
    progress = queries.run_in_progress()
    if progress is None:
        return summaries.first_forecast_advice(champion)
    return summaries.progress_sentence(progress)


@st.fragment(run_every=REFRESH_S)
def _show_progress(sentence: str) -> None:
    progress = queries.run_in_progress()
    if progress is None or queries.freshness().origin_on is not None:
        st.rerun()
    widgets.empty_state(f"{sentence} {summaries.progress_sentence(progress)}")
