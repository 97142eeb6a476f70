"""The form for changes of planned orders, on the pages Plan and Depot."""

from collections.abc import Sequence
from datetime import date

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import saved_change, widgets
from dashboard.components.name_field import planner_name
from dashboard.planning import edits, overrides
from dashboard.planning.edits import SET, WITHDRAW, Entry
from dashboard.planning.overrides import Batch, Cell, Change
from dashboard.planning.planning import Settings
from dashboard.tables import html_tables, tables
from dashboard.text import change_summaries, entry_problems, formatting

ACTIONS = {SET: "Set orders", WITHDRAW: "Back to the model"}
REASONS = (
    "Promotion", "Event nearby", "Weather", "Customer announced it", "Strike or staff",
    "Roads or access", "Model looks wrong",
)  # fmt: skip
ALL_DEPOTS = ""
"""Option that selects every depot of the city."""


def change_form(
    week: pd.DataFrame,
    settings: Settings,
    bands: pd.DataFrame,
    depot: str = "",
    day: date | None = None,
) -> None:
    """The form for a change of a city's planned orders, with a preview; saves it once.

    The depot and the day are those chosen at first; '' and None for none.
    """
    form = f"{saved_change.of_session().n_saved} {depot or week['city'].iloc[0]} {day}"
    is_new_form = f"action {form}" not in st.session_state
    if is_new_form:
        saved_change.of_session().last_day = None
    entry = _fields(week, depot, day, form)
    cells = edits.cells(entry.chosen)
    shown = saved_change.shown_cells(cells, is_new_form)
    made = edits.changes_of_entry(entry, cells)
    unsure = sentence = ""
    if made and not overrides.range_problems(made):
        preview = edits.preview(week, settings, bands, edits.new_orders(made))
        _show_preview(preview, made, len(entry.chosen))
        unsure = _ask_if_sure(made, week, form)
        sentence = change_summaries.saved_sentence(made, _names(week), preview)
    # Refusal and confirmation replace each other, where the planner is looking.
    place = st.empty()
    is_saving = st.button("Save", type="primary", key=f"save {form}")
    if is_saving:
        _refuse_unseen(shown, cells, week)
    wrong = entry_problems.all_problems(entry, made, unsure) if is_saving else []
    with place.container():
        if wrong:
            widgets.refusal(saved_change.NOT_SAVED, wrong)
        elif is_saving:
            batch = Batch(tuple(made), entry.reason, entry.planner)
            saved_change.save(batch, sentence)
        else:
            is_begun = bool(entry.number) or entry.action != SET
            if is_begun:
                _warn(entry_problems.before_saving(entry, made))
            saved_change.message(is_begun, str(week["city"].iloc[0]))


def _fields(week: pd.DataFrame, depot: str, day: date | None, form: str) -> Entry:
    action = st.segmented_control(
        "Action", list(ACTIONS), default=SET, required=True, key=f"action {form}",
        format_func=ACTIONS.__getitem__,
    )  # fmt: skip
    names = _names(week)
    options = [*names, ALL_DEPOTS]
    labels = names | {ALL_DEPOTS: f"Every depot of {week['city'].iloc[0]}"}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        depot = st.selectbox(
            "Depot", options, format_func=labels.__getitem__, key=f"depot {form}",
            index=options.index(depot) if depot in names else 0, width=280,
        )  # fmt: skip
        days = sorted(week["target_on"].dt.date.unique())
        first = st.selectbox(
            "From", days, format_func=formatting.day, key=f"first day {form}", width=150,
            index=days.index(day) if day in days else 0,
        )  # fmt: skip
        last = _last_day([each for each in days if each >= first], form)
    is_chosen = week["target_on"].dt.date.between(first, last)
    if depot != ALL_DEPOTS:
        is_chosen &= week["depot_id"] == depot
    chosen = week[is_chosen]
    # A city's days are those of all its depots; one of them may lack some.
    if not chosen.empty:
        now = change_summaries.now_sentence(chosen)
        st.caption(formatting.escape_markdown(now))
    number = ""
    _keep_while_hidden(f"number {form}")
    if action == SET:
        label = (
            "Orders of each depot and day" if depot == ALL_DEPOTS else "Orders a day"
        )
        number = st.text_input(
            f"{label}: a number, or a change in %", placeholder="420 or +10 %",
            max_chars=20, key=f"number {form}", width=320,
        )  # fmt: skip
    reason = st.selectbox(
        "Reason", REASONS, index=None, accept_new_options=True, width=320,
        placeholder="Choose or write one", key=f"reason {form}",
    )  # fmt: skip
    return Entry(action, chosen, number, reason or "", planner_name("change"))


def _last_day(days: list[date], form: str) -> date:
    """The box of the last day; `days` are the first day and those after it.

    Where the first day is corrected, a last day that was chosen stays, unless it lies before.
    """
    first, forms = days[0], saved_change.of_session()
    kept = forms.last_day if forms.last_day in days else first
    last = st.selectbox(
        "To", days, format_func=formatting.day, key=f"last day {form} {first}",
        index=days.index(kept), width=150,
    )  # fmt: skip
    # A last day that was not chosen follows the first.
    forms.last_day = last if last > first else None
    return last


def _keep_while_hidden(key: str) -> None:
    """Keeps what was entered in a field that another action does not show.

    Streamlit forgets a field that a run leaves out, unless its value is set by the run.
    """
    if key in st.session_state:
        st.session_state[key] = st.session_state[key]


def _show_preview(preview: pd.DataFrame, made: Sequence[Change], n_chosen: int) -> None:
    sentence = change_summaries.preview_sentence(preview, made)
    left_out = n_chosen - len(made)
    if left_out:
        days = formatting.count(left_out, "depot-day")
        sentence += f" {days} left out: closed, or nothing to change."
    elif made[0].cell.is_closed and made[0].orders:
        sentence += " The calendar says closed; your number is planned all the same."
    st.caption(f"**Preview:** {formatting.escape_markdown(sentence)}")
    st.html(html_tables.table(tables.change_preview(preview)))


def _ask_if_sure(made: Sequence[Change], week: pd.DataFrame, form: str) -> str:
    """Asks for a tick where numbers are far from the model's; what is to be told without."""
    far = edits.far_from_model(made)
    if not far:
        return ""
    names = _names(week)
    sentence, label = (
        change_summaries.far_sentence(far, names),
        change_summaries.sure_label(far),
    )
    st.warning(formatting.escape_markdown(sentence), icon=":material/warning:")
    # Other numbers are other boxes, without the tick.
    if st.checkbox(label, key=f"sure {form} {sentence}"):
        return ""
    return f"{sentence} Tick “{label}”, or correct the number."


def _warn(problems: Sequence[str]) -> None:
    """Tells what will keep the entry from being saved, before it is."""
    if problems:
        text = "\n".join(f"- {formatting.escape_markdown(each)}" for each in problems)
        st.warning(text, icon=":material/warning:")


def _refuse_unseen(
    shown: Sequence[Cell], now: Sequence[Cell], week: pd.DataFrame
) -> None:
    """Refuses to save where a chosen day is not as the form first showed it.

    The planner may not have looked at the preview of what it became. All chosen days count,
    also those that stay as they are.
    """
    if list(shown) == list(now):
        return
    city = str(week["city"].iloc[0])
    history = queries.override_history(city, queries.freshness())
    reason = entry_problems.changed_since(shown, now, _names(week), history)
    saved_change.refuse(saved_change.NOT_SAVED, reason)


def _names(week: pd.DataFrame) -> dict[str, str]:
    """The name of each depot."""
    return dict(zip(week["depot_id"], week["name"], strict=True))
