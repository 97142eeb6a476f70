"""The form for changes of planned orders, on the page Plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import queries
from dashboard.components import saved_change, widgets
from dashboard.components.planner_name import planner_name
from dashboard.planning import entered_changes, overrides, van_plan
from dashboard.planning.entered_changes import SET, WITHDRAW
from dashboard.planning.overrides import Cell, Change
from dashboard.queries.freshness import Freshness
from dashboard.text import change_summaries, formatting

ACTIONS = {SET: "Set orders", WITHDRAW: "Back to the model"}
REASONS = (
    "Promotion", "Event nearby", "Weather", "Customer announced it", "Strike or staff",
    "Roads or access", "Model looks wrong",
)  # fmt: skip
KEYBOARD = (Path(__file__).parent / "plan_form.js").read_text()
"""Puts the cursor into the number field; the first Enter shows the preview, the second saves. The
text is constant, because `server.asgi` allows the script by its hash."""
ALL_DEPOTS = "all"
"""Option that selects every depot of the city."""


@dataclass(frozen=True)
class _Entry:
    """The values entered in the form; `chosen` are rows of `Plan.depots`."""

    action: str
    chosen: pd.DataFrame
    number: str
    reason: str
    planner: str

    def changes(self, cells: Sequence[Cell]) -> list[Change]:
        """The changes of the cells; none while the number cannot be parsed."""
        adjustment = entered_changes.parse(self.number)
        if self.action == WITHDRAW:
            return entered_changes.changes(cells, None)
        return entered_changes.changes(cells, adjustment) if adjustment else []

    def number_problems(self, changes: Sequence[Change]) -> list[str]:
        """Sentences on a number that cannot be parsed or is out of range."""
        wrong = entered_changes.problem(self.number) if self.action == SET else ""
        return ([wrong] if wrong else []) + overrides.range_problems(changes)


def change_form(city: str, freshness: Freshness) -> None:
    """The form that changes a city's planned orders, with a preview; saves each change once.

    Its depot and days are kept in the URL.
    """
    week = van_plan.city_plan(city, freshness).depots
    names = dict(zip(week["depot_id"], week["name"], strict=True))
    state = saved_change.of_session().orders
    form = f"{city} {state.n_saved}"
    is_new_form = f"action {form}" not in st.session_state
    entry, below_number = _fields(week, names, form)
    cells = entered_changes.cells(entry.chosen)
    when_opened = saved_change.cells_when_opened(cells, is_new_form)
    changes = entry.changes(cells)
    unsure, sentence = list[str](), ""
    if changes and not overrides.range_problems(changes):
        with below_number:
            far = entered_changes.far_from_model(changes)
            question = change_summaries.far_sentence(far, names)
            unsure = widgets.refusals_unless_ticked(question, form)
            preview = _preview(week, names, changes, len(entry.chosen), freshness)
        sentence = change_summaries.change_sentence(changes, names, preview)
    is_saving = state.may_save(f"save {form}")
    if is_saving and when_opened != cells:
        # The planner may not have seen a preview of the newest numbers. All chosen days are
        # compared, even those that the entry would not change.
        history = queries.changes(city, queries.freshness())
        reason = change_summaries.changed_since(when_opened, cells, names, history)
        state.refuse(reason)
    is_begun = bool(entry.number) or entry.action != SET
    problems = entry.number_problems(changes)
    # The number field itself shows at a save that its text cannot be parsed.
    wrong = overrides.range_problems(changes) if is_saving else problems * is_begun
    if wrong:
        below_number.warning(widgets.bullets(wrong), icon=":material/warning:")
    with st.container(key="plan-save"):
        if is_saving:
            nothing = [] if changes or problems else [overrides.NOTHING]
            texts = overrides.text_problems(entry.reason, entry.planner)
            write = partial(overrides.add, changes, entry.reason, entry.planner)
            state.save(write, f"Saved: {sentence}", problems + nothing + unsure + texts)
        elif state.tell(city, [each.key for each in cells], is_begun):
            return
        st.button("Save", type="primary", key=f"save {form}")


def _fields(
    week: pd.DataFrame, names: Mapping[str, str], form: str
) -> tuple[_Entry, DeltaGenerator]:
    """Shows the fields; returns the values entered, and the container below the number."""
    is_saving = st.session_state.get(f"save {form}", False)
    action = st.segmented_control(
        "Action", list(ACTIONS), default=SET, required=True, key=f"action {form}",
        format_func=ACTIONS.__getitem__, label_visibility="collapsed",
    )  # fmt: skip
    labels = {**names, ALL_DEPOTS: f"Every depot of {week['city'].iloc[0]}"}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        depot = widgets.choose_from_url(
            "Depot", "depot", labels, next(iter(names)), 316
        )
        days = sorted(week["target_on"].unique())
        options = {f"{day:%Y-%m-%d}": formatting.day(day) for day in days}
        first, last = widgets.choose_days(options, "day")
    is_chosen = week["target_on"].between(first, last)
    if depot != ALL_DEPOTS:
        is_chosen &= week["depot_id"] == depot
    chosen = week[is_chosen]
    # A depot may lack some of its city's days.
    if not chosen.empty:
        now = change_summaries.now_sentence(chosen)
        st.caption(formatting.escape_markdown(now))
    number = ""
    if action == SET:
        per = "of each depot and day" if depot == ALL_DEPOTS else "a day"
        number = st.text_input(
            f"Orders {per}: a number, or a change", placeholder="420, +30, −5 or +10 %",
            max_chars=20, key=f"number {form}", width=420,
        )  # fmt: skip
        wrong = entered_changes.problem(number)
        if is_saving and wrong:
            widgets.missing_entry(wrong)
    below_number = st.container()
    common = st.pills("Reason", REASONS, key=f"common reason {form}", wrap=True)
    written = st.text_input(
        "Or in your own words", max_chars=overrides.MAX_REASON_LENGTH, width=420,
        key=f"reason {form}",
    )  # fmt: skip
    reason = ": ".join(filter(None, [common, written.strip()]))
    if action == WITHDRAW:
        reason = reason or ACTIONS[WITHDRAW]
    if is_saving and not reason:
        widgets.missing_entry("A reason is missing.")
    entry = _Entry(action, chosen, number, reason, planner_name(is_saving))
    return entry, below_number


def _preview(
    week: pd.DataFrame,
    names: Mapping[str, str],
    changes: Sequence[Change],
    n_chosen: int,
    freshness: Freshness,
) -> pd.DataFrame:
    """Shows `entered_changes.preview` of the changes, and returns it."""
    numbers = entered_changes.new_orders(changes)
    preview = entered_changes.preview(
        week, numbers, partial(van_plan.plan_of, freshness=freshness)
    )
    city = str(week["city"].iloc[0])
    sentence = change_summaries.preview_sentence(preview, changes, names, city)
    left_out = n_chosen - len(changes)
    if left_out:
        days = formatting.count(left_out, "depot-day")
        sentence += f" {days} left out: closed, or nothing to change."
    elif changes[0].cell.is_closed and changes[0].orders:
        sentence += " The calendar says closed; your number is planned all the same."
    st.caption(f"**Preview:** {formatting.escape_markdown(sentence)}")
    return preview
