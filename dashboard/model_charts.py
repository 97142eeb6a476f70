"""Charts of the models; no I/O."""

import altair as alt
import pandas as pd

from dashboard.encodings import (
    FORECAST,
    NAIVE,
    Drawn,
    colour,
    dashes,
    finished,
    named_days,
    time_axis,
)


def from_model_to_model(trained: pd.DataFrame) -> Drawn:
    """MAPE of each model as a dot on a line, the seasonal naive's beside it.

    Args:
      trained: As `backtests.by_training` gives it.
    """
    table = named_days(trained, "day_on")
    values = [FORECAST, NAIVE]
    return finished(
        alt.Chart(table)
        .mark_line(point={"size": 45})
        .encode(
            x=time_axis(table, "day_on"),
            y=alt.Y("mape:Q", title=None, axis=alt.Axis(format=".0%", tickCount=4)),
            color=colour("forecaster", values),
            strokeDash=dashes("forecaster", values),
            tooltip=[
                alt.Tooltip("version:N", title="Model"),
                alt.Tooltip("day:N", title="Trained through"),
                alt.Tooltip("forecaster:N", title="Of the"),
                alt.Tooltip("mape", title="MAPE", format=".1%"),
            ],
        )
    )
