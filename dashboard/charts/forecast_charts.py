"""Altair charts of query results; no I/O. Each stays far below 5,000 marks."""

from typing import Any

import altair as alt
import pandas as pd

from dashboard.charts.encodings import (
    ACTUAL,
    AHEAD,
    DECREASE,
    FORECAST,
    LABEL_COLOUR,
    NAIVE,
    PAST,
    SCENARIO,
    WORDS,
    colour,
    dashes,
    days_in_order,
    orders_axis,
    percent_axis,
    ruler,
    time_axis,
    tooltips,
    with_texts,
)
from dashboard.text import formatting
from forecaster.inference.explain import LEVEL

# `alt.layer` is typed as possibly a FacetChart; no chart here has facets.
Chart = alt.Chart | alt.LayerChart | alt.FacetChart
HEIGHT = 280
MEAN_FROM, MIN_DAYS_OF_MEAN = 14, 4
"""Fewest days of a chart with seven-day means, and fewest scored days of a mean."""
MAPES = {FORECAST: "forecast_mape", NAIVE: "naive_mape"}
"""Tooltip column of each forecaster's MAPE."""
PAST_AND_AHEAD = [ACTUAL, FORECAST]
FORECAST_COLUMNS = ["p10", "point", "p90"]
BAND_OPACITY = 0.18
WHISKER = "#8a969c"
"""Visible on bars and background, in light and dark themes."""
MAX_DAYS_WITH_DOTS = 100


def legible(chart: Chart) -> Chart:
    """A chart with labels that contrast with the background of either theme."""
    labels = {"labelColor": LABEL_COLOUR}
    return chart.configure(axis=labels, legend=labels)


def daily_totals(totals: pd.DataFrame) -> Chart:
    """Bars of `days_ahead.daily_totals`: actuals, then forecasts with their 80 % band."""
    is_ahead = totals["point"].notna()
    table = with_texts(
        totals.assign(
            orders=totals["actual"].where(~is_ahead, totals["point"]),
            series=is_ahead.map({True: FORECAST, False: ACTUAL}),
        ),
        "day_on",
    )
    without = table["missing"].map(
        lambda number: f"without {formatting.count(number, 'depot')}" if number else ""
    )
    table["actual_text"] = (table["actual_text"] + " " + without).str.strip()
    x = days_in_order(table, "day_on", every_day=False)
    bars = [
        alt.Chart(table[rows])
        .mark_bar()
        .encode(
            x=x,
            y=orders_axis("orders"),
            color=colour("series", PAST_AND_AHEAD, "square"),
            opacity=alt.condition("datum.missing == 0", alt.value(1.0), alt.value(0.4)),
            tooltip=tooltips(*columns),
        )
        for rows, columns in ((~is_ahead, PAST), (is_ahead, AHEAD))
        if rows.any()
    ]
    bands = (
        alt.Chart(table[is_ahead])
        .mark_rule(strokeWidth=2)
        .encode(
            x=x,
            y=orders_axis("p10"),
            y2="p90:Q",
            color=alt.value(WHISKER),
            tooltip=tooltips(*AHEAD),
        )
    )
    table["top"] = table[["orders", "p90"]].max(axis=1).fillna(0.0)
    markers = _event_markers(table, x, "top")
    return alt.layer(*bars, bands, *markers).properties(height=HEIGHT)


def with_past_forecasts(days: pd.DataFrame, past: pd.DataFrame) -> pd.DataFrame:
    """Adds past_p10, past_point and past_p90, the last live forecast of each day, to `days`.

    `days` is `queries.depot_days`, `past` is `queries.past_forecasts`.
    """
    live = past[past["is_live"].astype(bool)].set_index("target_on")
    return days.join(live[FORECAST_COLUMNS].add_prefix("past_"), on="day_on")


def fan_legend(days: pd.DataFrame) -> str:
    """Sentences that explain the marks which `fan` draws for these days."""
    has_past = days["past_point"].notna().any()
    before = "With the last forecast before each day. " if has_past else ""
    is_long = len(days) > MAX_DAYS_WITH_DOTS
    lines = "Lines: mean of seven days." if is_long else f"{before}Shaded: 80 % band."
    numbers = "; large dots: planners' numbers" if days["is_set"].any() else ""
    return f"{lines} Triangles: holidays, events and closed days{numbers}."


