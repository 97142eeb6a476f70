"""The page "Pipeline": nightly runs, files, missing data and other runs."""

from datetime import datetime

import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.tables import html_grids, tables
from dashboard.text import formatting, run_descriptions, summaries

HOW_TO_FIX = """
1. **The file is wrong:** correct it, or ask its sender to. Put it into the inbox for the next
   nightly run, or load it now with `harbor ingest PATH`. Send the whole file, under any name: rows
   that are already loaded are not counted twice.
2. **The columns have other names:** map them, as in
   `harbor ingest PATH --column depot_id=SHOP --column ordered_at=TIME`.
3. **The dates have another format:** give it, as in
   `harbor ingest PATH --date-format "%d/%m/%Y %H:%M"`. Rows of a file that was loaded are
   read again with `harbor quarantine replay --date-format "%d/%m/%Y %H:%M"`.

The page *Correct a wrong file* (`deploy/docs/correct-a-file.md`) shows each with its output.
"""

freshness = queries.freshness()
zone = queries.zone()
runs = queries.runs()

status = run_descriptions.status_line(runs, zone)
if status:
    st.markdown(f"**{formatting.escape_markdown(status)}**")

st.header("Nightly runs")
nights = run_descriptions.nightly_runs(runs, zone)
if nights.empty:
    widgets.empty_state(
        "None yet. `harbor nightly` runs one now; `harbor schedule run` runs one every "
        "night."
    )
else:
    st.caption(f"Times in {zone.key}.")
    widgets.small_table(nights, "nights", hidden_on_phones=("Duration",))

labels = run_descriptions.labels(runs)
if labels:
    st.header("Run steps")
    chosen = widgets.choose_from_url("Run", "run", labels, next(iter(labels)))
    steps = run_descriptions.steps(runs, int(chosen), zone)
    if steps.empty:
        st.caption("This run has no steps.")
    else:
        widgets.small_table(steps, f"run-{chosen}")

if freshness.last_on is not None:
    st.header("Data by depot and day")
    calendar = queries.calendar(freshness)
    days = formatting.days_until(freshness.newest, queries.CALENDAR_DAYS)
    signs = html_grids.DAY_STATES.values()
    legend = ", ".join(f"{sign} {meaning}" for sign, meaning in signs)
    st.caption(f"{summaries.missing_days_sentence(calendar)} {legend}.")
    st.html(html_grids.calendar(calendar, days))
    widgets.download_button(tables.calendar(calendar, days), "calendar")

st.header("Loaded files")
files = queries.files(freshness)
loaded, refused = tables.loaded_files(files, zone), tables.refused_files(files, zone)
if loaded.empty:
    widgets.empty_state("None yet. Load one with `harbor ingest PATH`.")
else:
    widgets.small_table(loaded, "files", hidden_on_phones=("Kind", "Ignored columns"))

st.header("Refused files")
if refused.empty:
    st.caption("None in the last two weeks.")
else:
    st.caption(
        "Nothing from these files was loaded. Files in the inbox are retried every night "
        "until they are fixed or removed. [How to fix a file](#fix)"
    )
    widgets.small_table(refused, "refused-files")

st.header("Rejected rows")
rejected = queries.rejected_rows(freshness)
if rejected.empty:
    st.caption("No rejected rows.")
else:
    st.caption(
        "By file and reason, with the first row of each. The files' other rows were loaded. "
        "`harbor quarantine list` shows all rejected rows. [How to fix a file](#fix)"
    )
    widgets.small_table(
        tables.rejected_rows(rejected),
        "rejected-rows",
        hidden_on_phones=("First line",),
    )

if not (refused.empty and rejected.empty):
    st.header("How to fix a file", anchor="fix")
    st.markdown(HOW_TO_FIX)

others = run_descriptions.other_runs(runs, zone)
if not others.empty:
    st.header("Other runs")
    widgets.small_table(others, "other-runs")
st.caption(
    f"As of {formatting.timestamp(datetime.now(zone), zone)}. Reload to refresh."
)
