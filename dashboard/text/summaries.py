"""Summary sentences of query results; no I/O."""

import math
from collections.abc import Hashable, Mapping
from datetime import date
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from dashboard.queries.depot import DepotStatus
from dashboard.queries.pipeline import RunInProgress
from dashboard.text import formatting

Row = dict[Hashable, Any]
AT_WORK = {"ingest": "Loading", "demand": "Counting orders", "forecast": "Forecasting"}
WEEK_DAYS = 7
TOTALS_NOTE = "A total is forecast as a whole: the depots need not add up to it."
ONE_SIDED = 0.7
"""Minimum share of depots with errors in one direction for which that direction is named."""


def change(days: pd.DataFrame, forecast: str = "part") -> float:
    """Relative change of the forecast against the actuals seven days before.

    Args:
      days: Rows with week_before and the forecast; those without week_before are ignored.
      forecast: Column of the forecast: 'part' for a total, 'point' for one depot.

    Returns:
      0.1 for a tenth more; NaN if no row has orders a week before.
    """
    comparable = days.dropna(subset=["week_before"])
    before = comparable["week_before"].sum()
    return float(comparable[forecast].sum() / before - 1) if before else math.nan


def of_some_cities(days: pd.DataFrame) -> str:
    """'All cities on Sun 29 Nov: London only.' for each day that some of the cities lack."""
    by_day, n_cities = days.groupby("target_on")["city"], days["city"].nunique()
    told = [
        f"All cities on {formatting.day(day)}: {formatting.listed(sorted(some))} only."
        for _, day, some in by_day.unique().reset_index().itertuples()
        if len(some) < n_cities
    ]
    return " ".join(told)


def first_forecast_advice(champion: str | None) -> str:
    """The commands that make the first forecast; they begin with training if there is no champion."""
    if champion is not None:
        return "Make one with `harbor forecast`."
    return (
        "Train a model with `harbor train`, then run `harbor forecast`; `harbor nightly` does "
        "both."
    )


def progress_sentence(progress: RunInProgress) -> str:
    """'Training … 40 %': the run in progress before there is a first forecast."""
    if progress.step == "train":
        return f"Training … {100 * progress.trained:.0f} %. The forecast follows."
    work = AT_WORK.get(progress.step, formatting.display_name(progress.step))
    return f"{work} … The forecast follows."


def depot_sentence(ahead: pd.DataFrame, every_day: pd.DataFrame) -> str:
    """'Short of vans: 2 on Fri. 1,735 orders in the next 7 days, +9 % vs last 7 days, about 60 late.'.

    `ahead` has the days ahead of `every_day`, `queries.depot_days`, with vans, short and undelivered of
    `Plan.depots`. '5 own vans.' follows where they are known; holidays and events of the last 7 days
    are named: 'vs last 7 days (with Black Friday)'.
    """
    short = short_of(ahead.set_index("day_on")["short"])
    late = round(ahead["undelivered"].sum())
    lost = f", about {late:,} late" if late else ""
    lacking = f"Short of vans: {short}. " if short else ""
    orders = formatting.count(int(ahead["point"].round().sum()), "order")
    closed = ahead.loc[ahead["basis"].eq("closed") & ~ahead["is_set"], "day_on"]
    days = formatting.listed([*map(formatting.day, closed)])
    difference = formatting.signed_percent(change(ahead, "point"), 0)
    told = f"{orders} in {formatting.next_days(len(ahead))}{f', closed on {days}' * bool(days)}, "
    ages = ahead["day_on"].min() - every_day["day_on"]
    last_week = every_day[ages.between(formatting.A_DAY, WEEK_DAYS * formatting.A_DAY)]
    noted = chain(*formatting.day_notes(last_week, with_closed=False))
    occasions = formatting.listed([*dict.fromkeys(noted)])
    occasions = f" (with {occasions})" if occasions else ""
    told += f"{difference} vs last 7 days{occasions}{lost}."
    own = ahead["vans"].max()
    vans = "" if math.isnan(own) else f" {formatting.count(int(own), 'own van')}."
    return lacking + told + vans


def short_of(vans: pd.Series) -> str:
    """A depot's missing vans by day: '2 on Fri, 1 on Sat', or '2 on Fri 5 Dec' beyond a week."""
    short = vans[vans > 0]
    days = [formatting.day(day) for day in pd.DatetimeIndex(short.index)]
    words = "{:,.0f} on {:.3}" if len(vans) <= WEEK_DAYS else "{:,.0f} on {}"
    return ", ".join(map(words.format, short, days))


