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
        "No model is champion, so no forecast will be made. Choose one below and make it "
        "champion with `harbor models promote VERSION`."
    )

labels, zone = backtests.labels(models), fleet_time.zone()
chosen = selection.choose_from_url("Model", "model", labels, models["version"].iloc[0])
model = models[models["version"] == chosen].to_dict("records")[0]

parts.figures(backtests.figures(model, zone))
st.markdown(say.plain(backtests.verdict(model, zone)))

st.header("On days it had not seen")
judged = backtests.window(model["scores"])
if judged is None:
    parts.missing("It was never judged, so there are no scores of it.")
else:
    st.caption(
        f"Forecasts {judged}, by a fit of the same settings that ended before. MAPE is the "
        "mean of |forecast − actual| ÷ actual; WAPE and bias are shares of volume; MASE "
        "below 1 beats the seasonal naive in training."
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
    st.header("From model to model")
    parts.chart(
        model_charts.from_model_to_model,
        trained,
        "MAPE of each model on the days it was judged on, by the day it was trained "
        "through, beside the seasonal naive on the same days. Days differ from model to "
        "model, so compare the two lines, not one with itself.",
        tables.by_training(trained),
        "model-to-model",
    )

st.header("Going back")
back = backtests.way_back(models)
if back is None:
    st.markdown(
        "No other model was champion before. `harbor models promote VERSION` makes any "
        "model champion, and `harbor forecast` then writes its forecasts."
    )
else:
    st.markdown(
        f'`harbor models rollback --reason "WHY"` makes {say.plain(back)} champion again, '
        "and `harbor forecast` then writes its forecasts. `harbor models promote VERSION` "
        "makes any other model champion. Both refuse a model whose file is not whole, or "
        "was pruned."
    )
