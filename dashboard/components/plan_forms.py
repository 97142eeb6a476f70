"""The forms of the page Plan: settings of a city, and changes of planned orders."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pandas as pd
import streamlit as st

from dashboard.components import saved_change, widgets
from dashboard.components.name_field import planner_name
from dashboard.planning import city_settings, edits, overrides
from dashboard.planning.city_settings import CitySettings
from dashboard.planning.edits import Entry
from dashboard.planning.overrides import (
    LOCK,
    SET,
    UNLOCK,
    WITHDRAW,
    Batch,
    Change,
)
from dashboard.planning.planning import Settings
from dashboard.tables import html_tables, tables
from dashboard.text import entry_problems, formatting, plan_summaries
from forecaster.errors import BadInputError

ACTIONS = {
    SET: "Set orders",
    WITHDRAW: "Back to the model",
    LOCK: "Lock",
    UNLOCK: "Unlock",
}
REASONS = (
    "Promotion", "Event nearby", "Weather", "Customer announced it", "Strike or staff",
    "Roads or access", "Model looks wrong",
)  # fmt: skip
ALL_DEPOTS = ""
"""Option that selects every depot of the city."""
SETTINGS_SAVED = "settings saved"


def settings_form(settings: CitySettings, *, is_open: bool = False) -> None:
    """The form for the settings of a city; saves them for everybody."""
    saved = st.session_state.pop(SETTINGS_SAVED, None)
    if saved:
        st.success(saved, icon=":material/check:")
    title = formatting.escape_markdown(settings.city)
    note = ": estimated, please set" if settings.is_estimated else ""
    expander = st.expander(
        f"Settings of {title}{note}", expanded=is_open, icon=":material/tune:"
    )
    with expander.form(
        f"settings of {settings.city} {settings.settings_id}", border=False
    ):
        entered = _settings_fields(settings)
        planner = planner_name("settings")
        if st.form_submit_button("Save settings"):
            _save_settings(entered, planner)


def _settings_fields(settings: CitySettings) -> CitySettings:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        vans = st.number_input(
            "Vans", min_value=0, max_value=city_settings.MAX_VANS, step=1, width=160,
            value=settings.vans,
        )  # fmt: skip
        capacity = st.number_input(
            "Orders per van per day", min_value=1, step=1, width=200,
            max_value=city_settings.MAX_ORDERS_PER_VAN,
            value=round(settings.orders_per_van),
        )  # fmt: skip
        level = st.number_input(
            "Service level, %", min_value=50, max_value=99, step=1, width=160,
            value=round(100 * settings.service_level),
            help="Share of days on which a depot's vans are to carry all of its orders.",
        )  # fmt: skip
        drivers = st.number_input(
            "Drivers per van", min_value=1.0, max_value=city_settings.MAX_DRIVERS,
            step=0.1, width=160, value=float(settings.drivers_per_van),
        )  # fmt: skip
    return replace(
        settings,
        vans=vans,
        orders_per_van=float(capacity),
        service_level=level / 100,
        drivers_per_van=drivers,
    )


def _save_settings(settings: CitySettings, planner: str) -> None:
    try:
        city_settings.save(settings, planner)
    except BadInputError as error:
        widgets.refusal(saved_change.NOT_SAVED, [str(error)])
        return
    name = formatting.escape_markdown(settings.city)
    st.session_state[SETTINGS_SAVED] = f"Saved: the settings of {name}, for everybody."
    st.rerun()


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
    form = (
        f"{st.session_state.get(saved_change.N_SAVED, 0)} "
        f"{depot or week['city'].iloc[0]} {day}"
    )
    is_new_form = f"action {form}" not in st.session_state
    entry = _fields(week, depot, day, form)
    cells = edits.cells(entry.chosen)
    shown = saved_change.shown_cells(cells, is_new_form)
    made = edits.entered(entry, cells)
    unsure = ""
    if made and not overrides.range_problems(made):
        preview = edits.preview(week, settings, bands, edits.new_orders(made))
        _show_preview(preview, made, len(entry.chosen))
        unsure = _ask_if_sure(made, week, form)
    # Refusal and confirmation replace each other, where the planner is looking.
    place = st.empty()
    is_saving = st.button("Save", type="primary", key=f"save {form}")
    # What is saved is what was on the page when the button was pressed.
    wanted = edits.entered(entry, shown)
    wrong = entry_problems.all_problems(entry, wanted, unsure) if is_saving else []
    with place.container():
        if wrong:
            widgets.refusal(saved_change.NOT_SAVED, wrong)
        elif is_saving:
            preview = edits.preview(week, settings, bands, edits.new_orders(wanted))
            _save(entry, wanted, week, preview)
        else:
            is_begun = bool(entry.number) or entry.action != SET
            if is_begun:
                _warn(entry_problems.before_saving(entry, made))
            saved_change.message(is_begun)


def _fields(week: pd.DataFrame, depot: str, day: date | None, form: str) -> Entry:
    action = st.segmented_control(
        "Action", list(ACTIONS), default=SET, required=True, key=f"action {form}",
        format_func=ACTIONS.__getitem__,
    )  # fmt: skip
    names = dict(zip(week["depot_id"], week["name"], strict=True))
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
        last = st.selectbox(
            "To", [each for each in days if each >= first], format_func=formatting.day,
            key=f"last day {form} {first}", width=150,
        )  # fmt: skip
    is_chosen = week["target_on"].dt.date.between(first, last)
    if depot != ALL_DEPOTS:
        is_chosen &= week["depot_id"] == depot
    chosen = week[is_chosen]
    number, lock, unlock = "", False, False
    if action == SET:
        label = (
            "Orders of each depot and day" if depot == ALL_DEPOTS else "Orders a day"
        )
        number = st.text_input(
            f"{label}: a number, or a change in %", placeholder="420 or +10 %",
            max_chars=20, key=f"number {form}", width=320,
        )  # fmt: skip
        lock = st.checkbox(
            "Lock, so that it is not changed by mistake", key=f"locking {form}"
        )
    elif action == WITHDRAW and chosen["is_locked"].any():
        unlock = st.checkbox(entry_problems.UNLOCK_TOO, key=f"unlocking {form}")
    reason = st.selectbox(
        "Reason", REASONS, index=None, accept_new_options=True, width=320,
        placeholder="Choose or write one", key=f"reason {form}",
    )  # fmt: skip
    return Entry(
        action, chosen, number, lock, unlock, reason or "", planner_name("change")
    )


def _show_preview(preview: pd.DataFrame, made: Sequence[Change], n_chosen: int) -> None:
    sentence = plan_summaries.preview_sentence(preview, made)
    left_out = n_chosen - len({change.cell for change in made})
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
    names = dict(zip(week["depot_id"], week["name"], strict=True))
    sentence, label = (
        plan_summaries.far_sentence(far, names),
        plan_summaries.sure_label(far),
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


def _save(
    entry: Entry, wanted: Sequence[Change], week: pd.DataFrame, preview: pd.DataFrame
) -> None:
    """Saves the changes, unless the forecast of their days is another one than was shown."""
    names = dict(zip(week["depot_id"], week["name"], strict=True))
    revised = edits.revised([each.cell for each in wanted], edits.cells(week))
    if revised:
        days = [
            f"{formatting.day(each.day_on)} at {names[each.depot]}" for each in revised
        ]
        saved_change.refuse(
            saved_change.NOT_SAVED,
            f"After you had opened it there came a new forecast of "
            f"{formatting.listed(days)}. Look at it again, then save.",
        )
    sentence = plan_summaries.saved_sentence(wanted, names, preview)
    saved_change.save(Batch(tuple(wanted), entry.reason, entry.planner), sentence)
