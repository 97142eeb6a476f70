"""Key figures and sentences of a plan; no I/O."""

from collections.abc import Hashable, Mapping, Sequence
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from dashboard.planning.van_plan import Transfer
from dashboard.text import formatting
from dashboard.text.summaries import TOTALS_NOTE
from pipelines.planning.city_settings import ASK, CitySettings
from pipelines.planning.van_plan import Plan
from pipelines.planning.vans import vans_for
from pipelines.planning.words import decision_words

MAX_NAMED, WEEK = 4, pd.Timedelta(days=7)
"""Maximum number of short days listed by name, and the period in which a weekday is unambiguous."""
MOVES_NOTE = "Each move is for that day only. A depot that is short itself lends a van only where it delivers at least a tenth of a full van more."


def settings_text(settings: CitySettings, zone: ZoneInfo, n_shifts: int = 0) -> str:
    """A city's settings as a sentence, with who saved them and when; a day has `n_shifts` shifts."""
    words = f"{settings.city}: {settings_words(vars(settings), n_shifts)}"
    if settings.made_at is None or settings.are_taken_back:
        return f"{words} (estimated)."
    by = f"by {settings.made_by}, {formatting.timestamp(settings.made_at, zone)}"
    if settings.has_estimated_vans:
        return f"{words}. Vans and orders per van are estimated; the rest was set {by}."
    return f"{words}. Set {by}."


def settings_words(settings: Mapping[Any, Any], n_shifts: int = 0) -> str:
    """'52 vans, 50 orders per van, service level 90 %, 1 driver per van, shifts 06-14'."""
    vans, per_van = settings["vans"], settings["orders_per_van"]
    words = "vans and orders per van estimated"
    if not pd.isna(per_van):
        known = "vans not known" if vans is None else formatting.count(vans, "van")
        words = f"{known}, {formatting.count(round(per_van), 'order')} per van"
    number, per = settings["drivers_per_van"], "per van"
    if number <= n_shifts:
        number, per = 1, "per van and shift"
    drivers = "1 driver" if number == 1 else f"{number:g} drivers"
    level = f"{100 * settings['service_level']:.0f} %"
    shifts = f", shifts {settings['shifts']}" if settings["shifts"] else ""
    return f"{words}, service level {level}, {drivers} {per}{shifts}"


def overview(plan: Plan) -> str:
    """Sentences on short days, late orders, the chance of full delivery, and unknown vans."""
    days, chance = plan.cities, plan.every_day["delivery_probability"].iloc[-1]
    unknown = sorted(days.loc[days["vans"].isna(), "city"].unique())
    note = f"The vans of {formatting.listed(unknown)} are not known"
    if days["vans"].isna().all():
        return f"{note}, so no shortage is shown."
    cities = "Every other city" if unknown else "Every city"
    if days["city"].nunique() == 1:
        cities = str(days["city"].iloc[0])
    # Whole orders of each day, as in the grid.
    planned, period = days["point"].round().sum(), days["target_on"].nunique()
    late = min(late_orders(days).sum(), planned)
    is_tiny = late < 0.0005 * planned
    share = "< 0.1 %" if is_tiny else formatting.percent(late / max(planned, 1))
    told = {
        short_days(days) or f"{cities} has enough vans every day": True,
        f"About {formatting.count(round(late), 'order')} late in {formatting.next_days(period)}, "
        f"{share} of all": late > 0,
        f"Chance of full delivery every day: {formatting.chance(chance)}": chance >= 0,
        note: bool(unknown),
    }
    return " ".join(f"{sentence}." for sentence, is_told in told.items() if is_told)


def late_orders(days: pd.DataFrame) -> pd.Series:
    """Late orders by day, from `Plan.cities`; each city's are rounded to whole orders."""
    return days["undelivered"].round().groupby(days["target_on"]).sum()


