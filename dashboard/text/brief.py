"""The morning brief: what to look at today; no I/O.

In this order, each over the whole fleet: days short of vans, missing data, holidays and events,
large changes of forecasts, and decided shortages.
"""

from dataclasses import dataclass
from datetime import date
from typing import cast
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting, plan_summaries
from dashboard.text.formatting import link, plan_link
from pipelines.planning.van_plan import Settings
from pipelines.planning.words import decision_words, names_of_day

VANS, DATA, EVENT, CHANGE = "Vans", "Data", "Event", "Change"
MIN_CHANGE = 0.15
"""Smallest relative change of a depot's forecast that is listed."""
MIN_CHANGED_ORDERS = 20.0
"""Smallest change of a depot's forecast that is listed, in orders over its days ahead."""
EventKey = tuple[pd.Timestamp, pd.Timestamp, str, bool]
MAX_CHANGES, MAX_NAMES = 3, 3
SEVERE_BELOW = 0.5
"""Chance of full delivery below which a day short of vans is severe."""
UNLIKELY = "Full delivery unlikely"


@dataclass(frozen=True)
class Decision:
    """One thing to look at.

    Attributes:
      kind: 'Vans', 'Data', 'Event' or 'Change'.
      text: Sentence on the problem, its place and its size.
      link: Address of the page that shows it.
      about: Qualifiers joined by ' · ', such as severity and events; '' for none.
      places: The cities concerned, each with its address; the text does not repeat them.
      is_severe: Whether it is marked as urgent.
      is_decided: Whether it is decided and waits for no help, or the vans suffice at today's pace.
      is_covered: Whether hired vans cover the shortage, also at today's pace.
    """

    kind: str
    text: str
    link: str
    about: str = ""
    places: tuple[tuple[str, str], ...] = ()
    is_severe: bool = False
    is_decided: bool = False
    is_covered: bool = False


def decisions(
    plan_days: pd.DataFrame,
    week: pd.DataFrame,
    events: pd.DataFrame,
    today: date,
    newest: date,
    zone: ZoneInfo,
) -> list[Decision]:
    """Everything to look at; decided shortages come last, except those that wait for help.

    Args:
      plan_days: `Plan.cities`.
      week: `queries.fleet_week`.
      events: `queries.fleet_events`.
      today: Today in the fleet's zone.
      newest: Newest day whose orders are known, or the origin if that is later.
      zone: The fleet's zone.
    """
    starting = _starting(events, week["target_on"].min().date() - formatting.A_DAY)
    short = plan_days[_lacks(plan_days) | ~plan_days["is_enough"]]
    short = short.assign(is_waiting=plan_summaries.waits_for_help(short))
    late = plan_summaries.late_orders(plan_days[~plan_days["is_decided"]])
    return [
        *_shortages(short, late, events, week["city"].nunique(), today, zone),
        *_missing_data(week, today, newest),
        *_events(starting, week, short),
        *_changes(week),
        *_decided(short[short["is_decided"] & ~short["is_waiting"]], zone),
    ]


def estimated_cities(plan_days: pd.DataFrame, settings: Settings) -> list[str]:
    """The cities whose shortages rest on estimated vans, sorted."""
    short = plan_days.loc[_lacks(plan_days), "city"].unique()
    return sorted(city for city in short if settings[city].is_estimated)


def _lacks(days: pd.DataFrame) -> pd.Series:
    """Whether each day of `Plan.cities` is short without hired vans, or was settled by hiring."""
    is_hired = days["is_decided"] & days["extra"].gt(0)
    return days["lacking"].gt(0) | is_hired


