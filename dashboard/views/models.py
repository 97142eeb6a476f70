"""The page "Models": champion, candidates, and the reasons for each decision."""

import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.queries import ScoreFilter
from dashboard.tables import model_list

LIVE_DAYS = 182
"""Days of live forecasts by which the champion is judged."""
NEWEST = 10
"""Models with their test in sight: the champion, and the newest others."""

freshness = queries.freshness()
models = queries.models(freshness)
if models.empty:
    widgets.stop_page("No model has been trained yet. Train one with `harbor train`.")

if (models["role"] != "champion").all():
    widgets.empty_state(
        "No model is champion, so no forecasts will be made. Choose one below, and promote it."
    )

zone = queries.zone()
scores = queries.accuracy(ScoreFilter(live=True, days_back=LIVE_DAYS), freshness)
widgets.answer(model_list.status(models, scores, zone))
widgets.note("Accuracy", "accuracy", "How far off, day by day and by depot: ")

table = model_list.all_models(models, zone)
hidden = ("Bias", "In the 80 % band")
newest = table.head(NEWEST).drop(columns="Version")
widgets.small_table(newest, "Newest models", hidden_on_phones=hidden)
st.caption(
    "The test: the last days before a model was trained, forecast by a model with the same "
    "settings trained only on the days before. MAPE is the mean of |forecast − actual| ÷ actual, "
    "beside that of same day last week (the seasonal naive); bias is a share of volume, above "
    "zero too high."
)
with st.expander("Versions and commands"):
    widgets.small_table(table[["Trained through", "Status", "Version"]], "Versions")
    st.caption(
        "`harbor models show VERSION` has every measure of a model, `harbor models promote VERSION` "
        f"makes it champion.{model_list.rollback(models)}"
    )
