"""The form for the settings of a city, on the page Plan."""

import math
from dataclasses import replace
from functools import partial

import streamlit as st

from dashboard import queries
from dashboard.components import saved_change
from dashboard.components.planner_name import planner_name
from dashboard.planning import city_settings
from pipelines.planning import shift_times
from pipelines.planning.city_settings import CitySettings


def settings_form(settings: CitySettings) -> None:
    """The form for the settings of a city; saves them for everybody.

    The fields keep their values when a colleague saves meanwhile; the next Save is then
    refused, once.
    """
    state = saved_change.of_session().settings
    form = f"{settings.city} {state.n_saved}"
    when_opened = state.seen
    if when_opened is None or f"Vans {form}" not in st.session_state:
        when_opened = state.seen = settings
    with st.form(f"settings of {form}", border=False):
        entered = _settings_fields(when_opened, form)
        save = f"save settings {form}"
        planner = planner_name(st.session_state.get(save, False))
        is_clicked = st.form_submit_button("Save settings", type="primary", key=save)
    if state.may_save(is_clicked):
        kept = " Its vans stay estimated." if entered.has_estimated_vans else ""
        sentence = f"Saved: the settings of {settings.city}, for everybody.{kept}"
        write = partial(city_settings.save, entered, planner)
        wrong = city_settings.problems(entered, planner)
        state.save(write, sentence, wrong, partial(_with_newest_id, entered))
    else:
        state.tell(settings.city)


def _settings_fields(settings: CitySettings, form: str) -> CitySettings:
    n_orders = round(settings.orders_per_van)
    shown = {
        "Vans": settings.vans,
        "Orders per van per day": n_orders,
        "Service level, %": round(100 * settings.service_level),
        "Drivers per van": float(settings.drivers_per_van),
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        vans, orders, level, drivers = (
            _number(label, value, f"{label} {form}") for label, value in shown.items()
        )
        entered_shifts = st.text_input(
            "Shifts", value=settings.shifts, placeholder=f"such as {shift_times.DEFAULT_SHIFTS}", width=316,
            key=f"shifts {form}", help=shift_times.RULE,
        )  # fmt: skip
    st.caption("Drivers per van: over a whole day; at least one in each shift.")
    entered = replace(
        settings,
        service_level=level / 100,
        drivers_per_van=drivers,
        shifts=entered_shifts.strip(),
    )
    # Editing only other fields keeps the vans estimated; saving without any edit confirms them.
    is_kept = (vans, orders) == (settings.vans, n_orders) and entered != settings
    if settings.is_estimated and is_kept:
        return replace(entered, has_estimated_vans=True)
    entered = replace(entered, vans=None if math.isnan(vans) else int(vans))
    return replace(entered, orders_per_van=orders, has_estimated_vans=False)


def _number(label: str, value: float | None, key: str) -> float:
    """The number in a field that starts with `value`; NaN if it is emptied."""
    st.session_state.setdefault(key, value)
    step = 0.1 if isinstance(value, float) else 1
    number = st.number_input(label, value=None, step=step, width=150, key=key)
    return math.nan if number is None else float(number)


def _with_newest_id(entered: CitySettings) -> CitySettings:
    """The entered settings with the newest `settings_id`, so that they can replace the newest."""
    newest = city_settings.by_city(queries.freshness())[entered.city]
    return replace(entered, settings_id=newest.settings_id)
