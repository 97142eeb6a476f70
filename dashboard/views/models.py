"""The page "Models": champion, candidates, and the reasons for each decision."""

import streamlit as st

from dashboard import queries
from dashboard.components import days_ahead, page_head, widgets
from dashboard.queries import ScoreFilter
from dashboard.tables import model_list

LIVE_DAYS, NEWEST = 182, 10
"""Days of live forecasts by which models are judged; the most models in the table."""

freshness = queries.freshness()
models = queries.models(freshness)
if models.empty:
    widgets.stop_page("No model has been trained yet. Train one with `harbor train`.")

zone = queries.zone()
scores = queries.accuracy(ScoreFilter(live=True, days_back=LIVE_DAYS), freshness)
occasions = days_ahead.day_names("", freshness)
widgets.answer(model_list.status(models, scores, zone, occasions))
widgets.note("Accuracy by day and depot", "accuracy")

table = model_list.all_models(models, scores, zone)
hidden = "Version", "Went live", "Live: Same day last week"
widgets.small_table(table.head(NEWEST), "Newest models", hidden_on_phones=hidden)
sheets = {"Models": ("Errors of each model, and what became of it", table)}
page_head.save_as_excel("models", lambda: sheets, freshness)
st.caption(
    "Test: before use, a copy trained without the newest weeks, and the model before, both forecast "
    "those weeks. Live: its forecasts of the last 26 weeks, also of days after the next model went "
    "live. Models differ in their days, so compare each with the same day last week (vs last week, from "
    "7 scored days on). Off by: the mean error of a depot's day (MAPE)."
)
