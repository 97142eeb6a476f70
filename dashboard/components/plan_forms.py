"""The forms of the page Plan."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard.auth import session
from dashboard.planning import overrides, planning
from dashboard.planning.overrides import Override
from dashboard.planning.planning import BY_COST, BY_LEVEL, Assumptions
from dashboard.text import formatting

ALL_DEPOTS = ""
"""Option that selects every depot of the city."""
CONFIRMATION = "plan confirmation"
MAX_NUMBER = 100_000


def assumptions_form(week: pd.DataFrame, city: str) -> Assumptions:
    """The form for the assumptions of a city's plan; its values are URL parameters."""
    expander = st.expander("Assumptions", icon=":material/tune:")
    with expander.container(
        horizontal=True, vertical_alignment="bottom", key="plan-asks"
    ):
        default = planning.default_capacity(week)
        capacity = _number("Orders per van per day", "carries", default, minimum=1)
        vans = st.number_input(
            f"Vans in {formatting.escape_markdown(city)}", min_value=0,
            max_value=MAX_NUMBER, value=planning.total_vans(week), step=1,
            key=f"vans in {city}", bind="query-params", width=200,
            placeholder="As many as needed",
        )  # fmt: skip
        drivers = st.number_input(
            "Drivers per van", min_value=1.0, max_value=5.0, value=1.0, step=0.1,
            key="drivers", bind="query-params", width=160,
        )  # fmt: skip
        goal = st.segmented_control(
            "Plan by", [BY_LEVEL, BY_COST], default=BY_LEVEL, required=True, key="by",
            bind="query-params",
        )  # fmt: skip
        if goal == BY_LEVEL:
            level = _number("Service level, %", "level", 90, 50, 99)
            return Assumptions(capacity, vans, level / 100, drivers_per_van=drivers)
        per_order = _number("Cost per undelivered order", "order", 5)
        per_van = _number("Cost per idle van per day", "idle", 120, minimum=1)
    return Assumptions(capacity, vans, None, per_order, per_van, drivers)


def _number(
    label: str, key: str, default: int, minimum: int = 0, maximum: int = MAX_NUMBER
) -> int:
    return st.number_input(
        label, min_value=minimum, max_value=maximum, value=default, step=1, key=key,
        bind="query-params", width=200,
    )  # fmt: skip


def override_form(week: pd.DataFrame, city: str) -> None:
    """The form for an override of a city's day; saves it and reruns the page.

    Raises:
      BadInputError: the reason or the name is missing, or the database refused it.
    """
    confirmation = st.session_state.pop(CONFIRMATION, None)
    if confirmation:
        st.success(confirmation, icon=":material/check:")
    depots = week.drop_duplicates("depot_id")
    names = dict(zip(depots["depot_id"], depots["name"], strict=True))
    options = names | {ALL_DEPOTS: f"All depots in {city}"}
    with st.form("override", width=560):
        action = st.selectbox(
            "Action", list(overrides.ACTIONS), format_func=overrides.ACTIONS.__getitem__
        )
        depot = st.selectbox("Depot", list(options), format_func=options.__getitem__)
        days = list(week["target_on"].dt.date.unique())
        day = st.selectbox("Day", days, format_func=formatting.day)
        orders = st.number_input(
            "Orders (for “Set orders”)", min_value=0,
            max_value=overrides.MAX_ORDERS, value=None, step=1,
        )  # fmt: skip
        reason = st.text_input("Reason", max_chars=overrides.MAX_REASON_LENGTH)
        planner = session.planner_name() or st.text_input(
            "Your name", max_chars=overrides.MAX_NAME_LENGTH
        )
        is_submitted = st.form_submit_button("Save", type="primary")
    if is_submitted:
        chosen = list(names) if depot == ALL_DEPOTS else [depot]
        _save([Override(each, day, action, orders, reason, planner) for each in chosen])


def _save(changes: Sequence[Override]) -> None:
    """Saves overrides of one day, and reruns the page, which then confirms it."""
    overrides.add(changes)
    of = f" for {formatting.count(len(changes), 'depot')}" if len(changes) > 1 else ""
    day, done = formatting.day(changes[0].day_on), overrides.DONE[changes[0].action]
    st.session_state[CONFIRMATION] = f"Saved: {day} {done}{of}."
    st.rerun()