def _shortages(
    short: pd.DataFrame,
    late: pd.Series,
    events: pd.DataFrame,
    n_cities: int,
    today: date,
    zone: ZoneInfo,
) -> list[Decision]:
    """One decision per day with a shortage left to decide, and per city that waits for help."""
    found = []
    for key, rows in short.groupby("target_on"):
        day = cast(pd.Timestamp, key)
        own = rows[~rows["is_decided"] & (rows["short"].gt(0) | ~rows["is_enough"])]
        asked = _decided(rows[rows["is_waiting"]], zone)
        if own.empty:
            found += asked
            continue
        on = events[events["day_on"] == day]
        occasion = names_of_day(on, list(own["city"]), n_cities)
        short_vans, *more = _short(rows)
        if not own["short"].any():
            lacking = formatting.count(int(own["short_at_pace"].sum()), "van")
            short_vans = f"{lacking} short at today's pace"
        else:
            more.insert(0, _short_at_pace(own))
        text = f"{formatting.coming_day(day, today)}: {short_vans}"
        text += f", {plan_summaries.late_in_words(late[day])}" if late[day] else ""
        # A city that is short only at today's pace shows that shortage.
        left = own[~own["is_enough"]]
        own_short = left["short"].where(left["short"] > 0, left["short_at_pace"])
        unlikely = left[left["delivery_probability"].lt(SEVERE_BELOW)]
        where = f" in {_named(unlikely)}" if len(unlikely) < len(own) else ""
        is_severe = not unlikely.empty
        told = (f"{UNLIKELY}{where}" if is_severe else "", *more, occasion)
        about = " · ".join(filter(None, told))
        places = _places(left.assign(short=own_short), day)
        url = plan_link(str(rows["city"].iloc[0]) if n_cities == 1 else "", day)
        found.append(Decision(VANS, text, url, about, places, is_severe, left.empty))
        found += asked
    return found


def _named(cities: pd.DataFrame) -> str:
    return formatting.listed(sorted(cities["city"]))


def _short(cities: pd.DataFrame) -> list[str]:
    """'5 vans short', '2 hired in Delft by Ann', '4 more decided', '3 more wait for help'."""
    left = cities[~cities["is_decided"]]
    n_short = int(left["short"].sum())
    total = formatting.count(n_short, "van") if n_short else "none"
    hired = left.query("extra > 0")[["extra", "city", "made_by"]]
    part = [f"{n:,} hired in {where} by {who}" for n, where, who in hired.to_numpy()]
    part = part and [formatting.listed(part, MAX_NAMES, "cities")]
    words = ("decided", "wait for help")
    settled = cities[cities["is_decided"]].groupby("is_waiting")["short"].sum()
    more = "more " * bool(n_short)
    others = [f"{n:,} {more}{words[bool(key)]}" for key, n in settled.items() if n]
    return [f"{total} short", *part, *others]


def _short_at_pace(cities: pd.DataFrame) -> str:
    """'short at today's pace: Delft 10 and Leeds 0', of the cities whose pace is known; '' for none."""
    known = cities[cities["at_pace"].ne(cities["needed"])].set_index("city")
    numbers = [f"{city} {vans:,}" for city, vans in known["short_at_pace"].items()]
    told = formatting.listed(numbers, MAX_NAMES, "cities")
    return f"short at today's pace: {told}" if told else ""


def _decided(settled: pd.DataFrame, zone: ZoneInfo) -> list[Decision]:
    """One decision per city and day: what was decided, by whom and when."""
    found = []
    for day in settled.sort_values(["target_on", "city"]).to_dict("records"):
        place = f"{formatting.day(day['target_on'])}, {day['city']}"
        by = plan_summaries.decided_by(day, zone)
        text = f"{place}: {plan_summaries.shortage_in_words(day)}; {decision_words(day)} by {by}"
        url = plan_link(day["city"], day["target_on"], form="vans")
        is_severe = day["is_waiting"] and day["delivery_probability"] < SEVERE_BELOW
        is_covered = day["is_enough"] and not day["short"]
        about, states = UNLIKELY * is_severe, (not day["is_waiting"], is_covered)
        found.append(Decision(VANS, text, url, about, (), is_severe, *states))
    return found


