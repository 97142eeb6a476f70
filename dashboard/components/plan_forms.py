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


def assumptions_form(here: pd.DataFrame, city: str) -> Assumptions:
    """The form for the plan's assumptions; its values are URL parameters.

    Args:
      here: The city's rows of `queries.fleet_week`.
      city: Name of the city.
    """
    panel = st.expander("Assumptions", icon=":material/tune:")
    with panel.container(horizontal=True, vertical_alignment="bottom", key="plan-asks"):
        default, own = planning.default_capacity(here), planning.known_vans(here)
        capacity = _number("Orders per van per day", "carries", default, minimum=1)
        vans = _vans(city, own)
        drivers = st.number_input(
            "Drivers per van", min_value=1.0, max_value=5.0, value=1.0, step=0.1,
            key="drivers", bind="query-params", width=160,
        )  # fmt: skip
        by = st.segmented_control(
            "Plan by", [BY_LEVEL, BY_COST], default=BY_LEVEL, required=True, key="by",
            bind="query-params",
        )  # fmt: skip
        if by == BY_LEVEL:
            level = _number("Service level, %", "level", 90, 50, 99)
            return Assumptions(capacity, vans, level / 100, drivers_per_van=drivers)
        per_order = _number("Cost per undelivered order", "order", 5)
        per_van = _number("Cost per idle van per day", "idle", 120, minimum=1)
    return Assumptions(capacity, vans, None, per_order, per_van, drivers)


def override_form(here: pd.DataFrame, city: str) -> Sequence[Override]:
    """The form for an override: set, undo, lock or unlock.

    Args:
      here: The city's rows of `queries.fleet_week`.
      city: Name of the city.

    Returns:
      The submitted overrides, one per depot; empty if nothing was submitted.

    Raises:
      BadInputError: the reason or the name is missing.
    """
    confirmation = st.session_state.pop(CONFIRMATION, None)
    if confirmation:
        st.success(confirmation, icon=":material/check:")
    places = here.drop_duplicates("depot_id")
    names = dict(zip(places["depot_id"], places["name"], strict=True))
    offered = names | {ALL_DEPOTS: f"All depots in {city}"}
    login = session.planner_name()
    with st.form("override", width=560):
        action = st.selectbox(
            "Action", list(overrides.ACTIONS), format_func=overrides.ACTIONS.__getitem__
        )
        depot = st.selectbox("Depot", list(offered), format_func=offered.__getitem__)
        days = list(here["target_on"].dt.date.unique())
        day = st.selectbox("Day", days, format_func=formatting.day)
        orders = st.number_input(
            "Orders (for “Set orders”)", min_value=0,
            max_value=overrides.MAX_ORDERS, value=None, step=1,
        )  # fmt: skip
        reason = st.text_input("Reason", max_chars=overrides.MAX_REASON_LENGTH)
        planner = login or st.text_input(
            "Your name", max_chars=overrides.MAX_NAME_LENGTH
        )
        sent = st.form_submit_button("Save", type="primary")
    if not sent:
        return []
    depots = list(names) if depot == ALL_DEPOTS else [depot]
    return [Override(each, day, action, orders, reason, planner) for each in depots]


def store_confirmation(saved: Sequence[Override]) -> None:
    """Stores the confirmation to show when the page reruns."""
    first = saved[0]
    of = "" if len(saved) == 1 else f" for {formatting.count(len(saved), 'depot')}"
    st.session_state[CONFIRMATION] = (
        f"Saved: {formatting.day(first.day_on)} {overrides.DONE[first.action]}{of}."
    )


def _vans(city: str, own: int | None) -> int | None:
    return st.number_input(
        f"Vans in {formatting.escape_markdown(city)}", min_value=0, max_value=100_000, value=own, step=1,
        key=f"vans in {city}", bind="query-params", width=200,
        placeholder="As many as needed",
    )  # fmt: skip


def _number(
    label: str, key: str, default: int, minimum: int = 0, maximum: int = 100_000
) -> int:
    return st.number_input(
        label, min_value=minimum, max_value=maximum, value=default, step=1, key=key,
        bind="query-params", width=200,
    )  # fmt: skip