def fan(days: pd.DataFrame) -> Chart:
    """Lines of actuals and of the forecast in its 80 % band, from `with_past_forecasts`.

    Closed days interrupt the lines: nobody could order, so demand is unknown, not 0. A planner's
    number is a dot; the day's tooltip has who set it and why. A long history is drawn as
    seven-day means without a band, with event markers at the days' own numbers.
    """
    notes = [", ".join(day) for day in formatting.day_notes(days)]
    is_ahead, is_long = days["point"].notna(), len(days) > MAX_DAYS_WITH_DOTS
    is_planned = is_ahead & days["is_set"].astype(bool)
    is_empty = days["is_closed"] & (days["actual"].fillna(0) == 0) & ~is_planned
    drawn = days.drop(columns=["holidays", "events"]).assign(notes=notes)
    if not is_long:
        for name in FORECAST_COLUMNS:
            drawn[name] = drawn[name].fillna(drawn[f"past_{name}"])
    numbers = ["actual", *FORECAST_COLUMNS]
    drawn[numbers] = drawn[numbers].mask(is_empty)
    table = with_texts(drawn, "day_on")
    is_set = table["is_set"].astype(bool)
    orders = table["actual"].where(~is_ahead, table["point"])
    table["planned"] = table["planner_orders"].where(~is_ahead, table["point"])
    reasons = table["override_reason"].map(formatting.quoted)
    by = " by " + table["made_by"].astype(str) + ": " + reasons
    number = ", planned " + table["planner_orders"].map(formatting.orders)
    table["planned_text"] += by.where(is_set & is_ahead, "")
    table["actual_text"] += (number + by).where(is_set & ~is_ahead, "")
    table["noted"] = orders if is_long else 0.0
    if is_long:
        means = table.assign(mean=orders).rolling("7D", on="day_on")["mean"].mean()
        for column in ("actual", "point"):
            table[column] = means.where(table[column].notna())
    x = time_axis(table, "day_on")
    line: dict[str, Any] = {"strokeWidth": 1.5, "point": False, "tooltip": None}
    dot: dict[str, Any] = {"opacity": 1, "size": 24, "tooltip": None}
    bands, dots = [], []
    if not is_long:
        line["point"] = {"size": 24, "filled": True}
        band = _series(table, FORECAST, x, "p10", y2="p90:Q")
        # An area's tooltip would show its first day only.
        bands = [band.mark_area(opacity=BAND_OPACITY, line=False, tooltip=None)]
        dots = [_series(table[is_ahead], FORECAST, x, "point").mark_circle(**dot)]
    planned = _series(table[is_set], FORECAST, x, "planned")
    planned = planned.mark_circle(**dot | {"size": 70 if is_long else 120})
    told = PAST if is_long else (*PAST, "point_text", *AHEAD[2:])
    return alt.layer(
        *bands,
        _series(table, ACTUAL, x, "actual").mark_line(**line),
        _series(table, FORECAST, x, "point").mark_line(strokeWidth=2.5, tooltip=None),
        *dots,
        *_event_markers(table, x, "noted", offset=0 if is_long else -7),
        *([planned] if is_set.any() else []),
        ruler(table[~is_ahead], x, *told),
        ruler(table[is_ahead], x, *AHEAD),
    ).properties(height=HEIGHT)


def contributions(day: pd.DataFrame) -> Chart:
    """A waterfall of one day of `what_if.contributions`: from a usual day to its planned orders.

    It has no axis of orders, because every bar has its number.
    """
    table = _waterfall(day)
    x = alt.X(
        "contribution:O",
        sort=list(table["contribution"]),
        title=None,
        axis=alt.Axis(labelAngle=0, labelExpr=WORDS, labelOverlap=False, ticks=False),
    )
    bars = (
        alt.Chart(table)
        .mark_bar(cornerRadius=2)
        .encode(
            x=x,
            y=orders_axis("low").axis(None),
            y2="high:Q",
            color=colour("series"),
            tooltip=tooltips("contribution", "effect"),
        )
    )
    labels = (
        # Without a colour the text would be black in the dark theme, too.
        alt.Chart(table.assign(series=ACTUAL))
        .mark_text(dy=-8, fontSize=12)
        .encode(
            x=x,
            y=orders_axis("high").axis(None),
            text="effect:N",
            color=colour("series"),
        )
    )
    return (bars + labels).properties(height=HEIGHT)