def _places(short: pd.DataFrame, day: pd.Timestamp) -> tuple[tuple[str, str], ...]:
    """The cities short of vans on a day with their addresses, worst first."""
    worst = short.sort_values("short", ascending=False, kind="stable")[
        ["city", "short"]
    ]
    places = [
        (f"{city} {n:,}", plan_link(city, day, form="vans"))
        for city, n in worst.head(MAX_NAMES).itertuples(index=False)
    ]
    if (more := len(short) - MAX_NAMES) > 0:
        named = formatting.count(more, "more city", "more cities")
        places.append((named, plan_link(day=day)))
    return tuple(places)


def _missing_data(week: pd.DataFrame, today: date, newest: date) -> list[Decision]:
    """One decision per city and kind of gap; cities with most orders at affected depots first."""
    sizes = week.groupby("city")["depot_id"].nunique()
    missing = week[week["is_late"] | week["is_silent"]]
    by_orders = missing.groupby("city")["point"].sum().sort_values(ascending=False)
    depots = missing.drop_duplicates("depot_id").set_index("depot_id")
    age = (pd.Timestamp(newest) - depots["last_on"]).dt.days
    # 0: only the newest day is missing; 1: more days are missing; 2: there never were orders.
    depots["gap"] = age.ne(1).astype(int).mask(age.isna(), 2)
    return [
        _missing_in(str(city), own, sizes[city], today, newest)
        for city in by_orders.index
        for _, own in depots[depots["city"] == city].groupby("gap")
    ]


def _missing_in(
    city: str, depots: pd.DataFrame, n_depots: int, today: date, newest: date
) -> Decision:
    """Describes the depots of a city with one kind of gap, by the longest of their gaps."""
    if len(depots) == 1:
        depot_id, depot = depots.index[0], depots.iloc[0]
        text = f"{depot['name']} ({city}): {_gap(depot['last_on'], today, newest)}"
        return Decision(DATA, text, link("depot", depot=depot_id))
    of = "all" if len(depots) == n_depots else f"{len(depots):,} of"
    names = formatting.listed(sorted(set(depots["name"])))
    gap = _gap(depots["last_on"].min(), today, newest)
    or_later = " or later" if depots["last_on"].nunique() > 1 else ""
    text = f"{city}: {gap}{or_later} for {of} {n_depots:,} depots ({names})"
    return Decision(DATA, text, "pipeline")


def _gap(last_on: pd.Timestamp, today: date, newest: date) -> str:
    """'yesterday's orders are missing', 'no orders since Fri 21 Nov' or 'no orders yet'."""
    if pd.isna(last_on):
        return "no orders yet"
    if (newest - last_on.date()).days != 1:
        return f"no orders since {formatting.day(last_on)}"
    if newest == today - formatting.A_DAY:
        return "yesterday's orders are missing"
    return f"the orders of {formatting.day(newest)} are missing"


def _starting(events: pd.DataFrame, origin: date) -> pd.DataFrame:
    """Events that begin after the origin; consecutive days of an event share a `run_id`."""
    keys = ["what", "is_holiday", "city"]
    in_order = events.sort_values([*keys, "day_on"])
    is_first = in_order.groupby(keys)["day_on"].diff().ne(formatting.A_DAY)
    in_order["run_id"] = is_first.cumsum()
    first_on = in_order.groupby("run_id")["day_on"].transform("min")
    return in_order[first_on > pd.Timestamp(origin)]


