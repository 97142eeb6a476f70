"""The settings that a city is planned with: saved by a planner, or estimated."""

import math
from collections.abc import Iterable

import streamlit as st

from dashboard import queries
from dashboard.planning import overrides
from dashboard.planning.overrides import name_problem
from dashboard.queries.freshness import Freshness
from pipelines.planning import days_ahead, shift_times
from pipelines.planning.city_settings import CitySettings, in_force

SAVE = (
    "select save_city_settings(:city, :vans, :orders_per_van, :service_level, "
    ":drivers_per_van, :shifts, :planner, :settings_id)"
)
MAX_VANS = MAX_ORDERS_PER_VAN = 100_000
MIN_LEVEL, MAX_LEVEL = 0.5, 0.99
MAX_DRIVERS = 5.0


@st.cache_data(max_entries=4, show_spinner=False)
def by_city(freshness: Freshness) -> dict[str, CitySettings]:
    """The settings of every city with forecast depots; requires a forecast."""
    tables = (
        days_ahead.busy_day_orders,
        days_ahead.city_settings,
        days_ahead.van_decisions,
    )
    rows = (queries.read_table(table, freshness.shown) for table in tables)
    return in_force(queries.fleet_week(freshness), *rows)


def save(settings: CitySettings, planner: str) -> None:
    """Saves the settings of a city, without estimated vans; raises as `overrides.save`.

    `settings_id` is of the settings that the planner saw; saving fails if newer ones exist.
    """
    unset: dict[str, None] = {}
    if settings.has_estimated_vans:
        unset = {"vans": None, "orders_per_van": None}
    wrong = entry_problems(settings) + name_problem(planner)
    overrides.save(SAVE, wrong, planner=planner, **(vars(settings) | unset))


def entry_problems(settings: CitySettings) -> list[str]:
    """A sentence for each number missing or out of range, and for wrong shifts."""
    level = 100 * settings.service_level
    ranges = [
        ("Vans", settings.vans, 0, MAX_VANS),
        ("Orders per van", settings.orders_per_van, 1, MAX_ORDERS_PER_VAN),
        ("Service level in %", level, 100 * MIN_LEVEL, 100 * MAX_LEVEL),
        ("Drivers per van", settings.drivers_per_van, 1, MAX_DRIVERS),
    ]
    wrong = outside(ranges[2:] if settings.has_estimated_vans else ranges)
    text = settings.shifts.strip()
    if not shift_times.is_valid(text):
        wrong.append(f"Shifts are “{text}”. {shift_times.RULE}")
    return wrong


def outside(ranges: Iterable[tuple[str, float | None, float, float]]) -> list[str]:
    """'Vans: enter 0 or more, not −4.' for each name, number, least and most that do not fit."""
    wrong = []
    for name, number, least, most in ranges:
        if number is not None and least <= number <= most:
            continue
        rule = f"{most:,g} or less" if (number or 0) > most else f"{least:,g} or more"
        typed = "" if number is None or math.isnan(number) else f", not {number:,.10g}"
        wrong.append(f"{name}: enter {rule}{typed}.".replace("-", "−"))
    return wrong
