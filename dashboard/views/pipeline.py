"""Pipeline: the last nights, what came in, what is missing, and backfills."""

import streamlit as st

from dashboard import arrivals, clock, ledger_words, parts, queries, selection
from dashboard import wording as say

fresh = queries.freshness()
zone = clock.zone()
runs = queries.runs()

st.header("Last nights")
nights = ledger_words.nights(runs, zone)
if nights.empty:
    parts.missing(
        "No night has run yet. `harbor nightly` runs one now; `harbor schedule run` runs "
        "one every night."
    )
else:
    st.caption(f"Times are of {zone.key}.")
    parts.small(nights, "nights", on_wide=("Took",))

labels = ledger_words.labels(runs)
if labels:
    st.header("Step by step")
    chosen = selection.choose_from_url("Run", "run", labels, next(iter(labels)))
    steps = ledger_words.steps(runs, int(chosen), zone)
    if steps.empty:
        st.caption("This run has no steps of its own.")
    else:
        parts.small(steps, f"run-{chosen}")

if fresh.last_on is not None:
    st.header("How new each depot's orders are")
    calendar = queries.calendar(fresh)
    days = clock.days_until(fresh.newest, queries.CALENDAR_DAYS)
    st.caption(f"{arrivals.sentence(calendar)} {arrivals.legend()}.")
    st.html(arrivals.grid(calendar, days))
    parts.save(arrivals.calendar(calendar, days), "calendar")

st.header("Files loaded")
files = queries.files(fresh)
loaded, refused = arrivals.files(files, zone), arrivals.refused(files, zone)
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
        f"it is mended or taken away. {arrivals.MENDING}"
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
        f"loaded. `harbor quarantine list` shows every one. {arrivals.MENDING}"
    )
    parts.small(arrivals.rejected(rejected), "unreadable", on_wide=("First line",))

if not (refused.empty and rejected.empty):
    st.header("How to mend a file", anchor="mend")
    st.markdown(arrivals.HOW_TO_MEND)

st.header("Backfills")
plans = queries.plans()
if plans.empty:
    st.caption("Nothing was backfilled. See `harbor backfill plan --help`.")
else:
    parts.small(ledger_words.plans(plans), "backfills")

others = ledger_words.others(runs, zone)
if not others.empty:
    st.header("Other runs")
    parts.small(others, "other-runs")
st.caption(
    f"Looked at {say.moment(clock.now(), zone)}. Load the page again to look anew."
)