def _waterfall(day: pd.DataFrame) -> pd.DataFrame:
    """Columns contribution, low and high (bar ends, orders), effect (text), series (colour)."""
    rows, reached = [], 0.0
    forecast, planned = day[["forecast", "planned"]].astype("float64").iloc[0]
    for part, value in zip(day["part"], day["orders"], strict=True):
        if part == LEVEL:
            usual = formatting.orders(value)
            rows.append(("Usual day", 0.0, value, usual, ACTUAL))
        elif whole := round(reached + value) - round(reached):
            # Differences of whole numbers, so that the labels add up.
            series = SCENARIO if whole > 0 else DECREASE
            name = formatting.part_name(part)
            effect = formatting.signed(whole)
            rows.append((name, reached, reached + value, effect, series))
        reached += value
    rows.append(("Forecast", 0.0, forecast, formatting.orders(forecast), FORECAST))
    if change := round(planned) - round(forecast):
        series = SCENARIO if change > 0 else DECREASE
        rows.append(("Planner", forecast, planned, formatting.signed(change), series))
        rows.append(("Planned", 0.0, planned, formatting.orders(planned), FORECAST))
    table = pd.DataFrame(
        rows, columns=["contribution", "low", "high", "effect", "series"]
    )
    ends = table[["low", "high"]]
    return table.assign(low=ends.min(axis=1), high=ends.max(axis=1))


def accuracy_by_day(by_day: pd.DataFrame) -> Chart:
    """MAPE of forecast and seasonal naive, from the daily grain of `queries.accuracy`.

    Dots are single days, and lines their 7-day mean; of less than `MEAN_FROM` days, lines join the dots.
    The ruler's tooltip shows both forecasters.
    """
    rows = by_day[by_day["forecaster"].isin(["forecast", "seasonal naive"])]
    rows = rows.dropna(subset=["mape"]).replace(
        {"forecaster": {"seasonal naive": NAIVE}}
    )
    table = with_texts(_with_weekly_mean(rows), "day_on")
    x = time_axis(table, "day_on")
    own = table[table["forecaster"] == FORECAST]
    colours = colour("forecaster", [FORECAST, NAIVE])
    base = alt.Chart(table).encode(x=x, color=colours)
    lines = base.mark_line(tooltip=None, strokeWidth=2)
    lines = lines.encode(y=percent_axis("weekly"), strokeDash=dashes("forecaster"))
    dots = base.mark_circle(size=28, opacity=0.55, tooltip=None)
    dots = dots.encode(y=percent_axis("mape"))
    mapes = table.assign(text=table["mape"].map(formatting.percent)).pivot_table(
        index="day_on", columns="forecaster", values="text", aggfunc="first"
    )
    mapes = mapes.reindex(columns=list(MAPES)).fillna(formatting.UNKNOWN)
    by_day_on = own.set_index("day_on")[["day", "counted_text"]]
    told = by_day_on.join(mapes.rename(columns=MAPES)).reset_index()
    columns = ("day", *MAPES.values(), "counted_text")
    return alt.layer(lines, dots, ruler(told, x, *columns)).properties(height=HEIGHT)


def _with_weekly_mean(by_day: pd.DataFrame) -> pd.DataFrame:
    """Adds `weekly`: the 7-day MAPE, weighted by `counted`, NaN below 4 days; of few days, the day's own."""
    table = by_day.sort_values("day_on", ignore_index=True)
    if table["day_on"].nunique() < MEAN_FROM:
        return table.assign(weekly=table["mape"])
    sums = table.assign(total=table["mape"] * table["counted"]).set_index("day_on")
    by_name = sums.groupby("forecaster")[["total", "counted"]]
    rolling = by_name.rolling("7D", min_periods=MIN_DAYS_OF_MEAN).sum()
    weekly = (rolling["total"] / rolling["counted"]).rename("weekly").reset_index()
    return table.merge(weekly, on=["forecaster", "day_on"])


def what_if(outcome: pd.DataFrame) -> Chart:
    """Labelled bars of the forecast beside the scenario of `what_if.simulate`."""
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
    return (base.mark_bar() + labels).properties(height=HEIGHT)


def _event_markers(
    table: pd.DataFrame, x: alt.X, column: str, offset: float = -7
) -> list[alt.Chart]:
    """Triangles at `column`, shifted by `offset`, on days with `notes`; [] if no day has any."""
    noted = table[table["notes"] != ""]
    if noted.empty:
        return []
    days = _series(noted, ACTUAL, x, column, tooltip=tooltips("day"))
    mark: dict[str, Any] = {"shape": "triangle-up", "filled": True, "size": 45}
    return [days.mark_point(**mark, opacity=0.9, yOffset=offset)]


def _series(
    table: pd.DataFrame, series: str, x: alt.X, column: str, **more: Any
) -> alt.Chart:
    """A chart of one series in its colour, still without a mark."""
    colours = colour("series", PAST_AND_AHEAD)
    rows = alt.Chart(table.assign(series=series))
    return rows.encode(x=x, y=orders_axis(column), color=colours, **more)
