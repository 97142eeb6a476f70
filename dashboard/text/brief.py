"""The morning brief: what needs a decision today, most urgent first; no I/O.

Urgency is ranked over the whole fleet: days short of vans, then missing data, then holidays
and events, then forecasts that changed much.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import cast
from urllib.parse import urlencode

import pandas as pd

from dashboard.planning.shortage import CityDay
from dashboard.text import formatting

VANS, DATA, EVENT, CHANGE = "Vans", "Data", "Event", "Change"
MIN_CHANGE = 0.15
"""Share by which a depot's days ahead must have changed to be a large change."""
MIN_CHANGED_ORDERS = 20.0
"""Orders over the days ahead below which no change is large."""
MAX_CHANGES = 3
MAX_NAMES = 3
A_DAY = timedelta(days=1)
EventKey = tuple[pd.Timestamp, pd.Timestamp, str, bool]
"""First and last day, name or kind, whether it is a holiday."""


@dataclass(frozen=True)
class Decision:
    """One thing that needs a decision.

    Attributes:
      kind: Why it is urgent: 'Vans', 'Data', 'Event' or 'Change'.
      text: What, where and how much, as a sentence.
      link: Address of the page on which it is decided.
    """

    kind: str
    text: str
    link: str


def decisions(
    city_days: Sequence[CityDay],
    week: pd.DataFrame,
    events: pd.DataFrame,
    today: date,
    newest: date,
) -> list[Decision]:
    """Everything that needs a decision, most urgent first.

    Args:
      city_days: As `shortage.city_days` returns it.
      week: As `queries.fleet_week` returns it.
      events: As `queries.fleet_events` returns it.
      today: Today in the fleet's zone.
      newest: Newest day whose orders are known, or the origin if that is later.
    """
    starting = _starting(events, week["target_on"].min().date() - A_DAY)
    short_days = {day.day_on for day in city_days if day.short > 0}
    return [
        *_shortages(city_days, day_names(events, week["city"].nunique())),
        *_missing_data(week, today, newest),
        *_events(starting, week, short_days),
        *_changes(week),
    ]


def day_names(
    events: pd.DataFrame, n_cities: int, city: str = ""
) -> dict[pd.Timestamp, str]:
    """The holidays and events of each day in words: 'Black friday, Promotion (London)'.

    Args:
      events: As `queries.fleet_events` returns it.
      n_cities: Cities of the fleet; an event of fewer is followed by their names.
      city: The only city that matters; '' for all.
    """
    if city:
        events = events[events["city"] == city]
    names: dict[pd.Timestamp, list[str]] = {}
    for key, own in events.groupby(["day_on", "what", "is_holiday"]):
        day, what, is_holiday = cast(tuple[pd.Timestamp, str, bool], key)
        name = _event_name(what, is_holiday)
        if not city and len(own) < n_cities:
            name += f" ({_listed(own['city'])})"
        names.setdefault(day, []).append(name)
    return {day: ", ".join(own) for day, own in names.items()}


def last_day_sentence(scored: pd.DataFrame, day: date, today: date) -> str:
    """Summarises the newest known day: 'Yesterday: 3,612 orders, forecast 3,540 (−2 %)'.

    Where depots are missing it says so: '412 orders of 3 of 24 depots'.

    Args:
      scored: As `queries.last_day` returns it.
      day: That day.
      today: Today in the fleet's zone.
    """
    name = "Yesterday" if day == today - A_DAY else formatting.day(day, today)
    counted = scored.dropna(subset=["actual"])
    known = counted.dropna(subset=["point"])
    if known.empty:
        total = formatting.orders(counted["actual"].sum())
        return (
            f"{name}: {total} orders{_of_depots(counted, scored)}. No forecast was made the "
            "night before."
        )
    actual, forecast = known["actual"].sum(), known["point"].sum()
    share = formatting.signed_percent(_ratio(forecast, actual), 0)
    sentence = (
        f"{name}: {formatting.orders(actual)} orders{_of_depots(known, scored)}, forecast "
        f"{formatting.orders(forecast)} ({share})."
    )
    worst = known.iloc[0]
    error = formatting.signed_percent(_ratio(worst["point"], worst["actual"]), 0)
    if error == "0 %":
        return sentence
    where = f"{worst['name']}, {formatting.orders(worst['actual'])} orders"
    if error == formatting.UNKNOWN:
        return f"{sentence} Furthest off: {where}, forecast {formatting.orders(worst['point'])}."
    direction = "high" if worst["point"] > worst["actual"] else "low"
    return f"{sentence} Furthest off: {where}, forecast {error.lstrip('+−')} too {direction}."


