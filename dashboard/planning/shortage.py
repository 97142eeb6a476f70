"""Vans needed and available in every city on every day ahead."""

import math
from dataclasses import dataclass
from datetime import date

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.planning import city_settings, planning
from dashboard.queries.freshness import Freshness


@dataclass(frozen=True)
class CityDay:
    """The plan of a city on a day.

    Attributes:
      city: Name of the city.
      day_on: A day ahead that is forecast.
      orders: Planned orders: the planners' where there are any, else the model's.
      vans_needed: Vans with which all of its orders are carried at its service level.
      vans_available: Vans of the city; None if not known.
      short: Vans needed beyond those available: above 0 where `delivery_probability` is below
        the service level; 0 where the vans available are not known.
      delivery_probability: Probability that the vans available carry all orders, if they may
        be moved between the city's depots that morning; None where they are not known.
      is_estimated: Whether the settings of the city are estimated: nobody has saved any.
    """

    city: str
    day_on: date
    orders: float
    vans_needed: int
    vans_available: int | None
    short: int
    delivery_probability: float | None
    is_estimated: bool


@st.cache_data(max_entries=4, show_spinner=False)
def city_days(freshness: Freshness) -> list[CityDay]:
    """Every city's days ahead, by city and day; requires a forecast."""
    settings = city_settings.by_city(freshness)
    return [
        CityDay(
            city=row["city"],
            day_on=row["target_on"].date(),
            orders=float(row["point"]),
            vans_needed=int(row["needed"]),
            vans_available=settings[row["city"]].vans,
            short=int(row["short"]),
            delivery_probability=_known(row["delivery_probability"]),
            is_estimated=settings[row["city"]].is_estimated,
        )
        for row in totals(freshness).to_dict("records")
    ]


@st.cache_data(max_entries=4, show_spinner=False)
def plan(freshness: Freshness) -> pd.DataFrame:
    """`planning.make_plan` of the whole fleet with its settings; requires a forecast."""
    week = queries.fleet_week(freshness)
    return planning.make_plan(week, city_settings.by_city(freshness))


@st.cache_data(max_entries=4, show_spinner=False)
def totals(freshness: Freshness) -> pd.DataFrame:
    """`planning.by_city` of the whole fleet; requires a forecast."""
    settings = city_settings.by_city(freshness)
    return planning.by_city(plan(freshness), settings, queries.city_bands(freshness))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
