"""Pipeline: the last nights, what came in, what is missing, and backfills."""

import streamlit as st

from dashboard import queries
from dashboard.components import parts, selection
from dashboard.tables import ingest_tables
from dashboard.text import fleet_time, run_descriptions
from dashboard.text import formatting as say

fresh = queries.freshness()
zone = fleet_time.zone()
runs = queries.runs()

st.header("Nightly runs")
nights = run_descriptions.nights(runs, zone)
if nights.empty:
    parts.missing(
        "None yet. `harbor nightly` runs one now; `harbor schedule run` runs one every "
        "night."
    )
else:
    st.caption(f"Times in {zone.key}.")
    parts.small(nights, "nights", on_wide=("Duration",))

labels = run_descriptions.labels(runs)
if labels:
    st.header("Run steps")
    chosen = selection.choose_from_url("Run", "run", labels, next(iter(labels)))
    steps = run_descriptions.steps(runs, int(chosen), zone)
    if steps.empty:
        st.caption("This run has no steps.")
    else:
        parts.small(steps, f"run-{chosen}")

if fresh.last_on is not None:
    st.header("Data by depot and day")
    calendar = queries.calendar(fresh)
    days = fleet_time.days_until(fresh.newest, queries.CALENDAR_DAYS)
    st.caption(f"{ingest_tables.sentence(calendar)} {ingest_tables.legend()}.")
    st.html(ingest_tables.grid(calendar, days))
    parts.save(ingest_tables.calendar(calendar, days), "calendar")

st.header("Loaded files")
files = queries.files(fresh)
loaded, refused = ingest_tables.files(files, zone), ingest_tables.refused(files, zone)
if loaded.empty:
    parts.missing("None yet. Load one with `harbor ingest PATH`.")
else:
    parts.small(loaded, "files", on_wide=("Kind", "Ignored columns"))

st.header("Refused files")
if refused.empty:
    st.caption("None in the last two weeks.")
else:
    st.caption(
        "Nothing from these files was loaded. Files in the inbox are retried every night "
        f"until they are fixed or removed. {ingest_tables.MENDING}"
    )
    parts.small(refused, "refused-files")

st.header("Rejected rows")
rejected = queries.rejected(fresh)
if rejected.empty:
    st.caption("No rejected rows.")
else:
    st.caption(
        "By file and reason, with the first row of each. The files' other rows were loaded. "
        f"`harbor quarantine list` shows all rejected rows. {ingest_tables.MENDING}"
    )
    parts.small(
        ingest_tables.rejected(rejected), "rejected-rows", on_wide=("First line",)
    )

if not (refused.empty and rejected.empty):
    st.header("How to fix a file", anchor="fix")
    st.markdown(ingest_tables.HOW_TO_MEND)

st.header("Backfills")
plans = queries.plans()
if plans.empty:
    st.caption("None yet. See `harbor backfill plan --help`.")
else:
    parts.small(run_descriptions.plans(plans), "backfills")

others = run_descriptions.others(runs, zone)
if not others.empty:
    st.header("Other runs")
    parts.small(others, "other-runs")
st.caption(f"As of {say.moment(fleet_time.now(), zone)}. Reload to refresh.")
