"""Charts of the models; no I/O."""

import altair as alt
import pandas as pd

from dashboard.charts.encodings import (
    FORECAST,
    NAIVE,
    Chart,
    colour,
    dashes,
    named_days,
    share_axis,
    time_axis,
    with_height,
)
from dashboard.text import formatting


def holdout_mape_by_model(trained: pd.DataFrame) -> Chart:
    """MAPE of each model as a dot on a line, the seasonal naive's beside it.

    Args:
      trained: As `backtests.by_training` gives it.
    """
    table = named_days(trained, "day_on")
    table["said"] = table["mape"].map(formatting.percent)
    values = [FORECAST, NAIVE]
    return with_height(
        alt.Chart(table)
        .mark_line(point={"size": 45})
        .encode(
            x=time_axis(table, "day_on", every_day=True),
            y=share_axis("mape"),
            color=colour("forecaster", values),
            strokeDash=dashes("forecaster", values),
            tooltip=[
                alt.Tooltip("version:N", title="Model"),
                alt.Tooltip("day:N", title="Trained through"),
                alt.Tooltip("forecaster:N", title="Forecaster"),
                alt.Tooltip("said:N", title="MAPE"),
            ],
        )
    )
