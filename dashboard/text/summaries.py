"""Table → the one sentence or figure a reader should take from it. No I/O."""

import math
from collections.abc import Hashable, Iterable
from typing import Any, cast

import pandas as pd

from dashboard.text import formatting

Row = dict[Hashable, Any]
Figures = dict[str, tuple[str, str]]
LEAST_BIAS = 0.0005
A_DAY = pd.Timedelta(days=1)


def change(rows: Iterable[Row]) -> float:
    """What depot-days are forecast against the same days a week before, as a fraction.

    Args:
      rows: With p50 and week_before; those without a known week before do not count.

    Returns:
      0.1 where a tenth more is forecast; NaN where nothing is known.
    """
    known = [row for row in rows if not math.isnan(row["week_before"])]
    before = sum(row["week_before"] for row in known)
    return sum(row["p50"] for row in known) / before - 1 if before else math.nan


def week_figures(week: pd.DataFrame) -> Figures:
    """The days ahead in two numbers, and what needs attention in two more.

    Args:
      week: Depots and days as `queries.fleet_week` returns them, not empty.
    """
    by_day = week.groupby("target_on")["p50"].sum()
    known = week.dropna(subset=["week_before"])
    against = formatting.signed_percent(
        change(known[["p50", "week_before"]].to_dict("records"))
    )
    return {
        f"Orders in {formatting.next_days(len(by_day))}": (
            formatting.orders(by_day.sum()),
            f"{against} vs last week",
        ),
        "Busiest day": (
            formatting.day(cast(pd.Timestamp, by_day.idxmax())),
            f"{formatting.orders(by_day.max())} orders",
        ),
        **_attention(week.drop_duplicates("depot_id"), week["target_on"].min() - A_DAY),
    }


def _attention(depots: pd.DataFrame, origin: pd.Timestamp) -> Figures:
    """How many depots are late, and whose forecast changed most since the one before.

    Args:
      depots: Of the week, a row for each.
      origin: Of its forecast.
    """
    late = int(depots["is_late"].sum())
    said = {
        "Depots with missing data": (
            f"{late:,}",
            f"of {formatting.count(len(depots), 'depot')}",
        )
    }
    revised = depots.dropna(subset=["revised"]).to_dict("records")
    if revised:
        most = max(revised, key=lambda depot: abs(depot["revised"]))
        changed = formatting.signed_percent(most["revised"], 0)
        since = formatting.since(most["before_on"], origin)
        said[f"Largest change {since}"] = (changed, str(most["name"]))
    return said


def depot_figures(days: pd.DataFrame) -> Figures:
    """A depot's days ahead in two numbers.

    Args:
      days: As `queries.depot_days` returns it, with a forecast.
    """
    ahead = days.dropna(subset=["p50"])
    by_day = ahead.set_index("day_on")["p50"]
    earlier = pd.Timedelta(days=len(ahead))
    before = days[days["day_on"].isin(ahead["day_on"] - earlier)]
    known = before["actual"].notna().sum()
    days_before = formatting.count(len(ahead), "day")
    of = "" if known == len(before) else f" ({known} with data)"
    return {
        f"Orders in {formatting.next_days(len(ahead))}": (
            formatting.orders(ahead["p50"].sum()),
            f"{formatting.orders(before['actual'].sum())} in the previous {days_before}{of}",
        ),
        "Busiest day": (
            formatting.day(cast(pd.Timestamp, by_day.idxmax())),
            f"{formatting.orders(by_day.max())} orders",
        ),
    }


def history_sentence(has_forecast: bool) -> str:
    """What the chart of a depot's days shows."""
    marks = "Triangles mark holidays and events."
    if not has_forecast:
        return f"Orders per day, last 8 weeks. {marks}"
    return f"Orders per day: last 8 weeks and forecast. Shaded: 80 % band. {marks}"


def past_sentence(past: pd.DataFrame) -> str:
    """How far off the forecasts of one depot were, in words.

    Args:
      past: As `queries.past_forecasts` returns it, not empty.
    """
    counted = past[past["actual"] > 0]
    error = past["p50"] - past["actual"]
    mape = (error.abs() / past["actual"])[counted.index].mean()
    volume = past["actual"].sum()
    bias = error.sum() / volume if volume > 0 else float("nan")
    inside = past["actual"].between(past["p10"], past["p90"]).sum()
    return (
        f"Last {formatting.count(len(past), 'scored day')}: MAPE {formatting.percent(mape)}, "
        f"{_too(bias)}, {inside} of {len(past)} days within the 80 % band."
    )


def accuracy_sentence(scores: pd.DataFrame) -> str:
    """The forecast beside both baselines, in words.

    Args:
      scores: As `queries.accuracy` returns it, not empty.
    """
    own, naive, median = (
        _over_all(scores, name)
        for name in ("forecast", "seasonal naive", "median of 4")
    )
    return (
        f"MAPE {formatting.percent(own['mape'])} over "
        f"{formatting.count(int(own['counted']), 'day')}. On the same days: "
        f"{formatting.percent(naive['mape'])} for repeating last week, "
        f"{formatting.percent(median['mape'])} for the median of the last four same "
        "weekdays."
    )


def accuracy_figures(scores: pd.DataFrame) -> Figures:
    """The forecast's scores over all days.

    Args:
      scores: As `queries.accuracy` returns it, not empty.
    """
    own, naive = _over_all(scores, "forecast"), _over_all(scores, "seasonal naive")
    return {
        "MAPE": (
            formatting.percent(own["mape"]),
            f"{formatting.percent(naive['mape'])} seasonal naive",
        ),
        "WAPE": (formatting.percent(own["wape"]), "of volume"),
        "Bias": (formatting.signed_percent(own["bias"]), "of volume, + is too high"),
        "In the 80 % band": (formatting.percent(own["coverage"]), "80 % is right"),
        "Days scored": (f"{int(own['counted']):,}", _left_out(own)),
    }


def what_if_sentence(outcome: pd.DataFrame) -> str:
    """What the supposition does to the week, in words.

    Args:
      outcome: As `whatif.suppose` returns it.
    """
    now, then = outcome["forecast"].sum(), outcome["supposed"].sum()
    return (
        f"With this scenario: {formatting.orders(then)} orders instead of "
        f"{formatting.orders(now)} ({formatting.change(now, then)})."
    )


def _over_all(scores: pd.DataFrame, forecaster: str) -> Row:
    """One forecaster's scores over all days; NaN where it forecast none."""
    mine = (scores["grain"] == "all") & (scores["forecaster"] == forecaster)
    found = scores[mine].to_dict("records")
    return found[0] if found else dict.fromkeys(scores.columns, math.nan)


def _left_out(own: Row) -> str:
    """How many scored days have no baseline to stand beside, and how those went."""
    left = int(own["all_counted"] - own["counted"])
    if not left:
        return "per depot and origin"
    return f"{left:,} more have no baseline; with them MAPE {formatting.percent(own['all_mape'])}"


def _too(bias: float) -> str:
    if math.isnan(bias):
        return "bias unknown"
    if abs(bias) < LEAST_BIAS:
        return "no bias"
    return (
        f"{formatting.percent(abs(bias))} too {'high' if bias > 0 else 'low'} overall"
    )
