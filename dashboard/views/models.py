"""The page "Models": champion, candidates, and the reasons for each decision."""

import streamlit as st

from dashboard import queries
from dashboard.components import days_ahead, widgets
from dashboard.queries import ScoreFilter
from dashboard.tables import model_list

LIVE_DAYS = 182
"""Days of live forecasts by which the champion is judged."""
NEWEST = 10
"""Models in the table: the champion, and the newest others."""

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
hidden = ("Went live", "Live: In the 80 % band", "Version")
widgets.small_table(table.head(NEWEST), "Newest models", hidden)
st.caption(
    "Live: all its live forecasts, on different days for each model. Test: the last days before it "
    "was trained, forecast by a model trained without them. Off by: MAPE. Same day last week: the seasonal naive, on the same days."
)