def _of_depots(counted: pd.DataFrame, scored: pd.DataFrame) -> str:
    """' of 3 of 24 depots', where some that were expected are not counted; else ''."""
    n_expected = int((scored["is_expected"] | scored.index.isin(counted.index)).sum())
    if len(counted) == n_expected:
        return ""
    return f" of {len(counted):,} of {formatting.count(n_expected, 'depot')}"


def caution(city_days: Iterable[CityDay]) -> str:
    """Says that the shortages rest on estimates, where they do; else ''."""
    cities = sorted({day.city for day in city_days if day.short and day.is_estimated})
    if not cities:
        return ""
    return (
        f"Vans of {_listed(cities)} are estimated: set vans and orders per van on the page "
        "“Plan”."
    )


def _shortages(
    city_days: Sequence[CityDay], names: Mapping[pd.Timestamp, str]
) -> list[Decision]:
    """One decision per day; `names` are the holidays and events by day."""
    by_day: dict[date, list[CityDay]] = {}
    for day in city_days:
        if day.short > 0:
            by_day.setdefault(day.day_on, []).append(day)
    ranked = sorted(by_day.items(), key=lambda item: (-_short(item[1]), item[0]))
    found = []
    for day_on, unsorted in ranked:
        own = sorted(unsorted, key=lambda day: (-day.short, day.city))
        places = [f"{day.city} {day.short:,}" for day in own[:MAX_NAMES]]
        if len(own) > MAX_NAMES:
            places.append(
                formatting.count(len(own) - MAX_NAMES, "more city", "more cities")
            )
        what = names.get(pd.Timestamp(day_on))
        event = f", {what}" if what else ""
        text = (
            f"{formatting.day(day_on)}{event}: "
            f"{formatting.count(_short(own), 'van')} short ({', '.join(places)})"
        )
        found.append(Decision(VANS, text, _link("plan", city=own[0].city)))
    return found


def _missing_data(week: pd.DataFrame, today: date, newest: date) -> list[Decision]:
    """One decision per city with missing data; those with most orders first."""
    depots = week.groupby("depot_id", sort=False).agg(
        name=("name", "first"),
        city=("city", "first"),
        last_on=("last_on", "first"),
        is_missing=("is_late", "first"),
        is_silent=("is_silent", "first"),
        orders=("point", "sum"),
    )
    depots["is_missing"] |= depots["is_silent"]
    sizes = depots.groupby("city").size()
    missing = depots[depots["is_missing"]]
    by_orders = missing.groupby("city")["orders"].sum().sort_values(ascending=False)
    return [
        _missing_in(
            str(city), missing[missing["city"] == city], sizes[city], today, newest
        )
        for city in by_orders.index
    ]


def _missing_in(
    city: str, depots: pd.DataFrame, n_depots: int, today: date, newest: date
) -> Decision:
    if len(depots) == 1:
        depot_id, depot = depots.index[0], depots.iloc[0]
        text = f"{depot['name']} ({city}): {_gap(depot['last_on'], today, newest)}"
        return Decision(DATA, text, _link("depot", depot=depot_id))
    who = (
        f"all {n_depots:,}"
        if len(depots) == n_depots
        else f"{len(depots):,} of {n_depots:,}"
    )
    text = (
        f"{city}: {_gap(depots['last_on'].max(), today, newest)} for {who} depots "
        f"({_listed(depots['name'])})"
    )
    return Decision(DATA, text, "pipeline")


def _gap(last_on: pd.Timestamp, today: date, newest: date) -> str:
    """'yesterday's orders are missing', or since when."""
    if pd.isna(last_on):
        return "no orders yet"
    if (newest - last_on.date()).days != 1:
        return f"no orders since {formatting.day(last_on)}"
    if newest == today - A_DAY:
        return "yesterday's orders are missing"
    return f"the orders of {formatting.day(newest)} are missing"


