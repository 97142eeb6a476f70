"""Axes, colours, legends and tooltips that every chart shares.

Colours are named by what they mean and take their values from the theme, so that light
and dark have their own and every chart agrees.
"""

import altair as alt
import pandas as pd

from dashboard.text import formatting

FORECAST, ACTUAL, SUPPOSED = "forecast", "actual", "supposed"
NAIVE, MEDIAN = "seasonal naive", "median of 4"
# In the order of `chartCategoricalColors` in .streamlit/config.toml.
MEANINGS = [FORECAST, ACTUAL, NAIVE, MEDIAN, SUPPOSED]
DASHES = [[1, 0], [1, 0], [5, 4], [2, 2], [1, 0]]
"""Of each meaning, so that none is told by its colour alone."""
WHOLE = ",.0f"
HEIGHT = 280
# `alt.layer` says that it may give a FacetChart; ours never have facets.
Drawn = alt.Chart | alt.LayerChart | alt.FacetChart
PERCENT = "format(100 * datum.value, '.0f') + ' %'"
SPLIT = "[slice(datum.label, 0, 3), slice(datum.label, 4)]"
"""'Fri 21 Nov' on two lines."""


def tooltips(column: str) -> list[alt.Tooltip]:
    """The day, the number of a column, and the band where there is one."""
    day = alt.Tooltip("day:N", title="Day")
    band = [
        alt.Tooltip("p10", title="Low (P10)", format=WHOLE),
        alt.Tooltip("p90", title="High (P90)", format=WHOLE),
    ]
    name = "Orders" if column == "actual" else "Forecast"
    value = alt.Tooltip(column, title=name, format=WHOLE)
    return [day, value] if column == "actual" else [day, value, *band]


def named_days(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Adds `day`, the day's name as text."""
    return table.assign(day=table[column].map(formatting.day))


def days_in_order(table: pd.DataFrame, column: str, every_day: bool) -> alt.X:
    """Days as bars stand: every one named, or Mondays only."""
    order = list(dict.fromkeys(table["day"]))
    mondays = table.loc[table[column].dt.day_of_week == 0, "day"].unique()
    axis = alt.Axis(
        labelAngle=0,
        labelExpr=SPLIT,
        ticks=False,
        values=order if every_day else list(mondays),
    )
    return alt.X("day:O", sort=order, title=None, axis=axis)


def time_axis(table: pd.DataFrame, column: str, every_day: bool = False) -> alt.X:
    """Days on a line: Mondays named, or every one of which there are few."""
    named = (table[column].dt.day_of_week == 0) | every_day
    axis = alt.Axis(
        format="%a %-d %b",
        grid=False,
        labelOverlap=True,
        values=[
            alt.DateTime(year=day.year, month=day.month, date=day.day)
            for day in map(pd.Timestamp, table.loc[named, column].unique())
        ],
    )
    return alt.X(f"{column}:T", title=None, axis=axis)


def orders_axis(column: str) -> alt.Y:
    """Whole orders per day."""
    axis = alt.Axis(format=WHOLE, tickCount=4)
    return alt.Y(f"{column}:Q", title=None, axis=axis)


def share_axis(column: str) -> alt.Y:
    """Percentages, written as everywhere else."""
    axis = alt.Axis(labelExpr=PERCENT, tickCount=4)
    return alt.Y(f"{column}:Q", title=None, axis=axis)


def colour(column: str, values: list[str], symbol: str = "stroke") -> alt.Color:
    """The colour of what a column says a mark means; the legend names those drawn."""
    scale = alt.Scale(domain=MEANINGS)
    return alt.Color(f"{column}:N", scale=scale, legend=legend(values, symbol))


def dashes(column: str, values: list[str]) -> alt.StrokeDash:
    """How the line of each meaning is broken; the legend names those drawn."""
    scale = alt.Scale(domain=MEANINGS, range=DASHES)
    return alt.StrokeDash(f"{column}:N", scale=scale, legend=legend(values, "stroke"))


def legend(values: list[str], symbol: str) -> alt.Legend:
    """A legend above the chart, of the meanings drawn."""
    return alt.Legend(
        values=values,
        title=None,
        orient="top",
        direction="horizontal",
        symbolType=symbol,
        symbolOpacity=1,
        symbolStrokeWidth=3,
        symbolSize=140,
        columnPadding=12,
    )


def finished(chart: Drawn) -> Drawn:
    """The chart at the height all have."""
    return chart.properties(height=HEIGHT)
