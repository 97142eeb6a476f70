"""Holidays and events of days, in words; no I/O."""

from collections.abc import Collection, Mapping
from typing import cast

import pandas as pd

from dashboard.text import formatting


def day_names(
    events: pd.DataFrame, n_cities: int, city: str = "", *, with_cities: bool = True
) -> dict[pd.Timestamp, str]:
    """The holidays and events of each day in words: 'Black Friday · Promotion in London'.

    Args:
      events: `queries.fleet_events`.
      n_cities: Cities of the fleet; an event of fewer is followed by their names.
      city: The only city that matters; '' for all.
      with_cities: Whether the names of cities are wanted.
    """
    if city:
        events = events[events["city"] == city]
    # No event is of fewer than 0 cities, so that none are named.
    n_all = n_cities if with_cities and not city else 0
    return {
        cast(pd.Timestamp, day): names(own, set(own["city"]), n_all)
        for day, own in events.groupby("day_on")
    }


def day_ranges(name_of: Mapping[pd.Timestamp, str]) -> list[str]:
    """The days with their names, days in a row of the same name together.

    'Tue 24 Nov – Thu 26 Nov: Promotion in Rotterdam'. `name_of` is from `day_names`.
    """
    ranges: list[tuple[pd.Timestamp, pd.Timestamp, str]] = []
    for day in sorted(name_of):
        first, last, name = ranges[-1] if ranges else (day, day, "")
        if name == name_of[day] and day - last == formatting.A_DAY:
            ranges[-1] = (first, day, name)
        else:
            ranges.append((day, day, name_of[day]))
    return [
        f"{formatting.day_range(first, last)}: {name}" for first, last, name in ranges
    ]


def names(events: pd.DataFrame, cities: Collection[str], n_cities: int) -> str:
    """The holidays and events of a day in some cities: 'Black Friday · Promotion in London'.

    Those of the whole fleet are not followed by cities.
    """
    described = []
    for key, own in events.groupby(["what", "is_holiday"]):
        here = sorted(own.loc[own["city"].isin(list(cities)), "city"])
        if here:
            name = formatting.occasion_name(*cast(tuple[str, bool], key))
            where = f" in {formatting.listed(here)}" if len(own) < n_cities else ""
            described.append(name + where)
    return " · ".join(described)
