"""Axes, colours, legends and tooltips that all charts share.

Each series has one colour, the same in all charts; its value is taken from the theme,
light or dark.
"""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from dashboard.text import formatting

FORECAST, ACTUAL, SCENARIO = "forecast", "actual", "scenario"
NAIVE, DECREASE = formatting.NAIVE, "decrease"
# In the order of `chartCategoricalColors` in .streamlit/config.toml.
SERIES = [FORECAST, ACTUAL, NAIVE, DECREASE, SCENARIO]
DASHES = [[1, 0], [1, 0], [5, 4], [1, 0], [1, 0]]
"""Dash pattern of each series, so that colour is not the only distinction."""
LABELS_ON_LIGHT, LABELS_ON_DARK = "#52636d", "#aebac1"
"""Labels of axes and legends; Streamlit's own grey on white has a contrast of 3.7 : 1."""
LABEL_COLOUR = {
    "expr": f"luminance(background) > 0.5 ? '{LABELS_ON_LIGHT}' : '{LABELS_ON_DARK}'"
}
"""Evaluated in the browser, so that it follows the theme without a rerun of the page."""
MAX_LABELLED_DAYS = 14
HALF_A_YEAR = 182
PERCENT = "format(100 * datum.value, '.0f') + ' %'"
TWO_LINES = "[slice(datum.label, 0, 3), replace(slice(datum.label, 4), /( \\d{4})?( · .*)?$/, '')]"
"""Label expression: 'Fri 21 Nov 2025 · Black Friday' as 'Fri' and '21 Nov', on two lines."""
WORDS = "split(datum.label, ' ')"  # label expression: one word per line
TITLES = {
    "day": "Day",
    "actual_text": "Actual",
    "point_text": "Forecast",
    "planned_text": "Planned",
    "orders_text": "Orders",
    "p10_text": "Low (P10)",
    "p90_text": "High (P90)",
    "forecast_mape": "Forecast off by",
    "naive_mape": "Same day last week",
    "counted_text": "Forecasts",
    "series": "Series",
    "contribution": "Part",
    "effect": "Orders",
}
"""Tooltip titles, by column."""
AHEAD = ("day", "planned_text", "p10_text", "p90_text")
PAST = ("day", "actual_text")


def with_texts(table: pd.DataFrame, day_column: str) -> pd.DataFrame:
    """Adds texts for tooltips: the day, and each number or, where it is missing, a dash.

    'point_text' and 'planned_text' are the same forecast under different titles. The day is
    followed by its `notes`, if any: 'Fri 27 Nov · Black Friday'; the year is added if the table
    spans two years.
    """
    texts = {
        f"{name}_text": table[name].map(formatting.orders)
        for name in ("actual", "point", "orders", "p10", "p90", "counted")
        if name in table
    }
    if "point" in table:
        texts["planned_text"] = texts["point_text"]
    day = formatting.days(table[day_column])
    if "notes" in table:
        noted = day + " · " + table["notes"]
        day = day.where(table["notes"] == "", noted)
    return table.assign(day=day, **texts)


def tooltips(*columns: str) -> list[alt.Tooltip]:
    """Tooltips of columns in `TITLES`."""
    return [alt.Tooltip(f"{name}:N", title=TITLES[name]) for name in columns]


def ruler(table: pd.DataFrame, x: alt.X, *columns: str) -> alt.Chart:
    """A vertical line at the day nearest to the pointer, with the day's numbers.

    One tooltip of `columns` shows all series wherever the pointer is, so that nobody has to
    hit a dot. The table has one row per day.
    """
    nearest = alt.selection_point(
        on="pointerover", clear="pointerout", nearest=True, empty=False, encodings=["x"]
    )
    return (
        alt.Chart(table)
        .mark_rule(color="#8a969c")
        .encode(
            x=x,
            opacity=alt.condition(nearest, alt.value(0.8), alt.value(0)),
            tooltip=tooltips(*columns),
        )
        .add_params(nearest)
    )


def days_in_order(table: pd.DataFrame, column: str, every_day: bool) -> alt.X:
    """An ordinal axis of days: all labelled, or Mondays only."""
    order = list(dict.fromkeys(table["day"]))
    mondays = table.loc[table[column].dt.day_of_week == 0, "day"].unique()
    axis = alt.Axis(
        labelAngle=0,
        labelExpr=TWO_LINES,
        ticks=False,
        values=order if every_day else list(mondays),
    )
    return alt.X("day:O", sort=order, title=None, axis=axis)


def time_axis(table: pd.DataFrame, column: str) -> alt.X:
    """A time axis that labels each day up to 14 days, Mondays up to half a year, else months."""
    days, label = table[column].drop_duplicates(), "%a %-d %b"
    if len(days) > HALF_A_YEAR:
        days, label = days[days.dt.day == 1], "%b %Y"
    elif len(days) > MAX_LABELLED_DAYS:
        days = days[days.dt.day_of_week == 0]
    axis = alt.Axis(
        format=label,
        grid=False,
        labelOverlap=True,
        values=[
            alt.DateTime(year=day.year, month=day.month, date=day.day) for day in days
        ],
    )
    return alt.X(f"{column}:T", title=None, axis=axis)


def orders_axis(column: str) -> alt.Y:
    """An axis of whole orders per day."""
    axis = alt.Axis(format=",.0f", tickCount=4, labelFlush=False)
    return alt.Y(f"{column}:Q", title=None, axis=axis)


def percent_axis(column: str) -> alt.Y:
    """An axis of fractions, labelled as percentages."""
    axis = alt.Axis(labelExpr=PERCENT, tickCount=4, labelFlush=False)
    return alt.Y(f"{column}:Q", title=None, axis=axis)


def colour(
    column: str, series: Sequence[str] = (), symbol: str = "stroke"
) -> alt.Color:
    """Colours by series, with a legend that lists `series`; no legend if `series` is empty."""
    legend = _legend(list(series), symbol) if series else None
    return alt.Color(f"{column}:N", scale=alt.Scale(domain=SERIES), legend=legend)


def dashes(column: str) -> alt.StrokeDash:
    """Dash patterns by series, without a legend."""
    scale = alt.Scale(domain=SERIES, range=DASHES)
    return alt.StrokeDash(f"{column}:N", scale=scale, legend=None)


def _legend(series: list[str], symbol: str) -> alt.Legend:
    return alt.Legend(
        values=series,
        title=None,
        orient="top",
        direction="horizontal",
        symbolType=symbol,
        symbolOpacity=1,
        symbolStrokeWidth=3,
        symbolSize=140,
        columnPadding=12,
    )
