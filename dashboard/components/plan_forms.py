"""The forms of the page Plan."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard.auth import session
from dashboard.planning import overrides, planning
from dashboard.planning.overrides import Override
from dashboard.planning.planning import BY_COST, BY_LEVEL, Assumptions
from dashboard.text import formatting as say

EVERY = ""
"""Stands for every depot of the city."""
SAID = "plan: what was done"


def ask_assumptions(here: pd.DataFrame, city: str) -> Assumptions:
    """What the plan rests on beside the forecast; it stands in the URL.

    Args:
      here: The city's rows of `queries.fleet_week`.
      city: Its name.
    """
    asks = st.expander("Assumptions", icon=":material/tune:")
    with asks.container(horizontal=True, vertical_alignment="bottom", key="plan-asks"):
        usual, own = planning.usual_capacity(here), planning.own_vans(here)
        capacity = _number("Orders per van per day", "carries", usual, least=1)
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
        per_van = _number("Cost per idle van per day", "idle", 120, least=1)
    return Assumptions(capacity, vans, None, per_order, per_van, drivers)


def ask_override(here: pd.DataFrame, city: str) -> Sequence[Override]:
    """The form in which a planner changes, takes back, locks or unlocks.

    Args:
      here: The city's rows of `queries.fleet_week`.
      city: Its name.

    Returns:
      What was asked for just now; empty otherwise.

    Raises:
      BadInputError: the form was sent without a reason or a name.
    """
    done = st.session_state.pop(SAID, None)
    if done:
        st.success(done, icon=":material/check:")
    places = here.drop_duplicates("depot_id")
    names = dict(zip(places["depot_id"], places["name"], strict=True))
    offered = names | {EVERY: f"All depots in {city}"}
    login = session.planner()
    with st.form("override", width=560):
        action = st.selectbox(
            "Action", list(overrides.ACTIONS), format_func=overrides.ACTIONS.__getitem__
        )
        depot = st.selectbox("Depot", list(offered), format_func=offered.__getitem__)
        days = list(here["target_on"].dt.date.unique())
        day = st.selectbox("Day", days, format_func=say.day)
        orders = st.number_input(
            "Orders (for “Set orders”)", min_value=0,
            max_value=overrides.MOST_ORDERS, value=None, step=1,
        )  # fmt: skip
        reason = st.text_input("Reason", max_chars=overrides.LONGEST_REASON)
        planner = login or st.text_input("Your name", max_chars=overrides.LONGEST_NAME)
        sent = st.form_submit_button("Save", type="primary")
    if not sent:
        return []
    depots = list(names) if depot == EVERY else [depot]
    return [Override(each, day, action, orders, reason, planner) for each in depots]


def say_next_time(asked: Sequence[Override]) -> None:
    """Keeps the sentence that tells what was done until the page runs again."""
    first = asked[0]
    of = "" if len(asked) == 1 else f" for {say.count(len(asked), 'depot')}"
    st.session_state[SAID] = (
        f"Saved: {say.day(first.day_on)} {overrides.DONE[first.action]}{of}."
    )


def _vans(city: str, own: int | None) -> int | None:
    return st.number_input(
        f"Vans in {say.plain(city)}", min_value=0, max_value=100_000, value=own, step=1,
        key=f"vans in {city}", bind="query-params", width=200,
        placeholder="As many as needed",
    )  # fmt: skip


def _number(
    label: str, key: str, usual: int, least: int = 0, most: int = 100_000
) -> int:
    return st.number_input(
        label, min_value=least, max_value=most, value=usual, step=1, key=key,
        bind="query-params", width=200,
    )  # fmt: skip
