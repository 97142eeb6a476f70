"""The form for the vans of a city on a day: hire more, accept the risk, ask for help."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import streamlit as st

from dashboard import queries
from dashboard.components import plan_parts, running_day, saved_change, widgets
from dashboard.components.planner_name import planner_name
from dashboard.planning import city_settings, van_decisions, van_plan
from dashboard.planning.entered_changes import MAX_RATIO
from dashboard.planning.overrides import name_problem
from dashboard.queries.freshness import Freshness
from dashboard.text import formatting, plan_summaries
from pipelines.planning.city_settings import ACCEPT, ASK, HIRE, VanDecision
from pipelines.planning.van_plan import Plan
from pipelines.planning.words import DECIDED, decision_words

SAVED = "You have saved this already."
ACTIONS = {
    HIRE: "Hire",
    ACCEPT: "Accept the risk",
    ASK: "Ask for help",
    "": "Undecided",
}


def van_form(plan: Plan, freshness: Freshness, day: date | None) -> None:
    """The form for the vans of a city on a day, with a preview; saves for everybody.

    Args:
      plan: Plan of one city whose vans are known.
      freshness: Freshness of that plan.
      day: The day preselected; None for the first day to decide on.
    """
    days = {f"{row['target_on'].date()}": row for row in plan.cities.to_dict("records")}
    state = saved_change.of_session().vans
    name = str(plan.cities["city"].iloc[0])
    form = f"{name} {day} {state.n_saved}"
    # The preselected day does not change when a colleague decides on it.
    first = f"{day or plan_summaries.first_to_look_at(plan.cities)}"
    first = st.session_state.setdefault(f"day of vans {form}", first)
    labels = {each: _label(row) for each, row in days.items()}
    row = days[widgets.choose_from_url("Day", "day", labels, first, width=420)]
    chosen = row["target_on"].date()
    city = city_settings.by_city(freshness)[name]
    current = city.decision_on(chosen)
    # A colleague's decision must have been shown before it can be replaced.
    state.seen = state.seen or {}
    here = f"{form} {chosen}"
    seen = state.seen.setdefault(here, current.decision_id)
    st.markdown(formatting.escape_markdown(plan_summaries.shortage_sentence(row)))
    today = running_day.on_the_way(plan.cities, queries.clock(), freshness)
    if chosen in today:
        st.markdown(f"**Today:** {today[chosen]}")
    if row["made_by"]:
        by = plan_summaries.decided_by(row, queries.zone())
        st.markdown(formatting.escape_markdown(f"Now: {decision_words(row)} ({by})."))
    n_vans = max(city.vans or 0, current.off_road)
    is_saving = st.session_state.get(f"save vans {form}", False)
    entered, wrong = _fields(row, current, here, is_saving=is_saving)
    wrong = wrong or van_decisions.entry_problems(entered, n_vans)
    if wrong:
        st.warning(widgets.bullets(wrong), icon=":material/warning:")
    else:
        wrong = _ask_if_sure(entered, row, current, here)
    if entered != current and not wrong:
        _preview(entered, plan, freshness, row)
    planner = planner_name(is_saving)
    with st.container(key="plan-save"):
        if state.may_save(f"save vans {form}"):
            decision = replace(entered, decision_id=seen)
            wrong += name_problem(planner)
            wrong += [SAVED] if (entered, planner) == (current, current.made_by) else []
            words = decision_words(vars(decision))
            sentence = f"Saved: {name}, {formatting.day(chosen)}: {words}."
            write = partial(van_decisions.save, decision, planner)
            state.save(write, sentence, wrong)
        elif state.tell(name, chosen, entered != current):
            every = van_plan.fleet_plan(freshness).cities
            if row["kind"]:
                plan_parts.next_decision(every, None, name)
            return
        st.button("Save decision", type="primary", key=f"save vans {form}")


def _label(day: Mapping[Hashable, Any]) -> str:
    """'Fri 27 Nov · 23 short'."""
    decided = decision_words(day) if day["kind"] else ""
    short = f"{day['short']:,} short" if day["short"] else ""
    return " · ".join(filter(None, [formatting.day(day["target_on"]), short, decided]))


def _fields(
    day: Mapping[Hashable, Any], current: VanDecision, key: str, *, is_saving: bool
) -> tuple[VanDecision, list[str]]:
    """Shows the fields; returns the decision entered, and sentences on numbers that are not whole."""
    lacking = max(int(day["at_pace"] + day["extra"] - day["vans"]), 0)
    keys = f"decision {key}", f"extra {key}"
    widgets.keep(*keys, f"off {key}", f"note {key}")
    first, forms = current.kind, saved_change.of_session()
    # Below the confirmation of a save, no decision is preselected.
    if lacking and not (forms.vans.is_new or forms.newest.is_new):
        first = first or HIRE
    st.session_state.setdefault(keys[0], first)
    # A new shortage in the plan refills the number; a change of today's pace does not.
    source = day["lacking"], current.extra
    suggested = current.extra or (lacking and max(day["lacking"], lacking))
    widgets.fill(keys[1], float(suggested), source, may_refill=not is_saving)
    widgets.fill(f"off {key}", float(current.off_road))
    # A colleague's note belongs to their decision.
    is_same = st.session_state[keys[0]] == current.kind
    widgets.fill(f"note {key}", current.note, may_refill=is_same)
    offers = plan_summaries.offers(day)
    if 0 < lacking != day["lacking"]:
        offers = {**offers, lacking: f"Hire {lacking:,}: enough at today's pace"}
    with st.container(horizontal=True):
        for vans, label in offers.items():
            hire = {keys[0]: HIRE, keys[1]: float(vans)}
            st.button(label, on_click=st.session_state.update, args=(hire,))
    labels = ACTIONS | ({"": "Take back"} if current.kind else {})
    kind = st.segmented_control(
        "Decision", list(ACTIONS), required=True, key=keys[0],
        format_func=labels.__getitem__,
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # Other decisions keep hired vans. A bounded field would silently restore its previous number.
        extra = float(current.extra) if kind else 0.0
        if kind == HIRE:
            extra = _number("Hired vans", keys[1])
        off_road = _number("Off the road", f"off {key}")
        note = st.text_input(
            "Note", max_chars=500, width=420, key=f"note {key}",
            placeholder="From whom, at what cost" if kind == HIRE else None,
        )  # fmt: skip
    if kind == ASK:
        st.caption(
            "No message is sent: the pages show that you ask for help, and your note."
        )
    # A note belongs to a decision; without a decision it is dropped.
    told = note.strip() if kind or off_road else ""
    broken = [vans for vans in (extra, off_road) if not vans.is_integer()]
    entered = replace(
        current, kind=kind or "", extra=int(extra), off_road=int(off_road), note=told
    )
    return entered, [f"{vans:.12g} is not a whole number of vans." for vans in broken]


def _number(label: str, key: str) -> float:
    """The number in a field, 0 if it is emptied; a field of whole numbers would cut 2.5 to 2."""
    number = st.number_input(
        label, value=None, step=1.0, format="%g", width=150, key=key
    )
    return number or 0.0


def _preview(
    entered: VanDecision,
    plan: Plan,
    freshness: Freshness,
    before: Mapping[Hashable, Any],
) -> None:
    """Shows how the entered decision would change a day; `before` is the day's row without it."""
    own = city_settings.by_city(freshness)[entered.city]
    changed = replace(own, decisions={**own.decisions, entered.target_on: entered})
    after = van_plan.plan_of(plan.depots, freshness, {entered.city: changed}).cities
    [day] = after[after["target_on"].dt.date == entered.target_on].to_dict("records")
    sentence = plan_summaries.shortage_sentence(day)
    if entered.kind in DECIDED:
        sentence += f" {formatting.display_name(DECIDED[entered.kind])}."
    if day["drivers"] != before["drivers"]:
        of_all = "" if plan.shifts.empty else ", all shifts"
        out = formatting.count(int(min(day["vans"], day["needed"])), "van")
        sentence += f" Drivers to roster{of_all}, for {out} that the plan sends out: "
        sentence += f"{before['drivers']:,.0f} → {day['drivers']:,.0f}."
    if day["at_pace"] != day["needed"]:
        short = f"{day['short_at_pace']:,} still short"
        pace = "enough" if day["is_enough"] else short
        sentence = f"{pace} at today's pace. By the plan: {sentence}"
    st.caption(f"**Preview:** {formatting.escape_markdown(sentence)}")


def _ask_if_sure(
    entered: VanDecision, day: Mapping[Hashable, Any], current: VanDecision, key: str
) -> list[str]:
    """Asks the planner to confirm far too many hired vans; returns a refusal until it is ticked."""
    n_vans = int(day["vans"] - day["extra"]) + entered.extra
    if entered.extra <= current.extra or n_vans <= MAX_RATIO * day["needed"]:
        return []
    sentence = f"That day would have {formatting.count(n_vans, 'van')} and needs {day['needed']:,}."
    return widgets.refusals_unless_ticked(sentence, key)