def parts_sentence(parts: pd.DataFrame) -> str:
    """Explains the bars of a day of `what_if.contributions`, with notes on unclear names."""
    # Differences of rounded running sums, as in the chart's bars.
    whole = parts["orders"].cumsum().round().diff()
    shown = parts.loc[whole.ne(0), "part"]
    notes = [formatting.PART_NOTES.get(part) for part in shown]
    usual = "From a usual day at this depot, each part adds or takes orders."
    return " ".join([usual, *filter(None, notes)])


def feed_warning(status: DepotStatus) -> str | None:
    """The warning for a depot with missing data; None if none is missing."""
    if not status.is_late or status.due_on is None:
        return None
    due = formatting.day(status.due_on)
    if status.last_on is None:
        return (
            f"This depot has no data, although it was open on {due}. Its forecast is based on "
            "similar depots. Load its orders with `harbor ingest PATH`, then run `harbor nightly`."
        )
    return (
        f"Missing data: this depot's newest orders are from {formatting.day(status.last_on)}, but "
        f"those of {due} are due. The forecast was made without them. Load them with `harbor "
        "ingest PATH`, then run `harbor nightly`."
    )


def outcome_sentence(scored: Mapping[Hashable, Any]) -> str:
    """'Fri 20 Nov: 144 orders, forecast 110 (24 % too low).' for a row of `queries.past_forecasts`."""
    actual, forecast = scored["actual"], scored["point"]
    told = f"{formatting.orders(actual)} orders, forecast {formatting.orders(forecast)}"
    return f"{formatting.day(scored['target_on'])}: {told} ({formatting.miss(forecast, actual)})."


def what_if_sentence(outcome: pd.DataFrame, first_on: date, last_on: date) -> str:
    """The effect of a scenario on all days ahead, from `what_if.simulate`."""
    # Whole orders of each day, as in the chart.
    then, now = outcome[["scenario", "forecast"]].round().sum()
    difference = int(then - now)
    same = "no change: the forecast has it already, or it has no effect"
    return (
        f"With this scenario on {formatting.day_range(first_on, last_on)}: "
        f"{formatting.orders(then)} orders in {formatting.next_days(len(outcome))} instead of "
        f"{formatting.orders(now)} ({formatting.signed(difference) if difference else same})."
    )


def accuracy_sentence(scores: pd.DataFrame, n_depots: int) -> str:
    """How accurate the forecasts for `n_depots` depots were, from all of `queries.accuracy`, not empty.

    'The 42 days scored since Fri 2 Oct were off by 8.3 % per depot and day, better than repeating the
    same day last week (11.9 %), but not on Sun 29 Nov.' if that is the newest and was worse.
    """
    overall = scores[scores["grain"] == "all"]
    scored = scores.query("grain == 'day' and forecaster == 'forecast' and mape >= 0")
    days = "The newest scored day was"
    if len(scored) > 1:
        since = formatting.day(scored["day_on"].min())
        days = f"The {len(scored)} days scored since {since} were"
    each = "per day" if n_depots == 1 else "per depot and day"
    told = error_sentence(days, overall, each)
    days_on = scores["day_on"].where(scores["grain"].eq("day"))
    newest = scores[days_on.eq(scored["day_on"].max())]
    (own, naive), (own_then, naive_then) = errors(overall), errors(newest)
    if own < naive and own_then > naive_then:
        told = f"{told[:-1]}, but not on {formatting.day(newest['day_on'].iloc[0])}."
    return told


def errors(scores: pd.DataFrame) -> tuple[float, float]:
    """MAPE of the forecast and of the seasonal naive, rounded as it is shown; NaN if unknown.

    `scores` has a row of `queries.accuracy` for each forecaster.
    """
    mapes = scores.set_index("forecaster")["mape"].round(3)
    return mapes.get("forecast", math.nan), mapes.get("seasonal naive", math.nan)


def error_sentence(
    subject: str, scores: pd.DataFrame, each: str = "per depot and day"
) -> str:
    """Compares the forecast's MAPE with the seasonal naive's; '' if it is unknown.

    'It was off by 8.3 % per depot and day, better than repeating the same day last week (11.9 %).' if
    `subject` is 'It was'. `scores` is as in `errors`.
    """
    mape, naive = errors(scores)
    if math.isnan(mape):
        return ""
    error = f"{subject} off by {formatting.percent(mape)} {each}"
    if math.isnan(naive):
        return f"{error}."
    compared = "worse than" if mape > naive else "better than"
    compared = "as good as" if mape == naive else compared
    return f"{error}, {compared} repeating the {formatting.NAIVE} ({formatting.percent(naive)})."