def _starting(events: pd.DataFrame, origin: date) -> pd.DataFrame:
    """Events that begin after the origin, with `period`: days in a row have the same."""
    keys = ["what", "is_holiday", "city"]
    in_order = events.sort_values([*keys, "day_on"])
    is_first = in_order.groupby(keys)["day_on"].diff().ne(A_DAY)
    in_order["period"] = is_first.cumsum()
    first_on = in_order.groupby("period")["day_on"].transform("min")
    return in_order[first_on > pd.Timestamp(origin)]


def _events(
    events: pd.DataFrame, week: pd.DataFrame, short_days: set[date]
) -> list[Decision]:
    """One decision per event and period of `_starting`; shortages name those of their days.

    Orders are told where the event is for every depot of its cities.
    """
    sizes = week.groupby("city")["depot_id"].nunique()
    keys = ["what", "is_holiday", "city", "period"]
    runs = events.groupby(keys, as_index=False).agg(
        first_on=("day_on", "min"), last_on=("day_on", "max"), depots=("depots", "max")
    )
    found = []
    keys = ["first_on", "last_on", "what", "is_holiday"]
    for key, own in runs.groupby(keys):
        first, last, what, is_holiday = cast(EventKey, key)
        if any(first.date() <= day <= last.date() for day in short_days):
            continue
        cities = list(own["city"])
        rows = week[week["city"].isin(cities) & week["target_on"].between(first, last)]
        text = f"{_period(first, last)}, {_event_name(what, is_holiday)}{_where(own, sizes)}"
        if not _is_partial(own, sizes):
            orders = formatting.orders(rows["point"].sum())
            text += f": {orders} orders planned{_versus_last_week(rows)}"
        found.append(Decision(EVENT, text, _link("plan", city=cities[0])))
    return found


def _where(cities: pd.DataFrame, sizes: pd.Series) -> str:
    """' in London', ' in London (1 of 8 depots)'; '' for the whole fleet."""
    depots, n_depots = cities["depots"].sum(), sizes.reindex(cities["city"]).sum()
    if depots >= sizes.sum():
        return ""
    is_partial = _is_partial(cities, sizes)
    part = f" ({depots:,} of {n_depots:,.0f} depots)" if is_partial else ""
    return f" in {_listed(cities['city'])}{part}"


def _is_partial(cities: pd.DataFrame, sizes: pd.Series) -> bool:
    """Whether an event is not for every depot of its cities."""
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
    origin = week["target_on"].min() - A_DAY
    found = [
        Decision(
            CHANGE,
            f"{row['name']} ({row['city']}): forecast "
            f"{formatting.signed_percent(row['revised'], 0)} "
            f"{formatting.since(row['before_on'], origin)} "
            f"({formatting.signed(round(row['difference']))} orders)",
            _link("depot", depot=str(depot_id)),
        )
        for depot_id, row in large.head(MAX_CHANGES).iterrows()
    ]
    more = len(large) - len(found)
    if more > 0:
        noun = formatting.count(more, "more depot")
        text = f"{noun} changed by {formatting.percent(MIN_CHANGE)} or more"
        found.append(Decision(CHANGE, text, _link("", first="Changed overnight")))
    return found


def _versus_last_week(rows: pd.DataFrame) -> str:
    """', +22 % vs last week'; '' where last week is not known."""
    known = rows.dropna(subset=["week_before"])
    ratio = _ratio(known["point"].sum(), known["week_before"].sum())
    if math.isnan(ratio):
        return ""
    return f", {formatting.signed_percent(ratio, 0)} vs last week"


def _ratio(value: float, base: float) -> float:
    return value / base - 1 if base > 0 else math.nan


def _short(days: Iterable[CityDay]) -> int:
    return sum(day.short for day in days)


def _period(first: pd.Timestamp, last: pd.Timestamp) -> str:
    if first == last:
        return formatting.day(first)
    return f"{formatting.day(first)} – {formatting.day(last)}"


def _event_name(what: str, is_holiday: bool) -> str:
    return what if is_holiday else formatting.event_name(what)


def _listed(names: Iterable[str]) -> str:
    """'Delft, Poplar and 3 more'."""
    every = sorted(set(names))
    shown = ", ".join(every[:MAX_NAMES])
    more = len(every) - MAX_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def _link(page: str, **query: str) -> str:
    return f"{page}?{urlencode(query)}"
