"""How the newest known day went, in a sentence; no I/O."""

import math
from datetime import date

import pandas as pd

from dashboard.text import formatting


def sentence(scored: pd.DataFrame, day: date, today: date) -> str:
    """Summarises the newest known day: 'Yesterday: 3,612 orders, forecast 3,540 (−2 %)'.

    Where depots are missing it says so: '412 orders of 3 of 24 depots'. `scored` is
    `queries.last_day`.
    """
    name = (
        "Yesterday" if day == today - formatting.A_DAY else formatting.day(day, today)
    )
    counted = scored.dropna(subset=["actual"])
    known = counted.dropna(subset=["point"])
    if known.empty:
        total = formatting.orders(counted["actual"].sum())
        reason = "No forecast was made the night before."
        if scored["is_expected"].any():
            reason = "The forecast is not scored yet."
        return f"{name}: {total} orders{_of_depots(counted, scored)}. {reason}"
    actual, forecast = known["actual"].sum(), known["point"].sum()
    share = formatting.signed_percent(_ratio(forecast, actual), 0)
    summary = (
        f"{name}: {formatting.orders(actual)} orders{_of_depots(known, scored)}, forecast "
        f"{formatting.orders(forecast)} ({share})."
    )
    worst = known.iloc[0]
    error = formatting.signed_percent(_ratio(worst["point"], worst["actual"]), 0)
    if error == "0 %":
        return summary
    where = f"{worst['name']}, {formatting.orders(worst['actual'])} orders"
    if error == formatting.UNKNOWN:
        return f"{summary} Furthest off: {where}, forecast {formatting.orders(worst['point'])}."
    direction = "high" if worst["point"] > worst["actual"] else "low"
    return f"{summary} Furthest off: {where}, forecast {error.lstrip('+−')} too {direction}."


def _of_depots(counted: pd.DataFrame, scored: pd.DataFrame) -> str:
    """' of 3 of 24 depots', where some that were expected are not counted; else ''."""
    n_expected = int((scored["is_expected"] | scored.index.isin(counted.index)).sum())
    if len(counted) == n_expected:
        return ""
    return f" of {len(counted):,} of {formatting.count(n_expected, 'depot')}"


def _ratio(value: float, base: float) -> float:
    return value / base - 1 if base > 0 else math.nan