def _events(
    events: pd.DataFrame, week: pd.DataFrame, short: pd.DataFrame
) -> list[Decision]:
    """One decision per event and span of days; a span ends when a city's share of depots changes.

    Events that overlap a shortage in their city are left out, as the shortage names them.
    Planned orders are given only for events that all depots of their cities have.
    """
    sizes = week.groupby("city")["depot_id"].nunique()
    is_other_share = events.groupby("run_id")["depots"].diff().fillna(0).ne(0)
    parts = events.assign(part=is_other_share.cumsum())
    keys = ["what", "is_holiday", "city", "run_id", "part"]
    runs = parts.groupby(keys, as_index=False).agg(
        first_on=("day_on", "min"), last_on=("day_on", "max"), depots=("depots", "max")
    )
    on_short = runs.reset_index().merge(short[["city", "target_on"]], on="city")
    named = on_short.query("first_on <= target_on <= last_on")["index"]
    runs = runs.drop(index=list(named.unique()))
    found = []
    keys = ["first_on", "last_on", "what", "is_holiday"]
    for key, own in runs.groupby(keys):
        first, last, what, is_holiday = cast(EventKey, key)
        cities = list(own["city"])
        rows = week[week["city"].isin(cities) & week["target_on"].between(first, last)]
        name = formatting.occasion_name(what, is_holiday)
        text = f"{formatting.day_range(first, last)}, {name}{_where(own, sizes)}"
        if not _is_partial(own, sizes):
            text += f": {formatting.orders(rows['part'].sum())} orders planned"
        place = plan_link(cities[0] if len(cities) == 1 else "", first)
        found.append(Decision(EVENT, text, place))
    return found


def _where(cities: pd.DataFrame, sizes: pd.Series) -> str:
    """' in London', ' in London (1 of 8 depots)'; '' for the whole fleet."""
    depots, n_depots = cities["depots"].sum(), sizes.reindex(cities["city"]).sum()
    if depots >= sizes.sum():
        return ""
    is_partial = _is_partial(cities, sizes)
    part = f" ({depots:,} of {n_depots:,.0f} depots)" if is_partial else ""
    return f" in {_named(cities)}{part}"


def _is_partial(cities: pd.DataFrame, sizes: pd.Series) -> bool:
    """Whether some depots of an event's cities do not have it."""
    return bool(cities["depots"].sum() < sizes.reindex(cities["city"]).sum())


def _changes(week: pd.DataFrame) -> list[Decision]:
    """The depots whose forecast by the model changed most since the previous one."""
    both = week.dropna(subset=["point_before", "revised"])
    depots = both.groupby("depot_id", sort=False).agg(
        name=("name", "first"),
        city=("city", "first"),
        revised=("revised", "first"),
        before_on=("before_on", "first"),
        difference=("model_point", "sum"),
        before=("point_before", "sum"),
    )
    depots["difference"] -= depots["before"]
    is_large = (depots["revised"].abs() >= MIN_CHANGE) & (
        depots["difference"].abs() >= MIN_CHANGED_ORDERS
    )
    large = depots[is_large].sort_values(
        "difference", key=lambda values: -values.abs(), kind="stable"
    )
    return [
        Decision(
            CHANGE,
            f"{row['name']} ({row['city']}): forecast "
            f"{formatting.signed_percent(row['revised'], 0)} "
            f"since {formatting.day(row['before_on'])} "
            f"({formatting.signed(round(row['difference']))} orders)",
            link("depot", depot=str(depot_id)),
        )
        for depot_id, row in large.head(MAX_CHANGES).iterrows()
    ]


def names_of_last_year(
    events: pd.DataFrame, n_cities: int, city: str = ""
) -> dict[pd.Timestamp, str]:
    """`day_names` of `A_YEAR` before each day."""
    names = day_names(events, n_cities, city)
    return {day + formatting.A_YEAR: name for day, name in names.items()}


def day_names(
    events: pd.DataFrame, n_cities: int, city: str = ""
) -> dict[pd.Timestamp, str]:
    """The holidays and events of each day in words: 'Black Friday + Promotion (London)'.

    Args:
      events: `queries.fleet_events`.
      n_cities: Number of cities in the fleet; an event in fewer is followed by their names.
      city: The only city that matters; '' for all.
    """
    if city:
        events = events[events["city"] == city]
    # 0 turns the city suffix off.
    n_all = 0 if city else n_cities
    return {
        cast(pd.Timestamp, day): names_of_day(own, set(own["city"]), n_all)
        for day, own in events.groupby("day_on")
    }
