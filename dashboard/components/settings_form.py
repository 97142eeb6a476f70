"""The form for the settings of a city, on the page Plan."""

import math
from dataclasses import replace
from functools import partial

import streamlit as st

from dashboard.components import saved_change, widgets
from dashboard.components.planner_name import planner_name
from dashboard.planning import city_settings, entered_changes, van_plan
from dashboard.planning.overrides import name_problem
from dashboard.queries.freshness import Freshness
from dashboard.text import formatting, plan_summaries
from pipelines.planning import shift_times
from pipelines.planning.city_settings import CitySettings
from pipelines.planning.van_plan import Plan


def settings_form(settings: CitySettings, plan: Plan, freshness: Freshness) -> None:
    """The form for the settings of a city, with a preview; saves them for everybody.

    A field that the planner has changed keeps its value when a colleague saves meanwhile; the next
    Save is then refused, once. `plan` is the city's.
    """
    state = saved_change.of_session().settings
    form = f"{settings.city} {state.n_saved}"
    when_opened = state.seen
    if when_opened is None or f"Vans {form}" not in st.session_state:
        when_opened = state.seen = settings
    entered, unsure = _settings_fields(when_opened, form), list[str]()
    words_of = plan_summaries.settings_words
    outside = city_settings.entry_problems(entered)
    save = f"save settings {form}"
    is_saving = st.session_state.get(save, False)
    # Problems of the saved settings, such as unknown vans, are not the entry's.
    is_new_problem = outside != city_settings.entry_problems(when_opened)
    if outside and is_new_problem and not is_saving:
        st.warning(widgets.bullets(outside), icon=":material/warning:")
    is_changed = words_of(vars(entered)) != words_of(vars(when_opened))
    if is_changed and not outside:
        _preview(entered, plan, freshness)
        unsure = _ask_if_sure(entered, when_opened, form)
    planner = planner_name(is_saving)
    with st.container(key="plan-save"):
        if state.may_save(save):
            kept = " Its vans stay estimated." if entered.has_estimated_vans else ""
            sentence = f"Saved: the settings of {settings.city}, for everybody.{kept}"
            write = partial(city_settings.save, entered, planner)
            state.save(write, sentence, outside + name_problem(planner) + unsure)
        elif state.tell(settings.city, is_begun=is_changed):
            return
        st.button("Save settings", type="primary", key=save)


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
        shifts = f"shifts {form}"
        widgets.fill(shifts, settings.shifts)
        entered_shifts = st.text_input(
            "Shifts", placeholder=f"usual: {shift_times.DEFAULT_SHIFTS}", width=316,
            key=shifts, help=shift_times.RULE,
        )  # fmt: skip
    st.caption(
        "Drivers per van over a whole day: each shift has at least one, so that 1 counts as 2 where "
        "there are two shifts. Once shifts are set, a day needs the vans of its fullest shift."
    )
    entered = replace(
        settings,
        service_level=level / 100,
        drivers_per_van=drivers,
        shifts=entered_shifts.strip(),
    )
    # Editing only other fields keeps the vans estimated; saving without any edit confirms them.
    is_same = vans == settings.vans or (math.isnan(vans) and settings.vans is None)
    is_kept = is_same and orders == n_orders and entered != settings
    if settings.is_estimated and is_kept:
        return replace(entered, has_estimated_vans=True)
    entered = replace(entered, vans=None if math.isnan(vans) else int(vans))
    return replace(entered, orders_per_van=orders, has_estimated_vans=False)


def _number(label: str, value: float | None, key: str) -> float:
    """The number in a field that starts with `value`; NaN if it is emptied."""
    widgets.fill(key, value)
    step = 0.1 if isinstance(value, float) else 1
    number = st.number_input(label, value=None, step=step, width=150, key=key)
    return math.nan if number is None else float(number)


def _preview(entered: CitySettings, plan: Plan, freshness: Freshness) -> None:
    """Shows the headline that the city's plan would have with the entered settings."""
    after = van_plan.plan_of(plan.depots, freshness, {entered.city: entered})
    sentences = formatting.escape_markdown(plan_summaries.overview(after))
    st.caption(f"**Preview:** {sentences}")


def _ask_if_sure(entered: CitySettings, before: CitySettings, form: str) -> list[str]:
    """Asks to confirm none, far more or far fewer vans; returns a refusal until it is ticked."""
    n_vans, n_before = entered.vans or 0, before.vans or 0
    is_none_left = n_before > n_vans == 0
    if not (is_none_left or (n_before and entered_changes.is_far(n_vans, n_before))):
        return []
    sentence = f"{entered.city} would have {formatting.count(n_vans, 'van')} instead of {n_before:,}."
    return widgets.refusals_unless_ticked(sentence, form)
