"""Table → the one sentence or figure a reader should take from it. No I/O."""

import math

import pandas as pd

from dashboard import wording

Figures = dict[str, tuple[str, str]]
LEAST_BIAS = 0.0005


def week_figures(totals: pd.DataFrame) -> Figures:
    """The week ahead in three numbers.

    Args:
      totals: As `queries.daily_totals` returns it.
    """
    ahead = totals.dropna(subset=["p50"])
    busiest = ahead.loc[ahead["p50"].idxmax()]
    return {
        "Orders in the next 7 days": (
            wording.orders(ahead["p50"].sum()),
            _against(totals),
        ),
        "Busiest day": (
            wording.day(busiest["day_on"]),
            f"{wording.orders(busiest['p50'])} orders",
        ),
    }


def _against(totals: pd.DataFrame) -> str:
    """The week ahead against the one before it, where that is whole."""
    ahead = totals[totals["p50"].notna()]
    before = totals[
        totals["day_on"].isin(ahead["day_on"] - pd.Timedelta(days=7))
        & totals["actual"].notna()
    ]
    if len(before) < len(ahead) or not before["is_whole"].all():
        return "the week before is not whole"
    change = ahead["p50"].sum() / before["actual"].sum() - 1
    return f"{wording.signed_percent(change, 1)} on the week before"


def depot_figures(days: pd.DataFrame) -> Figures:
    """A depot's week ahead in three numbers.

    Args:
      days: As `queries.depot_days` returns it, with a forecast.
    """
    ahead = days.dropna(subset=["p50"])
    busiest = ahead.loc[ahead["p50"].idxmax()]
    week = days[days["day_on"].isin(ahead["day_on"] - pd.Timedelta(days=7))]
    known = week["actual"].notna().sum()
    of = "" if known == len(week) else f" on {wording.count(known, 'known day')}"
    return {
        "Orders in the next 7 days": (
            wording.orders(ahead["p50"].sum()),
            f"{wording.orders(week['actual'].sum())} the week before{of}",
        ),
        "Busiest day": (
            wording.day(busiest["day_on"]),
            f"{wording.orders(busiest['p50'])} orders",
        ),
    }


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
        f"On the last {wording.count(len(past), 'scored day')} the forecast was off by "
        f"{wording.percent(mape)} of the day's orders on average (MAPE) and "
        f"{_too(bias)}; {inside} of {len(past)} days fell within the 80 % band."
    )


def accuracy_sentence(scores: pd.DataFrame) -> str:
    """The forecast beside both baselines, in words.

    Args:
      scores: As `queries.accuracy` returns it, not empty.
    """
    all_days = scores[scores["grain"] == "all"].set_index("forecaster")
    mape = all_days["mape"].reindex(["forecast", "seasonal naive", "median of 4"])
    counted = wording.count(int(all_days.loc["forecast", "counted"]), "day")
    return (
        f"The forecast was off by {wording.percent(mape.iloc[0])} of a day's orders on "
        f"average, over {counted} counted. Repeating the week before would have been off "
        f"by {wording.percent(mape.iloc[1])}, the median of the last four same weekdays "
        f"by {wording.percent(mape.iloc[2])}."
    )


def accuracy_figures(scores: pd.DataFrame) -> Figures:
    """The forecast's scores over all days.

    Args:
      scores: As `queries.accuracy` returns it, not empty.
    """
    all_days = scores[scores["grain"] == "all"].set_index("forecaster")
    own = all_days.loc["forecast"]
    naive = all_days["mape"].get("seasonal naive", float("nan"))
    return {
        "MAPE": (wording.percent(own["mape"]), f"{wording.percent(naive)} seasonal naive"),
        "WAPE": (wording.percent(own["wape"]), "of volume"),
        "Bias": (wording.signed_percent(own["bias"], 1), "of volume; + is too high"),
        "In the 80 % band": (wording.percent(own["coverage"]), "80 % is right"),
        "Days counted": (f"{int(own['counted']):,}", "per depot and origin"),
    }


def what_if_sentence(outcome: pd.DataFrame) -> str:
    """What the supposition does to the week, in words.

    Args:
      outcome: As `whatif.suppose` returns it.
    """
    now, then = outcome["forecast"].sum(), outcome["supposed"].sum()
    return (
        f"The week would have {wording.orders(then)} orders instead of "
        f"{wording.orders(now)}: {wording.signed_orders(then - now)}."
    )


def _too(bias: float) -> str:
    if math.isnan(bias):
        return "of unknown bias"
    if abs(bias) < LEAST_BIAS:
        return "neither too high nor too low over all"
    return f"{wording.percent(abs(bias))} too {'high' if bias > 0 else 'low'} over all"
