"""The page "Models": champion, candidates, and the reasons for each decision."""

import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.models.champion_form import champion_form
from dashboard.tables import models as model_tables
from dashboard.text import formatting

models = queries.models(queries.freshness())
if models.empty:
    widgets.stop_page("No model has been trained yet. Train one with `harbor train`.")

champions = models[models["role"] == "champion"]
if champions.empty:
    widgets.empty_state(
        "No model is champion, so no forecasts will be made. Choose one below, and make it "
        "champion at the foot of this page."
    )

labels, zone = model_tables.labels(models), queries.zone()
status = formatting.escape_markdown(model_tables.status_line(models, zone))
st.markdown(f"**{status}**")
chosen = widgets.choose_from_url("Model", "model", labels, models["version"].iloc[0])
model = models[models["version"] == chosen].to_dict("records")[0]

widgets.key_figures(model_tables.figures(model, zone))
st.markdown(formatting.escape_markdown(model_tables.decision(model, zone)))

st.header("Holdout test")
window = model_tables.holdout_window(model["scores"])
if window is None:
    widgets.empty_state("Not evaluated, so there are no scores.")
else:
    held_out = model_tables.held_out_days(model)
    st.caption(
        f"{held_out.capitalize()}, forecast by a model with the same settings trained only on "
        f"the days before, with origins {window}. The page “Accuracy” has the forecasts that "
        "were live. MAPE is the mean of |forecast − actual| ÷ actual; WAPE and bias are shares of "
        "volume; MASE below 1 beats same day last week (the seasonal naive) in training."
    )
    widgets.small_table(
        model_tables.holdout_scores(model["scores"]).reset_index(), f"backtest-{chosen}"
    )

st.header("All models")
widgets.small_table(
    model_tables.all_models(models, zone),
    "models",
    hidden_on_phones=("Network weight", "Trained through", "MAPE", "Naive MAPE"),
)

st.header("Change the champion")
champion_form(models)