def coverage_sentence(bands: pd.DataFrame) -> str:
    """'71.5 % of days were in the 80 % band: it was too narrow.', from `queries.band_coverage`; '' if empty.

    Depots' days count; the bands of cities and of the fleet have a table.
    """
    depots = bands[bands["level"] == "depots"]
    if depots.empty:
        return ""
    share = round(float(np.average(depots["coverage"], weights=depots["counted"])), 3)
    verdict = "narrow" if share < 0.75 else "wide" * (share > 0.85)
    days = "depots' days" if len(bands) > len(depots) else "days"
    told = f"{formatting.percent(share)} of {days} were in the 80 % band"
    return told + (f": it was too {verdict}." if verdict else ".")


def last_day_sentence(
    scored: pd.DataFrame, day: date, today: date, occasions: str = ""
) -> str:
    """Summarises the newest known day: 'Yesterday: 3,612 orders, forecast 3,540 (2 % too low)'.

    If depots are missing: '412 orders of 3 of 24 depots'. `scored` is `queries.last_day`;
    `occasions` names the day's holidays and events, '' for none.
    """
    name = formatting.past_day(day, today)
    counted = scored.dropna(subset=["actual"])
    known = counted.dropna(subset=["point"])
    if counted.empty:
        return f"{name}: no orders known yet."
    if known.empty:
        total = formatting.orders(counted["actual"].sum())
        reason = "No forecast was made the night before."
        if scored["is_expected"].any():
            reason = "The forecast is not scored yet."
        return f"{name}: {total} orders{_of_depots(counted, scored)}. {reason}"
    actual, forecast = known["actual"].sum(), known["part"].sum()
    summary = (
        f"{name}: {formatting.orders(actual)} orders{_of_depots(known, scored)}, forecast "
        f"{formatting.orders(forecast)} ({formatting.miss(forecast, actual)})."
    ) + (f" On that day: {occasions}." if occasions else "")
    worst = known.iloc[0]
    if round(worst["point"]) == round(worst["actual"]):
        return summary
    planned = worst["planner_orders"]
    by_planner = "" if pd.isna(planned) else f", planned {formatting.orders(planned)}"
    return (
        f"{summary} Largest miss: {worst['name']}, {formatting.orders(worst['actual'])} orders, "
        f"forecast {formatting.orders(worst['point'])}{by_planner}."
    )


def day_error_sentence(scores: pd.DataFrame) -> str:
    """`error_sentence` on a day's forecasts of the night before; then the MAPE of all its forecasts."""
    last = scores.query("grain == 'horizon' and horizon == 1")
    told = error_sentence("The forecast of the night before was", last, "per depot")
    if not told or not scores["horizon"].gt(1).any():
        return told
    [mape] = scores.query("grain == 'all' and forecaster == 'forecast'")["mape"]
    every = f"all forecasts of the day, 1 to {scores['horizon'].max():.0f} days ahead"
    return f"{told[:-1]}; {every}: {formatting.percent(mape)}."


def is_outside(scored: pd.DataFrame) -> pd.Series:
    """Whether each row's actual in `queries.last_day` is known and outside its 80 % band."""
    return scored["actual"].lt(scored["p10"]) | scored["actual"].gt(scored["p90"])


def outside_sentence(scored: pd.DataFrame) -> str:
    """'Too low at 9 of 9 scored depots. Outside their 80 % band: 3 of 9 scored depots.'; '' without scores."""
    known = scored.dropna(subset=["actual", "point"])
    if known.empty:
        return ""
    error = known["point"].round() - known["actual"]
    sides = {"Too high": int((error > 0).sum()), "Too low": int((error < 0).sum())}
    side, n_off = max(sides.items(), key=itemgetter(1))
    of = f"of {formatting.count(len(known), 'scored depot')}"
    is_one_sided = len(known) > 1 and n_off >= ONE_SIDED * len(known)
    one_sided = f"{side} at {n_off:,} {of}. " if is_one_sided else ""
    return f"{one_sided}Outside their 80 % band: {is_outside(known).sum():,} {of}."


def planners_sentence(overridden: pd.DataFrame) -> str:
    """'Planners changed 3 forecasts and were off by …' from `queries.override_accuracy`; '' if it is empty."""
    if overridden.empty:
        return ""
    every = overridden.iloc[0]
    days = formatting.count(int(every["counted"]), "forecast")
    own, model = map(formatting.percent, every[["override_mape", "forecast_mape"]])
    told = f"Planners changed {days} and were off by {own}"
    return f"{told}; the numbers that they changed, by {model}."


def _of_depots(counted: pd.DataFrame, scored: pd.DataFrame) -> str:
    """' of 3 of 24 depots' if some expected depots are not counted, else ''."""
    n_expected = int((scored["is_expected"] | scored.index.isin(counted.index)).sum())
    if len(counted) == n_expected:
        return ""
    return f" of {len(counted):,} of {formatting.count(n_expected, 'depot')}"
