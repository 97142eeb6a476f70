"""The page "Pipeline": nightly runs, files, missing data and backfills."""

import streamlit as st

from dashboard import queries
from dashboard.components import parts, selection
from dashboard.tables import ingest_tables
from dashboard.text import fleet_time, formatting, run_descriptions

fresh = queries.freshness()
zone = fleet_time.zone()
runs = queries.runs()

st.header("Nightly runs")
nights = run_descriptions.nightly_runs(runs, zone)
if nights.empty:
    parts.empty_state(
        "None yet. `harbor nightly` runs one now; `harbor schedule run` runs one every "
        "night."
    )
else:
    st.caption(f"Times in {zone.key}.")
    parts.small_table(nights, "nights", on_wide=("Duration",))

labels = run_descriptions.labels(runs)
if labels:
    st.header("Run steps")
    chosen = selection.choose_from_url("Run", "run", labels, next(iter(labels)))
    steps = run_descriptions.steps(runs, int(chosen), zone)
    if steps.empty:
        st.caption("This run has no steps.")
    else:
        parts.small_table(steps, f"run-{chosen}")

if fresh.last_on is not None:
    st.header("Data by depot and day")
    calendar = queries.calendar(fresh)
    days = fleet_time.days_until(fresh.newest, queries.CALENDAR_DAYS)
    st.caption(f"{ingest_tables.summary(calendar)} {ingest_tables.legend()}.")
    st.html(ingest_tables.grid(calendar, days))
    parts.download_button(ingest_tables.calendar(calendar, days), "calendar")

st.header("Loaded files")
files = queries.files(fresh)
loaded, refused = ingest_tables.files(files, zone), ingest_tables.refused(files, zone)
if loaded.empty:
    parts.empty_state("None yet. Load one with `harbor ingest PATH`.")
else:
    parts.small_table(loaded, "files", on_wide=("Kind", "Ignored columns"))

st.header("Refused files")
if refused.empty:
    st.caption("None in the last two weeks.")
else:
    st.caption(
        "Nothing from these files was loaded. Files in the inbox are retried every night "
        f"until they are fixed or removed. {ingest_tables.MENDING}"
    )
    parts.small_table(refused, "refused-files")

st.header("Rejected rows")
rejected = queries.rejected_rows(fresh)
if rejected.empty:
    st.caption("No rejected rows.")
else:
    st.caption(
        "By file and reason, with the first row of each. The files' other rows were loaded. "
        f"`harbor quarantine list` shows all rejected rows. {ingest_tables.MENDING}"
    )
    parts.small_table(
        ingest_tables.rejected_rows(rejected), "rejected-rows", on_wide=("First line",)
    )

if not (refused.empty and rejected.empty):
    st.header("How to fix a file", anchor="fix")
    st.markdown(ingest_tables.HOW_TO_MEND)

st.header("Backfills")
plans = queries.backfills()
if plans.empty:
    st.caption("None yet. See `harbor backfill plan --help`.")
else:
    parts.small_table(run_descriptions.backfills(plans), "backfills")

others = run_descriptions.other_runs(runs, zone)
if not others.empty:
    st.header("Other runs")
    parts.small_table(others, "other-runs")
st.caption(f"As of {formatting.timestamp(fleet_time.now(), zone)}. Reload to refresh.")
