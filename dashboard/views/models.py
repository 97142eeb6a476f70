"""Models: which one forecasts, which were tried, why each was promoted or not."""

import streamlit as st

from dashboard import queries
from dashboard.charts import model_charts
from dashboard.components import parts, selection
from dashboard.tables import backtests, tables
from dashboard.text import fleet_time
from dashboard.text import formatting as say

models = queries.models(queries.freshness())
if models.empty:
    parts.nothing("No model has been trained yet. Train one with `harbor train`.")

champions = models[models["role"] == "champion"]
if champions.empty:
    parts.missing(
        "No model is champion, so no forecasts will be made. Choose one below and promote it "
        "with `harbor models promote VERSION`."
    )

labels, zone = backtests.labels(models), fleet_time.zone()
chosen = selection.choose_from_url("Model", "model", labels, models["version"].iloc[0])
model = models[models["version"] == chosen].to_dict("records")[0]

parts.figures(backtests.figures(model, zone))
st.markdown(say.plain(backtests.verdict(model, zone)))

st.header("Holdout test")
judged = backtests.window(model["scores"])
if judged is None:
    parts.missing("Not evaluated, so there are no scores.")
else:
    st.caption(
        f"Origins {judged}, forecast by a model with the same settings trained only on earlier "
        "days. MAPE is the mean of |forecast − actual| ÷ actual; WAPE and bias are shares of "
        "volume; MASE below 1 beats the seasonal naive in training."
    )
    parts.small(backtests.table(model["scores"]), f"backtest-{chosen}")

st.header("All models")
parts.small(
    backtests.all_models(models, zone),
    "models",
    on_wide=("Forecasts by", "Trained through", "MAPE", "Naive MAPE"),
)

trained = backtests.by_training(models)
if trained["version"].nunique() > 1:
    st.header("Holdout MAPE by model")
    parts.chart(
        model_charts.from_model_to_model,
        trained,
        "MAPE of each model and of the seasonal naive on the model's holdout days, by the "
        "day the model was trained through. Holdout days differ between models, so compare "
        "the two lines with each other, not one model with the next.",
        tables.by_training(trained),
        "holdout-mape-by-model",
    )

st.header("Rollback")
back = backtests.way_back(models)
if back is None:
    st.markdown(
        "There is no former champion. `harbor models promote VERSION` makes any "
        "model champion, and `harbor forecast` then writes its forecasts."
    )
else:
    st.markdown(
        f'`harbor models rollback --reason "WHY"` makes {say.plain(back)} champion again, '
        "and `harbor forecast` then writes its forecasts. `harbor models promote VERSION` "
        "makes any other model champion. Both refuse a model whose file is damaged or "
        "pruned."
    )
