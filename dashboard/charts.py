"""Table → Altair chart; no I/O. Each chart stays far below 5,000 marks.

Colours are named by what they mean and take their values from the theme, so that light
and dark have their own and every chart agrees. What has a colour also has a shape or a
dash of its own.
"""

from typing import Any

import altair as alt
import pandas as pd

from dashboard import wording

FORECAST, ACTUAL, SUPPOSED = "forecast", "actual", "supposed"
NAIVE, MEDIAN = "seasonal naive", "median of 4"
# In the order of `chartCategoricalColors` in .streamlit/config.toml.
MEANINGS = [FORECAST, ACTUAL, NAIVE, MEDIAN, SUPPOSED]
DASHES = [[1, 0], [1, 0], [5, 4], [2, 2], [1, 0]]
PAST_AND_AHEAD = [ACTUAL, FORECAST]
HEIGHT = 280
WHOLE = ",.0f"
BAND_OPACITY = 0.18


def daily_totals(totals: pd.DataFrame) -> alt.Chart:
    """Bars of orders per day: what happened, then what is forecast.

    Args:
      totals: As `queries.daily_totals` returns it.
    """
    table = _named_days(totals, "day_on").assign(
        orders=totals["actual"].fillna(totals["p50"]),
        what=totals["actual"].isna().map({True: FORECAST, False: ACTUAL}),
        remark=totals["is_whole"].map({True: "", False: "a city's feed was silent"}),
    )
    return _finished(
        alt.Chart(table)
        .mark_bar(cornerRadiusTopLeft=2, cornerRadiusTopRight=2)
        .encode(
            x=_days_in_order(table),
            y=_orders_axis("orders"),
            color=_colour("what", PAST_AND_AHEAD),
            opacity=alt.condition("datum.is_whole", alt.value(1.0), alt.value(0.4)),
            tooltip=[
                alt.Tooltip("day", title="Day"),
                alt.Tooltip("orders", title="Orders", format=WHOLE),
                alt.Tooltip("what", title="Which are"),
                alt.Tooltip("remark", title="Remark"),
            ],
        )
    )


def fan(days: pd.DataFrame) -> alt.LayerChart:
    """History as a dotted line, the forecast as a line within its 80 % band.

    Args:
      days: As `queries.depot_days` returns it.
    """
    table = _named_days(days, "day_on")
    table["note"] = table["note"].fillna("")
    past = table[table["actual"].notna()]
    ahead = table[table["p50"].notna()]
    special = table[table["note"] != ""].assign(at=0.0)
    x = _time_axis("day_on")
    layers = [
        _band(ahead, x),
        _line(past, x, "actual", ACTUAL, width=1.5),
        _line(ahead, x, "p50", FORECAST, width=2.5),
        alt.Chart(special.assign(what=ACTUAL))
        .mark_point(shape="triangle-up", filled=True, size=45, opacity=0.9, yOffset=-5)
        .encode(
            x=x,
            y=_orders_axis("at"),
            color=_colour("what", PAST_AND_AHEAD),
            tooltip=[
                alt.Tooltip("day", title="Day"),
                alt.Tooltip("note", title="What is on"),
            ],
        ),
    ]
    return _finished(alt.layer(*layers))


def past_forecasts(past: pd.DataFrame) -> alt.LayerChart:
    """What was last said of each day with its 80 % band, and what happened.

    Args:
      past: As `queries.past_forecasts` returns it.
    """
    table = _named_days(past, "target_on")
    x = _time_axis("target_on")
    return _finished(
        alt.layer(
            _band(table, x),
            _line(table, x, "p50", FORECAST, width=2.5, dots=False),
            alt.Chart(table.assign(what=ACTUAL))
            .mark_circle(size=42, opacity=1)
            .encode(
                x=x,
                y=_orders_axis("actual"),
                color=_colour("what", PAST_AND_AHEAD),
                tooltip=_tooltips("actual"),
            ),
        )
    )


def accuracy_by_day(by_day: pd.DataFrame) -> alt.Chart:
    """MAPE of each day's forecasts as a line, the baselines' beside it.

    Args:
      by_day: The grain 'day' of `queries.accuracy`.
    """
    table = _named_days(by_day, "day_on").dropna(subset=["mape"])
    values = [FORECAST, NAIVE, MEDIAN]
    scale = alt.Scale(domain=MEANINGS, range=DASHES)
    legend = _legend(values)
    return _finished(
        alt.Chart(table)
        .mark_line(strokeWidth=2, point={"size": 18, "filled": True})
        .encode(
            x=_time_axis("day_on"),
            y=alt.Y("mape:Q", title="MAPE, % of orders", axis=alt.Axis(format=".0%")),
            color=_colour("forecaster", values),
            strokeDash=alt.StrokeDash("forecaster:N", scale=scale, legend=legend),
            tooltip=[
                alt.Tooltip("day", title="Day"),
                alt.Tooltip("forecaster", title="Of the"),
                alt.Tooltip("mape", title="MAPE", format=".1%"),
                alt.Tooltip("counted", title="Days counted", format=WHOLE),
            ],
        )
    )