def need_sentence(plan: Plan, settings: CitySettings, day: date) -> str:
    """'Need on Sat 28 Nov: 2,436 orders fill 46 vans; …'; '' without orders."""
    total, own, of_day = (
        rows[rows["target_on"] == pd.Timestamp(day)]
        for rows in (plan.cities, plan.depots, plan.shifts)
    )
    [(n_orders, needed)] = total[["point", "needed"]].itertuples(index=False)
    if not round(n_orders):
        return ""
    full, whole = (
        vans_for(np.array(orders), settings.orders_per_van).sum()
        for orders in (n_orders, own["part"])
    )
    steps = f"; rounded up at each depot, {whole:,}"
    if settings.shifts and not of_day.empty:
        [fullest] = of_day.nlargest(1, "load").to_dict("records")
        steps = f" if spread evenly; the fullest shift, {fullest['shift']}, takes {fullest['orders']:,.0f} orders"
    level = f"{100 * settings.service_level:.0f}\N{NO-BREAK SPACE}%"
    return (
        f"Need on {formatting.day(day)}: {formatting.count(round(n_orders), 'order')} fill "
        f"{formatting.count(full, 'van')}{steps}; with a margin for full delivery at a "
        f"chance of {level}, {needed:,}."
    )


def rules(plan: Plan, settings: CitySettings) -> str:
    """How need, drivers and shifts of a city's plan are calculated, as a Markdown list."""
    shifts = "Shifts: a day needs the vans of its fullest shift."
    if not settings.shifts:
        shifts = "Shifts: usual ones, as nobody has set any."
    need = (
        "Need: the vans that carry all orders of a day (full delivery) with the chance that the service "
        "level asks for, if they are moved between depots that morning. Chances count such moves, too."
    )
    covered = "Covered: a day that would be short without its hired vans."
    drivers = "Drivers: for the vans that go out, at least one in each shift."
    told = [need, covered, drivers, shifts * (not plan.shifts.empty), TOTALS_NOTE]
    return "\n".join(f"- {each}" for each in filter(None, told))


def first_to_look_at(days: pd.DataFrame) -> date:
    """The most urgent day of `Plan.cities`: short, then undecided, then earliest."""
    in_order = days.sort_values(["is_enough", "is_decided", "target_on"])
    return pd.Timestamp(in_order["target_on"].iloc[0]).date()


def short_days(days: pd.DataFrame) -> str:
    """'Fri short of vans, Sat decided', from `Plan.cities`; '' if no day is short.

    A day is decided once every short city has decided; asking for help does not count. It is
    covered by the plan if hired vans leave it short only at today's pace. More than four days, or
    days after the first week, are counted but not named.
    """
    short = days[~days["is_enough"]]
    if short.empty:
        return ""
    short_on = short["target_on"]
    left = set(short_on[~short["is_decided"] | waits_for_help(short)])
    decided = set(short_on[short["short"] > 0]) - left
    covered = set(short_on) - left - decided
    is_far = short_on.max() >= days["target_on"].min() + WEEK
    is_counted = is_far or short_on.nunique() > MAX_NAMED

    def named(some: set[pd.Timestamp]) -> str:
        if is_counted:
            return formatting.count(len(some), "day")
        return formatting.listed([formatting.day(day)[:3] for day in sorted(some)])

    told = {
        "short of vans": left,
        "decided" if left else "short of vans, decided": decided,
        "covered by the plan": covered,
    }
    return ", ".join(f"{named(own)} {state}" for state, own in told.items() if own)


def short_depots(plan: Plan) -> str:
    """'Fri 27 Nov: 3 of 24 depots short, 9 vans in all. Most late orders in 7 days: Hoogvliet, about 90.'.

    Describes the first short day; counts the depots of the cities whose vans are known. No depot
    counts as short if its city has enough vans at today's pace.
    """
    days = plan.cities.dropna(subset=["vans"])[["city", "target_on", "is_enough"]]
    known = plan.depots.merge(days, on=["city", "target_on"])
    known = known.assign(short=known["short"].mask(known["is_enough"], 0))
    short = known[known["short"] > 0]
    if short.empty:
        return "" if known.empty else "No depot is short of vans."
    first_on = short["target_on"].min()
    n_short, n_all = ((rows["target_on"] == first_on).sum() for rows in (short, known))
    n_vans = int(short.loc[short["target_on"] == first_on, "short"].sum())
    of_all = f"all {n_all:,}" if n_short == n_all > 1 else f"{n_short:,} of {n_all:,}"
    vans = formatting.count(n_vans, "van")
    told = f"{formatting.day(first_on)}: {of_all} depots short, {vans} in all."
    late = known.groupby("depot_id").agg({"name": "first", "undelivered": "sum"})
    [worst] = late.nlargest(1, "undelivered").to_dict("records")
    if worst["undelivered"] < 1:
        return told
    n_days = formatting.count(known["target_on"].nunique(), "day")
    orders = formatting.orders(worst["undelivered"])
    return f"{told} Most late orders in {n_days}: {worst['name']}, about {orders}."


