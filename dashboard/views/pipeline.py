"""The page "Pipeline": runs and their steps, files, and missing data."""

import streamlit as st

from dashboard import queries
from dashboard.components import banner, page_head, widgets
from dashboard.tables import display_tables, html_grids
from dashboard.text import formatting, run_descriptions

TIMES = ("Started", "Duration")  # columns of runs hidden on phones

freshness = queries.freshness()
zone = queries.zone()
runs = queries.runs()
n_missing, is_warned = 0, bool(freshness.alarms)
if freshness.last_on is not None:
    gaps = queries.calendar(freshness).query("missing > 0")
    n_missing = 0 if gaps.empty else int(gaps["n_missing"].iloc[0])
    is_warned = is_warned or st.session_state[banner.IS_WARNING]
files = queries.files(freshness)
loaded = display_tables.loaded_files(files, zone)
refused = display_tables.refused_files(files, zone)
rejected = queries.rejected_rows(freshness)

n_rejected = int(rejected["n_rows"].sum())
points = run_descriptions.to_do(
    runs, n_missing, len(refused), n_rejected, is_warned=is_warned
)
night = run_descriptions.night_sentence(runs)
nights = run_descriptions.runs_table(runs, zone)
if points:
    widgets.answer(night)
    sentences = [formatting.format_dates(point, zone) for point in points]
    st.markdown(f"To do:\n{widgets.bullets(sentences)}")
elif night:
    trouble = run_descriptions.last_trouble(nights)
    came = f"Newest file: {loaded['Loaded'].iloc[0]}." if len(loaded) else ""
    told = formatting.format_dates(f"{night} {came} {trouble}".strip(), zone)
    widgets.answer(f"Nothing to do. {told}")

if n_missing:
    st.header("Missing data")
    legend = ", ".join(" ".join(each) for each in html_grids.DAY_STATES.values())
    st.caption(
        f"Depots with missing days in the last four weeks. {legend}. Load them with `harbor "
        "ingest PATH`, or record the depot as closed."
    )
    st.html(html_grids.calendar(gaps, freshness.newest))

if not refused.empty:
    st.header("Refused files")
    st.caption(
        "Nothing from these files was loaded. Files in the inbox are retried every night "
        "until they are fixed or removed. How: `deploy/docs/correct-a-file.md`."
    )
    widgets.small_table(refused, "Refused files")

if not rejected.empty:
    st.header("Rejected rows")
    st.caption(
        "By file and reason, with the first row of each. The files' other rows were loaded. "
        "`harbor quarantine list` shows all of them. How to fix: `deploy/docs/correct-a-file.md`."
    )
    table = display_tables.rejected_rows(rejected)
    widgets.small_table(table, "Rejected rows", hidden_on_phones=("First line",))

st.header("Nightly runs")
if nights.empty:
    widgets.empty_state(
        "None yet. `harbor nightly` runs one now; `harbor schedule run` runs one every night."
    )
else:
    ids = run_descriptions.night_ids(runs)
    addresses = [formatting.link("pipeline", run=each) for each in ids]
    widgets.small_table(
        nights,
        "Nightly runs",
        hidden_on_phones=TIMES,
        links={"Night after": [f"{each}#steps-of-a-run" for each in addresses]},
        are_current=[each == st.query_params.get("run") for each in ids],
    )

sheets = {
    "Nightly runs": ("Newest first", nights),
    "Loaded files": ("The newest", loaded),
    "Refused files": ("Nothing of these was loaded", refused),
}
page_head.save_as_excel("pipeline", lambda: sheets, freshness)
labels = run_descriptions.labels(runs, zone)
with st.container(key="steps"):
    if labels:
        st.header("Steps of a run")
        chosen = widgets.choose_from_url("Run", "run", labels, next(iter(labels)))
        steps = run_descriptions.steps(runs, int(chosen), zone)
        widgets.small_table(steps, "Run steps", hidden_on_phones=TIMES)
    if loaded.empty:
        widgets.empty_state("No files yet. Load one with `harbor ingest PATH`.")
    else:
        with st.expander(f"The newest {formatting.count(len(loaded), 'file')}"):
            hidden = ("Kind", "Ignored columns")
            widgets.small_table(loaded, "Loaded files", hidden_on_phones=hidden)
