"""Altair charts of query results; no I/O. Each stays far below 5,000 marks."""

import altair as alt
import pandas as pd

from dashboard.charts.encodings import (
    ACTUAL,
    FORECAST,
    MEDIAN,
    NAIVE,
    SCENARIO,
    colour,
    dashes,
    days_in_order,
    orders_axis,
    percent_axis,
    time_axis,
    tooltips,
    with_texts,
)
from dashboard.text import formatting

# `alt.layer` is typed as perhaps a FacetChart; ours never have facets.
Chart = alt.Chart | alt.LayerChart | alt.FacetChart
HEIGHT = 280
PAST_AND_AHEAD = [ACTUAL, FORECAST]
BAND_OPACITY = 0.18
WHISKER = "#8a969c"
"""Visible on bars and background, in light and dark themes."""
DAY_TOOLTIPS = tooltips("day", "actual_text", "p50_text", "p10_text", "p90_text")


def daily_totals(totals: pd.DataFrame) -> Chart:
    """Bars of `queries.daily_totals`: actuals, then forecasts with their 80 % band."""
    is_ahead = totals["p50"].notna()
    table = totals.assign(
        orders=totals["actual"].where(~is_ahead, totals["p50"]),
        series=is_ahead.map({True: FORECAST, False: ACTUAL}),
        remark=totals["missing"].map(formatting.missing_depots),
    )
    table = with_texts(table, "day_on")
    base = alt.Chart(table).encode(
        x=days_in_order(table, "day_on", every_day=False),
        tooltip=tooltips(
            "day", "orders_text", "series", "p10_text", "p90_text", "remark"
        ),
    )
    bars = _rounded_bars(base).encode(
        y=orders_axis("orders"),
        color=colour("series", PAST_AND_AHEAD, "square"),
        opacity=alt.condition("datum.missing == 0", alt.value(1.0), alt.value(0.4)),
    )
    bands = base.mark_rule(strokeWidth=2).encode(
        y=orders_axis("p10"), y2="p90:Q", color=alt.value(WHISKER)
    )
    return (bars + bands).properties(height=HEIGHT)


def fan(days: pd.DataFrame) -> Chart:
    """A depot's `queries.depot_days`: actuals as a line, the forecast in its 80 % band."""
    notes = [", ".join(day) for day in formatting.day_notes(days)]
    table = with_texts(days.assign(events=notes), "day_on").drop(columns="holidays")
    ahead = table[table["p50"].notna()]
    x = time_axis(table, "day_on")
    triangles = (
        alt.Chart(table[table["events"] != ""].assign(series=ACTUAL, zero=0.0))
        .mark_point(shape="triangle-up", filled=True, size=45, opacity=0.9, yOffset=-5)
        .encode(
            x=x,
            y=orders_axis("zero"),
            color=colour("series", PAST_AND_AHEAD),
            tooltip=tooltips("day", "events"),
        )
    )
    return alt.layer(
        _band(ahead, x),
        _line(table, x, "actual", ACTUAL, width=1.5),
        _line(ahead, x, "p50", FORECAST, width=2.5),
        triangles,
    ).properties(height=HEIGHT)


def past_forecasts(past: pd.DataFrame) -> Chart:
    """`queries.past_forecasts` as a line with its 80 % band, and the actuals as dots."""
    table = with_texts(past, "target_on")
    x = time_axis(table, "target_on")
    dots = (
        alt.Chart(table.assign(series=ACTUAL))
        .mark_circle(size=42, opacity=1)
        .encode(
            x=x,
            y=orders_axis("actual"),
            color=colour("series", PAST_AND_AHEAD),
            tooltip=DAY_TOOLTIPS,
        )
    )
    return alt.layer(
        _band(table, x), _line(table, x, "p50", FORECAST, width=2.5, dots=False), dots
    ).properties(height=HEIGHT)


def accuracy_by_day(by_day: pd.DataFrame) -> Chart:
    """MAPE of the forecast as a line by day of `queries.accuracy`, the baselines' beside it."""
    table = with_texts(by_day.dropna(subset=["mape"]), "day_on")
    series = [FORECAST, NAIVE, MEDIAN]
    base = alt.Chart(table).encode(
        x=time_axis(table, "day_on"),
        y=percent_axis("mape"),
        color=colour("forecaster", series),
        strokeDash=dashes("forecaster", series),
        tooltip=tooltips("day", "forecaster", "mape_text", "counted_text"),
    )
    is_model = f"datum.forecaster === '{FORECAST}'"
    return alt.layer(
        base.transform_filter(f"!({is_model})").mark_line(strokeWidth=1.5),
        base.transform_filter(is_model).mark_line(strokeWidth=2.5, point={"size": 22}),
    ).properties(height=HEIGHT)


def what_if(outcome: pd.DataFrame) -> Chart:
    """Labelled bars of the forecast beside the scenario of `whatif.simulate`."""
    both = outcome.melt(
        id_vars=["target_on"], value_vars=[FORECAST, SCENARIO], var_name="series",
        value_name="orders",
    )  # fmt: skip
    both = with_texts(both, "target_on")
    base = alt.Chart(both).encode(
        x=days_in_order(both, "target_on", every_day=True),
        xOffset=alt.XOffset("series:N", sort=[FORECAST, SCENARIO]),
        y=orders_axis("orders"),
        color=colour("series", [FORECAST, SCENARIO], "square"),
        tooltip=tooltips("day", "series", "orders_text"),
    )
    labels = base.mark_text(dy=-7, fontSize=11).encode(text="orders_text")
    return (_rounded_bars(base) + labels).properties(height=HEIGHT)


def _rounded_bars(base: alt.Chart) -> alt.Chart:
    return base.mark_bar(cornerRadiusTopLeft=2, cornerRadiusTopRight=2)


def _band(table: pd.DataFrame, x: alt.X) -> alt.Chart:
    """The 80 % band: from p10 to p90."""
    return (
        alt.Chart(table.assign(series=FORECAST))
        # A tooltip of an area would be that of its first day.
        .mark_area(opacity=BAND_OPACITY, line=False, tooltip=None)
        .encode(
            x=x,
            y=orders_axis("p10"),
            y2="p90:Q",
            color=colour("series", PAST_AND_AHEAD),
        )
    )


def _line(
    table: pd.DataFrame,
    x: alt.X,
    column: str,
    series: str,
    width: float,
    dots: bool = True,
) -> alt.Chart:
    point = {"size": 24, "filled": True} if dots else False
    return (
        alt.Chart(table.assign(series=series))
        .mark_line(strokeWidth=width, point=point)
        .encode(
            x=x,
            y=orders_axis(column),
            color=colour("series", PAST_AND_AHEAD),
            tooltip=DAY_TOOLTIPS,
        )
    )
