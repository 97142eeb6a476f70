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

st.header("Last nights")
nights = run_descriptions.nights(runs, zone)
if nights.empty:
    parts.missing(
        "No night has run yet. `harbor nightly` runs one now; `harbor schedule run` runs "
        "one every night."
    )
else:
    st.caption(f"Times are of {zone.key}.")
    parts.small(nights, "nights", on_wide=("Took",))

labels = run_descriptions.labels(runs)
if labels:
    st.header("Step by step")
    chosen = selection.choose_from_url("Run", "run", labels, next(iter(labels)))
    steps = run_descriptions.steps(runs, int(chosen), zone)
    if steps.empty:
        st.caption("This run has no steps of its own.")
    else:
        parts.small(steps, f"run-{chosen}")

if fresh.last_on is not None:
    st.header("How new each depot's orders are")
    calendar = queries.calendar(fresh)
    days = fleet_time.days_until(fresh.newest, queries.CALENDAR_DAYS)
    st.caption(f"{ingest_tables.sentence(calendar)} {ingest_tables.legend()}.")
    st.html(ingest_tables.grid(calendar, days))
    parts.save(ingest_tables.calendar(calendar, days), "calendar")

st.header("Files loaded")
files = queries.files(fresh)
loaded, refused = ingest_tables.files(files, zone), ingest_tables.refused(files, zone)
if loaded.empty:
    parts.missing("No file has come in. Load one with `harbor ingest PATH`.")
else:
    parts.small(loaded, "files", on_wide=("Kind", "Columns not needed"))

st.header("Files refused")
if refused.empty:
    st.caption("Every file of the last two weeks could be read.")
else:
    st.caption(
        "Nothing of these was loaded. One in the inbox is tried again every night, until "
        f"it is mended or taken away. {ingest_tables.MENDING}"
    )
    parts.small(refused, "refused")

st.header("Rows that could not be read")
rejected = queries.rejected(fresh)
if rejected.empty:
    st.caption(
        "No row is put aside: every one could be read, if not at first then later."
    )
else:
    st.caption(
        "By file and reason, with the first such row; the other rows of these files are "
        f"loaded. `harbor quarantine list` shows every one. {ingest_tables.MENDING}"
    )
    parts.small(ingest_tables.rejected(rejected), "unreadable", on_wide=("First line",))

if not (refused.empty and rejected.empty):
    st.header("How to mend a file", anchor="mend")
    st.markdown(ingest_tables.HOW_TO_MEND)

st.header("Backfills")
plans = queries.plans()
if plans.empty:
    st.caption("Nothing was backfilled. See `harbor backfill plan --help`.")
else:
    parts.small(run_descriptions.plans(plans), "backfills")

others = run_descriptions.others(runs, zone)
if not others.empty:
    st.header("Other runs")
    parts.small(others, "other-runs")
st.caption(
    f"Looked at {say.moment(fleet_time.now(), zone)}. Load the page again to look anew."
)
