"""Navigation, and the data freshness banner above every page."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import streamlit as st

from dashboard import queries
from dashboard.auth import session
from dashboard.components import page_head, widgets
from dashboard.components.banner import IS_WARNING, banner
from dashboard.text import summaries
from forecaster.errors import HarborError

PIPELINE = "Pipeline"
ANCHOR = """<g fill="none" stroke="#1787ac" stroke-width="2.6" stroke-linecap="round">
<circle cx="16" cy="6" r="2.7"/><path d="M16 9v18M10.5 13.5h11M4.5 18.5c.8 5.2 5 8.5 11.5 8.5
s10.7-3.3 11.5-8.5"/></g>"""
MARK = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">{ANCHOR}</svg>'
LOGO = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 152 32" width="152"
height="32">{ANCHOR}<text x="38" y="22" font-family="sans-serif" font-weight="600"
font-size="17" fill="#1787ac" textLength="112" lengthAdjust="spacingAndGlyphs">Harbor Fleet</text></svg>"""


def show_freshness(on_no_data: Callable[[str], None]) -> None:
    """Shows the data freshness banner; calls `on_no_data` with a message if there are no orders."""
    freshness = queries.freshness()
    if freshness.last_on is None:
        missing = "No depots yet."
        if freshness.depots:
            missing = "Depots are loaded, but they have no orders yet."
        advice = "Load orders with `harbor ingest PATH`, then run `harbor nightly`."
        on_no_data(f"{missing} {advice}")
        return
    zone = queries.zone()
    now = datetime.now(zone)
    due_on = queries.due_on(now, freshness)
    texts = banner(freshness, now.date(), due_on, zone)
    st.session_state[IS_WARNING] = texts.warning is not None
    progress = queries.run_in_progress() if texts.warning else None
    at_work = summaries.progress_sentence(progress) if progress else ""
    if at_work:
        texts = banner(freshness, now.date(), due_on, zone, at_work)
    st.caption(texts.facts)
    # Before the first forecast the page itself shows the run in progress.
    if texts.warning and at_work and freshness.origin_on is not None:
        st.info(texts.warning, icon=":material/schedule:")
    elif texts.warning and not at_work:
        st.error(texts.warning, icon=":material/schedule:")
    for notice in texts.notices:
        st.warning(notice, icon=":material/info:")


planner_pages = [
    st.Page("views/days_ahead.py", title="Days ahead", default=True),
    st.Page("views/depot.py", title="Depots", url_path="depot"),
    st.Page("views/plan.py", title="Plan", url_path="plan"),
    st.Page("views/accuracy.py", title="Accuracy", url_path="accuracy"),
]
# Pages for operators; planners need neither.
system_pages = [
    st.Page("views/models.py", title="Models", url_path="models"),
    st.Page("views/pipeline.py", title=PIPELINE, url_path="pipeline"),
]
page = st.navigation({"": planner_pages, "System": system_pages}, position="top")
# In its first run, a newly opened page takes over the session's last choice of city or depot.
st.session_state[widgets.IS_NEW_PAGE] = st.session_state.get("page") != page.title
st.session_state["page"] = page.title
st.set_page_config(
    page_title=f"{page.title} · Harbor Fleet", page_icon=MARK, layout="wide"
)
st.logo(LOGO, size="large")
st.html(Path(__file__).parent / "components" / "style.css")
page_head.show(page.title, is_system=page in system_pages)
try:
    session.require_login()
    # Runs and refused files are shown even before any orders are loaded.
    on_no_data = widgets.empty_state if page.title == PIPELINE else widgets.stop_page
    show_freshness(on_no_data)
    page.run()
except HarborError as error:
    st.error(str(error), icon=":material/error:")
