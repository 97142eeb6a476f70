"""The page "Models": champion, candidates, and the reasons for each decision."""

import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.queries import ScoreFilter
from dashboard.tables import model_list
from dashboard.text import formatting

LIVE_DAYS = 182
"""Days of live forecasts by which the champion is judged."""

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
status = model_list.status(models, scores, zone)
st.markdown(formatting.escape_markdown(status))
widgets.note("Accuracy", "accuracy", "How far off, day by day and by depot: ")

with st.expander(f"{formatting.count(len(models), 'model')}, with test and decision"):
    widgets.small_table(
        model_list.all_models(models, zone),
        "Models",
        hidden_on_phones=("Trained through", "Bias", "In the 80 % band"),
    )

    st.caption(
        "The test: the last days before a model was trained, forecast by a model with the same "
        "settings trained only on the days before. MAPE is the mean of |forecast − actual| ÷ actual, "
        "beside that of same day last week (the seasonal naive); bias is a share of volume, above "
        "zero too high."
    )
    st.caption(
        "`harbor models show VERSION` has every measure of a model, `harbor models promote VERSION` "
        f"makes it champion.{model_list.rollback(models)}"
    )
