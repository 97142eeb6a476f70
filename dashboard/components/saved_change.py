"""The last saved change: its confirmation and Undo, and the day as the form first showed it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.planning import overrides
from dashboard.planning.overrides import Batch, Cell
from dashboard.text import formatting
from forecaster.errors import BadInputError

NOT_SAVED, NOT_UNDONE = "Not saved.", "Not undone."
N_SAVED = "changes saved in this session"
"""Part of the keys of the form's fields, so that they are empty after saving."""
CONFIRMATION, REFUSAL, SHOWN = "change saved", "change refused", "cells shown"


@dataclass(frozen=True)
class Saved:
    """A saved change to confirm on the page; `undo` is its inverse."""

    sentence: str
    undo: Batch | None
    is_new: bool = True


@dataclass(frozen=True)
class Refusal:
    """What the database refused, to be told on the page that is loaded afresh."""

    consequence: str
    reason: str


def shown_cells(now: Sequence[Cell], is_new_form: bool) -> list[Cell]:
    """The chosen days as the form first showed them; those just chosen, as they are now.

    A run of the page may read what a colleague has saved a moment ago and still belong to a
    click on the page before. So the days stay as first shown until a change is saved or
    refused.
    """
    before: dict[tuple[str, object], Cell] = (
        {} if is_new_form else st.session_state.get(SHOWN, {})
    )
    shown = [before.get((cell.depot, cell.day_on), cell) for cell in now]
    st.session_state[SHOWN] = {(cell.depot, cell.day_on): cell for cell in shown}
    return shown


def save(batch: Batch, sentence: str) -> NoReturn:
    """Saves a batch, and loads the page again, with an empty form and a confirmation."""
    try:
        ids = overrides.add(batch)
    except BadInputError as error:
        refuse(NOT_SAVED, str(error))
    confirmed = Saved(sentence, overrides.inverse(batch, ids))
    st.session_state[N_SAVED] = st.session_state.get(N_SAVED, 0) + 1
    _reload(confirmed)


def refuse(consequence: str, reason: str) -> NoReturn:
    """Loads the page again with the newest numbers and all that was entered, and tells why."""
    queries.freshness.clear()
    st.session_state[REFUSAL] = Refusal(consequence, reason)
    _reload(None)


def _reload(confirmed: Saved | None) -> NoReturn:
    if confirmed is not None:
        st.session_state[CONFIRMATION] = confirmed
    st.session_state.pop(SHOWN, None)
    st.rerun()


def message(is_begun: bool) -> None:
    """The refusal of the run before, or the confirmation of the last change with its Undo.

    Once another change is begun, only the button is left of the confirmation.
    """
    refusal: Refusal | None = st.session_state.pop(REFUSAL, None)
    if refusal is not None:
        widgets.refusal(refusal.consequence, [refusal.reason])
        return
    saved: Saved | None = st.session_state.get(CONFIRMATION)
    if saved is None:
        return
    sentence = formatting.escape_markdown(saved.sentence)
    if saved.is_new:
        st.toast(sentence, icon=":material/check:")
        st.session_state[CONFIRMATION] = replace(saved, is_new=False)
    if not is_begun:
        st.success(sentence, icon=":material/check:")
    label = "Undo the last change" if is_begun else "Undo"
    if saved.undo is not None and st.button(label, icon=":material/undo:", key="undo"):
        _undo(saved.undo)


def _undo(batch: Batch) -> NoReturn:
    try:
        overrides.add(batch)
    except BadInputError as error:
        # What somebody did since keeps the change from being undone for good.
        st.session_state.pop(CONFIRMATION)
        refuse(NOT_UNDONE, str(error))
    what = formatting.count(len({each.cell for each in batch.changes}), "number")
    _reload(Saved(f"Undone: {what} as before.", None))
