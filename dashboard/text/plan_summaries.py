"""Key figures and sentences of a plan; no I/O."""

from datetime import datetime
from operator import itemgetter
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.planning.city_settings import CitySettings
from dashboard.text import formatting
from dashboard.text.summaries import Figures

MAX_LISTED = 3
ESTIMATED = "estimated, please set"


def settings_text(settings: CitySettings, zone: ZoneInfo) -> str:
    """A city's settings as a sentence, also printed; who saved them, and when."""
    vans = "vans not known"
    if settings.vans is not None:
        vans = formatting.count(settings.vans, "van")
    capacity = formatting.count(round(settings.orders_per_van), "order")
    drivers = formatting.quantity(settings.drivers_per_van, "driver")
    assumed = (
        f"{settings.city}: {vans}, {capacity} per van, service level "
        f"{100 * settings.service_level:.0f} %, {drivers} per van"
    )
    if settings.made_at is None:
        return f"{assumed}: {ESTIMATED}."
    made_at = formatting.timestamp(settings.made_at, zone)
    return f"{assumed}. Set by {settings.made_by}, {made_at}."


def figures(days: pd.DataFrame) -> Figures:
    """Key figures of `planning.by_city`, of one city or of all."""
    summed = ["needed_pooled", "short", "point", "undelivered"]
    by_day = days.groupby("target_on")[summed].sum()
    peak = max(by_day.reset_index().to_dict("records"), key=itemgetter("needed_pooled"))
    peak_day = f"on {formatting.day(peak['target_on'])}"
    undelivered, volume = by_day["undelivered"].sum(), by_day["point"].sum()
    share = undelivered / volume if volume > 0 else float("nan")
    shortage: Figures = {}
    if days["vans"].notna().all():
        vans = days.groupby("target_on")["vans"].sum().iloc[0]
        peak_day += f", of {int(vans):,}"
        period = formatting.next_days(len(by_day)).capitalize()
        shortage = {"Van-days short": (f"{int(by_day['short'].sum()):,}", period)}
    return {
        "Peak vans needed": (f"{int(peak['needed_pooled']):,}", peak_day),
        **shortage,
        "Undelivered orders": (
            formatting.orders(undelivered),
            f"expected, {formatting.percent(share)} of orders",
        ),
    }


def fleet_sentence(days: pd.DataFrame) -> str:
    """The days on which cities are short of vans, worst first, from `planning.by_city`."""
    short = days[days["short"] > 0]
    unknown = sorted(days.loc[days["vans"].isna(), "city"].unique())
    note = f"The vans of {formatting.listed(unknown)} are not known"
    if days["vans"].isna().all():
        return f"{note}, so no shortage is shown."
    if short.empty:
        if unknown:
            return f"{note}. Every other city has enough vans every day."
        return "Every city has enough vans every day."
    by_day = short.groupby("target_on")["short"].sum().sort_values(ascending=False)
    listed = [
        _short_day(pd.Timestamp(str(day)), short[short["target_on"] == day])
        for day in by_day.index[:MAX_LISTED]
    ]
    more = len(by_day) - len(listed)
    rest = f", and {formatting.count(more, 'day')} more" if more else ""
    ending = f" {note}." if unknown else ""
    return f"Vans short: {'; '.join(listed)}{rest}.{ending}"


def _short_day(day: pd.Timestamp, cities: pd.DataFrame) -> str:
    """'Fri 27 Nov 13 (London 9, Helsinki 4)'."""
    worst = cities.sort_values(["short", "city"], ascending=[False, True])
    named = [f"{row['city']} {row['short']:,}" for row in worst.to_dict("records")]
    total = int(cities["short"].sum())
    return f"{formatting.day(day)} {total:,} ({formatting.listed(named)})"


def city_sentence(days: pd.DataFrame, city: str) -> str:
    """The days on which a city is short of vans, from its rows of `planning.by_city`."""
    if days["vans"].isna().all():
        return (
            f"The number of vans in {city} is not known, so every depot gets as many as it "
            "needs. Set it below."
        )
    short = days[days["short"] > 0]
    if short.empty:
        spare = int((days["vans"] - days["needed_pooled"]).min())
        amount = "none to spare on the busiest day"
        if spare:
            amount = f"at least {formatting.count(spare, 'van')} more than needed"
        return (
            f"{city} has enough vans every day: {amount}, if vans are moved between its "
            "depots."
        )
    listed = [
        f"{formatting.day(day['target_on'])} ({day['short']:,}; chance of full delivery "
        f"{formatting.chance(day['delivery_probability'])})"
        for day in short.to_dict("records")[:MAX_LISTED]
    ]
    more = len(short) - len(listed)
    rest = f" and {formatting.count(more, 'day')} more" if more else ""
    return (
        f"Vans short on {', '.join(listed)}{rest}. They are assigned to deliver as many "
        "orders as possible."
    )


def shortage_sentence(plan: pd.DataFrame, days: pd.DataFrame) -> str:
    """Why the depots of a city lack more vans than the city; '' where they lack as many.

    Args:
      plan: The city's rows of `planning.make_plan`.
      days: Its rows of `planning.by_city`.
    """
    lacking = (plan["needed"] - plan["allocated"]).groupby(plan["target_on"]).sum()
    listed = [
        f"{formatting.day(row['target_on'])}: {lacking[row['target_on']]:,} "
        f"({row['short']:,} if moved)"
        for row in days.to_dict("records")
        if 0 < row["short"] != lacking[row["target_on"]]
    ]
    if not listed:
        return ""
    return f"Vans short if none is moved between depots: {'; '.join(listed)}."


def print_heading(days: pd.DataFrame, now: datetime, zone: ZoneInfo) -> str:
    """The heading of a printed plan of a city: 'Ghent, Mon 23 Nov – Sun 29 Nov; as of …'."""
    day_range = formatting.day_range(days["target_on"].min(), days["target_on"].max())
    as_of = formatting.timestamp(now, zone)
    return f"{days['city'].iloc[0]}, {day_range}; printed {as_of} ({zone.key})"
