"""The page "Models": champion, candidates, and the reasons for each decision."""

import streamlit as st

from dashboard import queries
from dashboard.components import parts
from dashboard.tables import backtests
from dashboard.text import formatting

models = queries.models(queries.freshness())
if models.empty:
    parts.stop_with("No model has been trained yet. Train one with `harbor train`.")

champions = models[models["role"] == "champion"]
if champions.empty:
    parts.empty_state(
        "No model is champion, so no forecasts will be made. Choose one below and promote it "
        "with `harbor models promote VERSION`."
    )

labels, zone = backtests.labels(models), queries.zone()
chosen = parts.choose_from_url("Model", "model", labels, models["version"].iloc[0])
model = models[models["version"] == chosen].to_dict("records")[0]

parts.key_figures(backtests.figures(model, zone))
st.markdown(formatting.escape_markdown(backtests.decision(model, zone)))

st.header("Holdout test")
window = backtests.holdout_window(model["scores"])
if window is None:
    parts.empty_state("Not evaluated, so there are no scores.")
else:
    st.caption(
        f"Origins {window}, forecast by a model with the same settings trained only on earlier "
        "days. MAPE is the mean of |forecast − actual| ÷ actual; WAPE and bias are shares of "
        "volume; MASE below 1 beats the seasonal naive in training."
    )
    parts.small_table(
        backtests.holdout_scores(model["scores"]).reset_index(), f"backtest-{chosen}"
    )

st.header("All models")
parts.small_table(
    backtests.all_models(models, zone),
    "models",
    on_wide=("Forecasts by", "Trained through", "MAPE", "Naive MAPE"),
)

st.header("Rollback")
target = backtests.rollback_target(models)
if target is None:
    st.markdown(
        "There is no former champion. `harbor models promote VERSION` makes any "
        "model champion, and `harbor forecast` then writes its forecasts."
    )
else:
    st.markdown(
        f'`harbor models rollback --reason "WHY"` makes {formatting.escape_markdown(target)} champion again, '
        "and `harbor forecast` then writes its forecasts. `harbor models promote VERSION` "
        "makes any other model champion. Both refuse a model whose file is damaged or "
        "pruned."
    )