def waits_for_help(days: pd.DataFrame) -> pd.Series:
    """Whether each day of `Plan.cities` is short of vans and its decision is to ask for help."""
    return days["kind"].eq(ASK) & ~days["is_enough"]


def shortage_in_words(day: Mapping[Hashable, Any]) -> str:
    """'9 short', 'covered' or 'covered by the plan, 2 short at today's pace', from `Plan.cities`."""
    if day["short"] or day["is_enough"]:
        return f"{day['short']:,} short" if day["short"] else "covered"
    return f"covered by the plan, {day['short_at_pace']:,} short at today's pace"


def shortage_sentence(day: Mapping[Hashable, Any]) -> str:
    """The shortage and the chance of full delivery of a day of `Plan.cities`.

    'Fri 27 Nov: 23 vans short; chance of full delivery 12 %, about 682 orders late.' Once vans are
    hired: 'Fri 27 Nov: covered, 23 vans hired; chance of full delivery 90 %. Without them: …'
    """
    if not (day["lacking"] or day["extra"]):
        return "There are enough vans on that day."
    name = formatting.day(day["target_on"])
    hired = f"{formatting.count(int(day['extra']), 'van')} hired"
    chance = f"chance of full delivery {formatting.chance(day['delivery_probability'])}"
    if not day["short"]:
        covered = f"{name}: covered, {hired}; {chance}."
        if not day["lacking"]:
            return covered
        late = late_in_words(day["undelivered_without"])
        return f"{covered} Without them: {formatting.chance(day['chance_without'])}, and {late}."
    short = f"{formatting.count(int(day['short']), 'van')} short"
    if day["extra"]:
        short = f"{hired}, {day['short']:,} still short"
    return f"{name}: {short}; {chance}, {late_in_words(day['undelivered'])}."


def moved_vans(depot: str, moves: Sequence[Transfer]) -> str:
    """'+1 Alexander' and '−2 Hoogvliet', one per line: the vans that a depot borrows and lends."""
    return "\n".join(
        f"+{each.vans}\N{NO-BREAK SPACE}{each.from_depot}" if each.to_depot == depot
        else f"−{each.vans}\N{NO-BREAK SPACE}{each.to_depot}"
        for each in moves if depot in (each.from_depot, each.to_depot)
    )  # fmt: skip


def late_in_words(orders: float) -> str:
    """'about 12 orders late', or 'none late'."""
    late = formatting.count(round(orders), "order")
    return f"about {late} late" if round(orders) else "none late"


def offers(day: Mapping[Hashable, Any]) -> dict[int, str]:
    """Offers of hired vans for a short day, by their number: 23 → 'Hire 23: full delivery 92 %'."""
    if not day["short"]:
        return {}
    lacking, fewer = int(day["lacking"]), int(day["for_likely"])
    chances = {lacking: day["full_chance"]}
    if day["extra"] < fewer < lacking:
        chances[fewer] = day["likely_chance"]
    in_all = " in all" if day["extra"] else ""
    return {
        vans: f"Hire {vans:,}{in_all}: full delivery {formatting.chance(chance)}"
        for vans, chance in chances.items()
    }


def saved_words(change: Mapping[Any, Any]) -> str:
    """Values saved by a row of `queries.changes`: '33 vans hired', '420 orders (forecast then 341)'."""
    saved = change["saved"]
    if change["what"] == "vans":
        return decision_words(saved)
    if change["what"] == "settings":
        return settings_words(saved)
    if saved["orders"] is None:
        return "the model's orders"
    orders = formatting.count(round(saved["orders"]), "order")
    return f"{orders} (forecast then {formatting.orders(saved['point'])})"


def change_in_history(change: Mapping[Any, Any]) -> str:
    """'33 vans hired (undone)', 'Undone, back to: nothing decided'."""
    words = saved_words(change)
    if not pd.isna(change["undoes"]):
        return f"Undone, back to: {words}"
    return formatting.display_name(words) + (" (undone)" if change["is_undone"] else "")


def decided_by(decision: Mapping[Any, Any], zone: ZoneInfo) -> str:
    """'Ann, Mon 23 Nov, 08:12: “from Hertz”'."""
    note = f": {formatting.quoted(decision['note'])}" if decision["note"] else ""
    return f"{decision['made_by']}, {formatting.timestamp(decision['made_at'], zone)}{note}"
