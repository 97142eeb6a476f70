"""Key figures and sentences of a plan; no I/O."""

from operator import itemgetter

import pandas as pd

from dashboard.planning.planning import Assumptions
from dashboard.text import formatting
from dashboard.text.summaries import Figures

MAX_LISTED_DAYS = 3


def assumptions_text(city: str, assumptions: Assumptions) -> str:
    """The plan's assumptions as a sentence, also printed."""
    if assumptions.level is None:
        goal = (
            f"least expected cost at {assumptions.per_order:g} per undelivered order and "
            f"{assumptions.per_idle_van:g} per idle van"
        )
    else:
        goal = f"service level {100 * assumptions.level:.0f} %"
    vans = ""
    if assumptions.vans is not None:
        vans = f"{formatting.count(assumptions.vans, 'van')} per day, "
    capacity = formatting.count(round(assumptions.capacity), "order")
    return f"{city}: {vans}{capacity} per van, {goal}."


def figures(days: pd.DataFrame, assumptions: Assumptions) -> Figures:
    """Key figures of `planning.by_day`; two where the vans are not known, else three."""
    peak = max(days.to_dict("records"), key=itemgetter("needed"))
    peak_day = f"on {formatting.day(peak['target_on'])}"
    undelivered, volume = days["undelivered"].sum(), days["p50"].sum()
    share = undelivered / volume if volume > 0 else float("nan")
    shortage: Figures = {}
    if assumptions.vans is not None:
        peak_day += f", of {assumptions.vans:,}"
        short = int((days["needed"] - days["allocated"]).sum())
        period = formatting.next_days(len(days)).capitalize()
        shortage = {"Van-days short": (f"{short:,}", period)}
    return {
        "Peak vans needed": (f"{int(peak['needed']):,}", peak_day),
        **shortage,
        "Undelivered orders": (
            formatting.orders(undelivered),
            f"expected, {formatting.percent(share)} of orders",
        ),
    }


def shortage_sentence(days: pd.DataFrame, city: str) -> str:
    """Summary of the days of `planning.by_day` on which vans are short."""
    if days["spare"].isna().all():
        return (
            f"The number of vans in {city} is not known, so every depot gets as many as it "
            "needs. Set it under “Assumptions”, or load the depots again with a column "
            "“vans”."
        )
    short = days[days["allocated"] < days["needed"]]
    if short.empty:
        return (
            f"{city} has enough vans every day, with at least "
            f"{formatting.count(int(days['spare'].min()), 'van')} to spare."
        )
    listed = [
        f"{formatting.day(day['target_on'])} ({int(day['needed'] - day['allocated']):,})"
        for day in short.to_dict("records")[:MAX_LISTED_DAYS]
    ]
    more = len(short) - len(listed)
    rest = f" and {formatting.count(more, 'day')} more" if more else ""
    return (
        f"Vans short on {', '.join(listed)}{rest}. They are allocated to deliver as many "
        "orders as possible."
    )