def what_if(outcome: pd.DataFrame) -> alt.LayerChart:
    """The week as forecast beside the week as supposed, in bars with their numbers.

    Args:
      outcome: As `whatif.suppose` returns it.
    """
    both = _named_days(outcome, "target_on").melt(
        id_vars=["day", "target_on"], value_vars=[FORECAST, SUPPOSED], var_name="what",
        value_name="orders",
    )  # fmt: skip
    both["label"] = both["orders"].map(wording.orders)
    base = alt.Chart(both).encode(
        x=_days_in_order(both),
        xOffset=alt.XOffset("what:N", sort=[FORECAST, SUPPOSED]),
        y=_orders_axis("orders"),
    )
    bars = base.mark_bar(cornerRadiusTopLeft=2, cornerRadiusTopRight=2).encode(
        color=_colour("what", [FORECAST, SUPPOSED]),
        tooltip=[
            alt.Tooltip("day", title="Day"),
            alt.Tooltip("what", title="Which are"),
            alt.Tooltip("orders", title="Orders", format=WHOLE),
        ],
    )
    return _finished(bars + base.mark_text(dy=-7, fontSize=11).encode(text="label"))


def _band(table: pd.DataFrame, x: alt.X) -> alt.Chart:
    """The 80 % band: from p10 to p90."""
    return (
        alt.Chart(table.assign(what=FORECAST))
        .mark_area(opacity=BAND_OPACITY, line=False)
        .encode(
            x=x,
            y=_orders_axis("p10"),
            y2="p90:Q",
            color=_colour("what", PAST_AND_AHEAD),
        )
    )


def _line(
    table: pd.DataFrame,
    x: alt.X,
    column: str,
    meaning: str,
    width: float,
    dots: bool = True,
) -> alt.Chart:
    point = {"size": 24, "filled": True} if dots else False
    return (
        alt.Chart(table.assign(what=meaning))
        .mark_line(strokeWidth=width, point=point)
        .encode(
            x=x,
            y=_orders_axis(column),
            color=_colour("what", PAST_AND_AHEAD),
            tooltip=_tooltips(column),
        )
    )


def _tooltips(column: str) -> list[alt.Tooltip]:
    day = alt.Tooltip("day", title="Day")
    band = [
        alt.Tooltip("p10", title="1 in 10 below", format=WHOLE),
        alt.Tooltip("p90", title="1 in 10 above", format=WHOLE),
    ]
    name = "Orders" if column == "actual" else "Forecast"
    value = alt.Tooltip(column, title=name, format=WHOLE)
    return [day, value] if column == "actual" else [day, value, *band]


def _named_days(table: pd.DataFrame, column: str) -> pd.DataFrame:
    return table.assign(day=table[column].map(wording.day))


def _days_in_order(table: pd.DataFrame) -> alt.X:
    order = list(dict.fromkeys(table["day"]))
    axis = alt.Axis(labelAngle=0, labelOverlap="greedy", ticks=False, labelExpr=SPLIT)
    return alt.X("day:O", sort=order, title=None, axis=axis)


SPLIT = "[slice(datum.label, 0, 3), slice(datum.label, 4)]"
"""'Fri 21 Nov' on two lines."""


def _time_axis(column: str) -> alt.X:
    axis = alt.Axis(format="%-d %b", grid=False, labelOverlap=True, tickCount="week")
    return alt.X(f"{column}:T", title=None, axis=axis)


def _orders_axis(column: str) -> alt.Y:
    axis = alt.Axis(format=WHOLE, tickCount=5)
    return alt.Y(f"{column}:Q", title="Orders per day", axis=axis)


def _colour(column: str, values: list[str]) -> alt.Color:
    scale = alt.Scale(domain=MEANINGS)
    return alt.Color(f"{column}:N", scale=scale, legend=_legend(values))


def _legend(values: list[str]) -> alt.Legend:
    return alt.Legend(values=values, title=None, orient="top", direction="horizontal")


def _finished(chart: Any) -> Any:
    return chart.properties(height=HEIGHT)
