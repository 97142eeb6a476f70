"""Charts of the models; no I/O."""

import altair as alt
import pandas as pd

from dashboard.charts.encodings import (
    FORECAST,
    NAIVE,
    Drawn,
    colour,
    dashes,
    finished,
    named_days,
    share_axis,
    time_axis,
)
from dashboard.text import formatting


def from_model_to_model(trained: pd.DataFrame) -> Drawn:
    """MAPE of each model as a dot on a line, the seasonal naive's beside it.

    Args:
      trained: As `backtests.by_training` gives it.
    """
    table = named_days(trained, "day_on")
    table["said"] = table["mape"].map(formatting.percent)
    values = [FORECAST, NAIVE]
    return finished(
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
