"""Table → Altair chart; no I/O. Each chart stays far below 5,000 marks."""

import altair as alt
import pandas as pd

from dashboard.charts.encodings import (
    ACTUAL,
    FORECAST,
    MEDIAN,
    NAIVE,
    SUPPOSED,
    WHOLE,
    Drawn,
    colour,
    dashes,
    days_in_order,
    finished,
    named_days,
    orders_axis,
    share_axis,
    time_axis,
    tooltips,
)
from dashboard.text import formatting

PAST_AND_AHEAD = [ACTUAL, FORECAST]
BAND_OPACITY = 0.18
WHISKER = "#8a969c"
"""Seen on the bars and on the ground, light or dark."""


def daily_totals(totals: pd.DataFrame) -> Drawn:
    """Bars of orders per day: what happened, then what is forecast.

    Args:
      totals: As `queries.daily_totals` returns it.
    """
    ahead = totals["p50"].notna()
    table = named_days(totals, "day_on").assign(
        orders=totals["actual"].where(~ahead, totals["p50"]),
        what=ahead.map({True: FORECAST, False: ACTUAL}),
        remark=[formatting.missing(number) for number in totals["missing"]],
    )
    base = alt.Chart(table).encode(
        x=days_in_order(table, "day_on", every_day=False),
        tooltip=[
            alt.Tooltip("day:N", title="Day"),
            alt.Tooltip("orders", title="Orders", format=WHOLE),
            alt.Tooltip("what:N", title="Series"),
            alt.Tooltip("p10", title="Low (P10)", format=WHOLE),
            alt.Tooltip("p90", title="High (P90)", format=WHOLE),
            alt.Tooltip("remark:N", title="Remark"),
        ],
    )
    bars = base.mark_bar(cornerRadiusTopLeft=2, cornerRadiusTopRight=2).encode(
        y=orders_axis("orders"),
        color=colour("what", PAST_AND_AHEAD, "square"),
        opacity=alt.condition("datum.missing == 0", alt.value(1.0), alt.value(0.4)),
    )
    return finished(bars + _whiskers(base))


def _whiskers(base: alt.Chart) -> alt.Chart:
    """The 80 % band of each total as a thin line through the end of its bar."""
    return base.mark_rule(strokeWidth=2).encode(
        y=orders_axis("p10"), y2="p90:Q", color=alt.value(WHISKER)
    )


def fan(days: pd.DataFrame) -> Drawn:
    """History as a line, broken where a day is not known; the forecast in its 80 % band.

    Args:
      days: As `queries.depot_days` returns it.
    """
    table = named_days(days, "day_on").drop(columns=["events", "holidays"])
    table["note"] = [", ".join(day) for day in formatting.remarks(days)]
    ahead = table[table["p50"].notna()]
    x = time_axis(table, "day_on")
    return finished(
        alt.layer(
            _band(ahead, x),
            _line(table, x, "actual", ACTUAL, width=1.5),
            _line(ahead, x, "p50", FORECAST, width=2.5),
            _special_days(table[table["note"] != ""], x),
        )
    )


def _special_days(table: pd.DataFrame, x: alt.X) -> alt.Chart:
    """A triangle at the foot of each day on which something is on."""
    return (
        alt.Chart(table.assign(what=ACTUAL, at=0.0))
        .mark_point(shape="triangle-up", filled=True, size=45, opacity=0.9, yOffset=-5)
        .encode(
            x=x,
            y=orders_axis("at"),
            color=colour("what", PAST_AND_AHEAD),
            tooltip=[
                alt.Tooltip("day:N", title="Day"),
                alt.Tooltip("note:N", title="Events"),
            ],
        )
    )


def past_forecasts(past: pd.DataFrame) -> Drawn:
    """What was last said of each day with its 80 % band, and what happened.

    Args:
      past: As `queries.past_forecasts` returns it.
    """
    table = named_days(past, "target_on")
    x = time_axis(table, "target_on")
    return finished(
        alt.layer(
            _band(table, x),
            _line(table, x, "p50", FORECAST, width=2.5, dots=False),
            alt.Chart(table.assign(what=ACTUAL))
            .mark_circle(size=42, opacity=1)
            .encode(
                x=x,
                y=orders_axis("actual"),
                color=colour("what", PAST_AND_AHEAD),
                tooltip=tooltips("actual"),
            ),
        )
    )


def accuracy_by_day(by_day: pd.DataFrame) -> Drawn:
    """MAPE of each day's forecasts as a line, the baselines' beside it.

    Args:
      by_day: The grain 'day' of `queries.accuracy`.
    """
    table = named_days(by_day, "day_on").dropna(subset=["mape"])
    own = table["forecaster"] == FORECAST
    lines = _mape(table[own]).mark_line(strokeWidth=2.5, point={"size": 22})
    beside = _mape(table[~own]).mark_line(strokeWidth=1.5)
    return finished(alt.layer(beside, lines))


def _mape(table: pd.DataFrame) -> alt.Chart:
    values = [FORECAST, NAIVE, MEDIAN]
    table = table.assign(said=table["mape"].map(formatting.percent))
    return alt.Chart(table).encode(
        x=time_axis(table, "day_on"),
        y=share_axis("mape"),
        color=colour("forecaster", values),
        strokeDash=dashes("forecaster", values),
        tooltip=[
            alt.Tooltip("day:N", title="Day"),
            alt.Tooltip("forecaster:N", title="Forecaster"),
            alt.Tooltip("said:N", title="MAPE"),
            alt.Tooltip("counted", title="Days scored", format=WHOLE),
        ],
    )


def what_if(outcome: pd.DataFrame) -> Drawn:
    """The week as forecast beside the week as supposed, in bars with their numbers.

    Args:
      outcome: As `whatif.suppose` returns it.
    """
    both = named_days(outcome, "target_on").melt(
        id_vars=["day", "target_on"], value_vars=[FORECAST, SUPPOSED], var_name="what",
        value_name="orders",
    )  # fmt: skip
    both["label"] = both["orders"].map(formatting.orders)
    base = alt.Chart(both).encode(
        x=days_in_order(both, "target_on", every_day=True),
        xOffset=alt.XOffset("what:N", sort=[FORECAST, SUPPOSED]),
        y=orders_axis("orders"),
    )
    coloured = colour("what", [FORECAST, SUPPOSED], "square")
    bars = base.mark_bar(cornerRadiusTopLeft=2, cornerRadiusTopRight=2).encode(
        color=coloured,
        tooltip=[
            alt.Tooltip("day:N", title="Day"),
            alt.Tooltip("what:N", title="Series"),
            alt.Tooltip("orders", title="Orders", format=WHOLE),
        ],
    )
    # Without a colour of the theme's the numbers are black, on dark ground too.
    numbers = base.mark_text(dy=-7, fontSize=11).encode(text="label", color=coloured)
    return finished(bars + numbers)


def _band(table: pd.DataFrame, x: alt.X) -> alt.Chart:
    """The 80 % band: from p10 to p90."""
    return (
        alt.Chart(table.assign(what=FORECAST))
        .mark_area(opacity=BAND_OPACITY, line=False)
        .encode(
            x=x,
            y=orders_axis("p10"),
            y2="p90:Q",
            color=colour("what", PAST_AND_AHEAD),
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
            y=orders_axis(column),
            color=colour("what", PAST_AND_AHEAD),
            tooltip=tooltips(column),
        )
    )
