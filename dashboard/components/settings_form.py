"""The form for the settings of a city, on the page Plan."""

from dataclasses import replace

import streamlit as st

from dashboard import queries
from dashboard.components import saved_change, widgets
from dashboard.components.planner_name import planner_name
from dashboard.planning import city_settings, shift_times
from dashboard.text import formatting
from forecaster.errors import BadInputError
from pipelines.planning.city_settings import CitySettings


def settings_form(settings: CitySettings, *, is_open: bool) -> None:
    """The form for the settings of a city; saves them for everybody.

    What was first shown, and entered since, stays in the fields when a colleague saves
    meanwhile; Save is refused then, once.
    """
    forms = saved_change.of_session()
    _tell_of_settings(forms)
    form = f"{settings.city} {forms.n_settings_saved}"
    when_opened = forms.settings_when_opened
    if when_opened is None or f"vans {form}" not in st.session_state:
        when_opened = forms.settings_when_opened = settings
    title = formatting.escape_markdown(settings.city)
    expander = st.expander(
        f"Settings of {title}", expanded=is_open, icon=":material/tune:"
    )
    with expander.form(f"settings of {form}", border=False):
        entered = _settings_fields(when_opened, form)
        planner = planner_name("settings")
        if st.form_submit_button("Save settings"):
            _save_settings(entered, planner)


def _tell_of_settings(forms: saved_change.Forms) -> None:
    """The confirmation or the refusal of the run before."""
    if forms.settings_saved:
        st.success(forms.settings_saved, icon=":material/check:")
        forms.settings_saved = ""
    if forms.settings_refusal:
        widgets.refusal(saved_change.NOT_SAVED, [forms.settings_refusal])
        forms.settings_refusal = ""


def _settings_fields(settings: CitySettings, form: str) -> CitySettings:
    # What is estimated may lie beyond what can be saved.
    most_vans, most_orders = city_settings.MAX_VANS, city_settings.MAX_ORDERS_PER_VAN
    with st.container(horizontal=True, vertical_alignment="bottom"):
        vans = st.number_input(
            "Vans", min_value=0, max_value=most_vans, step=1, width=160,
            value=None if settings.vans is None else min(settings.vans, most_vans),
            key=f"vans {form}",
        )  # fmt: skip
        capacity = st.number_input(
            "Orders per van per day", min_value=1, step=1, width=200,
            max_value=most_orders,
            value=min(round(settings.orders_per_van), most_orders), key=f"orders per van {form}",
        )  # fmt: skip
        level = st.number_input(
            "Service level, %", min_value=50, max_value=99, step=1, width=160,
            value=round(100 * settings.service_level), key=f"service level {form}",
            help="Share of days on which a depot's vans are to carry all of its orders.",
        )  # fmt: skip
        drivers = st.number_input(
            "Drivers per van", min_value=1.0, max_value=city_settings.MAX_DRIVERS,
            step=0.1, width=160, value=float(settings.drivers_per_van),
            key=f"drivers per van {form}",
        )  # fmt: skip
        entered_shifts = st.text_input(
            "Shifts", value=settings.shifts, placeholder=shift_times.DEFAULT_SHIFTS, width=200,
            key=f"shifts {form}", help=shift_times.RULE,
        )  # fmt: skip
    return replace(
        settings,
        vans=vans,
        orders_per_van=float(capacity),
        service_level=level / 100,
        drivers_per_van=drivers,
        shifts=entered_shifts.strip(),
    )


def _save_settings(settings: CitySettings, planner: str) -> None:
    wrong = city_settings.problems(settings, planner)
    if wrong:
        widgets.refusal(saved_change.NOT_SAVED, wrong)
        return
    forms = saved_change.of_session()
    name = formatting.escape_markdown(settings.city)
    try:
        city_settings.save(settings, planner)
    except BadInputError as error:
        # The page tells the newest settings above the form from now on.
        queries.freshness.clear()
        newest = city_settings.by_city(queries.freshness())[settings.city]
        forms.settings_when_opened = replace(settings, settings_id=newest.settings_id)
        forms.settings_refusal = str(error)
    else:
        forms.settings_saved = f"Saved: the settings of {name}, for everybody."
        forms.n_settings_saved += 1
    st.rerun()
