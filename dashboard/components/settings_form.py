"""The form for the settings of a city, on the page Plan."""

from dataclasses import replace

import streamlit as st

from dashboard import queries
from dashboard.components import saved_change, widgets
from dashboard.components.planner_name import planner_name
from dashboard.planning import city_settings
from forecaster.errors import BadInputError
from pipelines.planning import shift_times
from pipelines.planning.city_settings import CitySettings


def settings_form(settings: CitySettings) -> None:
    """The form for the settings of a city; saves them for everybody.

    What was first shown, and entered since, stays in the fields when a colleague saves
    meanwhile; Save is refused then, once.
    """
    state = saved_change.of_session().settings
    form = f"{settings.city} {state.n_saved}"
    when_opened = state.seen
    if when_opened is None or f"vans {form}" not in st.session_state:
        when_opened = state.seen = settings
    with st.form(f"settings of {form}", border=False):
        entered = _settings_fields(when_opened, form)
        save = f"save settings {form}"
        planner = planner_name(st.session_state.get(save, False))
        is_clicked = st.form_submit_button("Save settings", type="primary", key=save)
    if state.may_save(is_clicked):
        _save(entered, planner)
    else:
        state.tell(settings.city)


def _settings_fields(settings: CitySettings, form: str) -> CitySettings:
    # What is estimated may lie beyond what can be saved.
    most_vans, most_orders = city_settings.MAX_VANS, city_settings.MAX_ORDERS_PER_VAN
    shown = (
        None if settings.vans is None else min(settings.vans, most_vans),
        min(round(settings.orders_per_van), most_orders),
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        vans = st.number_input(
            "Vans", step=1, width=160,
            value=shown[0], key=f"vans {form}",
        )  # fmt: skip
        capacity = st.number_input(
            "Orders per van per day", step=1, width=200, value=shown[1], key=f"orders per van {form}",
        )  # fmt: skip
        level = st.number_input(
            "Service level, %", step=1, width=160,
            value=round(100 * settings.service_level), key=f"service level {form}",
            help="Share of days on which the city's vans are to carry all of its orders.",
        )  # fmt: skip
        drivers = st.number_input(
            "Drivers per van", step=0.1, width=160, value=float(settings.drivers_per_van),
            key=f"drivers per van {form}",
        )  # fmt: skip
        entered_shifts = st.text_input(
            "Shifts", value=settings.shifts, placeholder=shift_times.DEFAULT_SHIFTS, width=200,
            key=f"shifts {form}", help=shift_times.RULE,
        )  # fmt: skip
    entered = replace(
        settings,
        service_level=level / 100,
        drivers_per_van=drivers,
        shifts=entered_shifts.strip(),
    )
    # Who changes only what else there is says nothing about estimated vans.
    is_kept = (vans, capacity) == shown and entered != settings
    if settings.is_estimated and is_kept:
        return replace(entered, has_estimated_vans=True)
    return replace(
        entered, vans=vans, orders_per_van=float(capacity), has_estimated_vans=False
    )


def _save(settings: CitySettings, planner: str) -> None:
    wrong = city_settings.problems(settings, planner)
    if wrong:
        widgets.refusal(saved_change.NOT_SAVED, wrong)
        return
    state = saved_change.of_session().settings
    try:
        city_settings.save(settings, planner)
    except BadInputError as error:
        # The page tells the newest settings above the form from now on.
        queries.freshness.clear()
        newest = city_settings.by_city(queries.freshness())[settings.city]
        seen = replace(settings, settings_id=newest.settings_id)
        state.refuse(str(error), seen=seen)
    kept = " Its vans stay estimated." if settings.has_estimated_vans else ""
    state.confirm(f"Saved: the settings of {settings.city}, for everybody.{kept}")
