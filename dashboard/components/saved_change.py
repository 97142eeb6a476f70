"""What the forms of the page Plan keep: the last change with its Undo, what was shown first."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import NoReturn

import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.planning import overrides, undo
from dashboard.planning.city_settings import CitySettings
from dashboard.planning.overrides import Batch, Cell
from dashboard.text import change_summaries, formatting
from forecaster.errors import BadInputError

NOT_SAVED, NOT_UNDONE = "Not saved.", "Not undone."
FORMS = "forms of the page Plan"


@dataclass(frozen=True)
class Saved:
    """A saved change to confirm on the page.

    Attributes:
      sentence: What was saved.
      undo: The batch that takes it back; None for an undo.
      is_new: Whether it has not been shown yet.
      is_earlier: Whether it was saved before the page was loaded.
    """

    sentence: str
    undo: Batch | None
    is_new: bool = True
    is_earlier: bool = False

    def is_of_other(self, planner: str) -> bool:
        """Whether it was looked up for another planner than the one named in the form now."""
        return (
            self.is_earlier and self.undo is not None and self.undo.planner != planner
        )


@dataclass(frozen=True)
class Refusal:
    """What the database refused, to be told on the page that is loaded afresh."""

    consequence: str
    reason: str


@dataclass
class Forms:
    """What the forms of a session keep from run to run.

    One object, altered in place: a second click on Save ends the run wherever it next reads the
    session's state. After a commit the confirmation is noted without reading it, so that the
    run of the second click shows it.

    Attributes:
      n_saved: Changes saved; part of the keys of the fields, so that they are empty after it.
      confirmation: The last saved change.
      refusal: Why the last change was not saved, until it is told.
      shown: The chosen days as the form first showed them, by depot and day.
      last_day: The last of several days, where one was chosen.
      n_settings_saved: Settings saved; part of the keys of their fields.
      settings_saved: The sentence that confirms saved settings, until it is told.
      settings_refusal: Why settings were not saved, until it is told.
      settings_shown: The settings that the open form showed first.
    """

    n_saved: int = 0
    confirmation: Saved | None = None
    refusal: Refusal | None = None
    shown: dict[tuple[str, date], Cell] = field(default_factory=dict)
    last_day: date | None = None
    n_settings_saved: int = 0
    settings_saved: str = ""
    settings_refusal: str = ""
    settings_shown: CitySettings | None = None


def of_session() -> Forms:
    """What the forms of this session keep."""
    forms: Forms = st.session_state.setdefault(FORMS, Forms())
    return forms


def shown_cells(now: Sequence[Cell], is_new_form: bool) -> list[Cell]:
    """The chosen days as the form first showed them; those just chosen, as they are now.

    A run of the page may read what a colleague has saved a moment ago and still belong to a
    click on the page before. So the days stay as first shown until a change is saved or
    refused.
    """
    forms = of_session()
    before = {} if is_new_form else forms.shown
    shown = [before.get(cell.key, cell) for cell in now]
    forms.shown = {cell.key: cell for cell in shown}
    return shown


def save(batch: Batch, sentence: str) -> NoReturn:
    """Saves a batch, and loads the page again, with an empty form and a confirmation."""
    forms = of_session()
    try:
        ids = overrides.add(batch)
    except BadInputError as error:
        refuse(NOT_SAVED, str(error))
    forms.confirmation = Saved(sentence, undo.inverse(batch, ids))
    forms.n_saved += 1
    forms.shown = {}
    st.rerun()


def refuse(consequence: str, reason: str) -> NoReturn:
    """Loads the page again with the newest numbers and all that was entered, and tells why."""
    queries.freshness.clear()
    forms = of_session()
    forms.refusal = Refusal(consequence, reason)
    forms.shown = {}
    st.rerun()


def message(is_begun: bool, planner: str) -> None:
    """The refusal of the run before, or the last saved change with its Undo.

    Once another change is begun, only the button is left. What the planner saved before the
    page was loaded is looked up in the database.
    """
    forms = of_session()
    refusal = forms.refusal
    if refusal is not None:
        widgets.refusal(refusal.consequence, [refusal.reason])
        forms.refusal = None
        return
    if forms.confirmation is None or forms.confirmation.is_of_other(planner):
        forms.confirmation = _saved_earlier(planner) if planner else None
    saved = forms.confirmation
    if saved is None:
        return
    sentence = formatting.escape_markdown(saved.sentence)
    if saved.is_new:
        st.toast(sentence, icon=":material/check:")
        forms.confirmation = replace(saved, is_new=False)
    if saved.is_earlier and not is_begun:
        st.caption(sentence)
    elif not is_begun:
        st.success(sentence, icon=":material/check:")
    label = "Undo the last change" if is_begun else "Undo"
    if saved.undo is not None and st.button(label, icon=":material/undo:", key="undo"):
        _undo(saved.undo)


def _saved_earlier(planner: str) -> Saved | None:
    """What a planner saved last; None where nothing can be undone."""
    saved = queries.last_change(planner, queries.freshness())
    changes = undo.last_changes(saved)
    if not changes:
        return None
    names = dict(zip(saved["depot_id"], saved["name"], strict=True))
    made_at = formatting.timestamp(saved["made_at"].iloc[0], queries.zone())
    sentence = change_summaries.last_change_sentence(changes, names, made_at)
    batch = Batch(tuple(changes), str(saved["reason"].iloc[0]), planner)
    taken_back = undo.inverse(batch, saved["saved_id"].tolist())
    return Saved(sentence, taken_back, is_new=False, is_earlier=True)


def _undo(batch: Batch) -> NoReturn:
    forms = of_session()
    try:
        overrides.add(batch)
    except BadInputError as error:
        # What somebody did since keeps the change from being undone for good.
        forms.confirmation = None
        refuse(NOT_UNDONE, str(error))
    days = {change.cell.key for change in batch.changes}
    what = formatting.count(len(days), "number")
    forms.confirmation = Saved(f"Undone: {what} as before.", None)
    forms.shown = {}
    st.rerun()
