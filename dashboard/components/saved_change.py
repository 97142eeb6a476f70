"""What the forms of the page Plan keep: the last change, the days when opened. Undo."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NoReturn

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.planning import overrides
from dashboard.planning.overrides import Cell, Change
from dashboard.text import change_summaries, formatting
from forecaster.errors import BadInputError
from pipelines.planning.city_settings import CitySettings

NOT_SAVED, NOT_UNDONE = "Not saved.", "Not undone."
FORMS, UNDO_KEY = "forms of the page Plan", "undo"


@dataclass
class Confirmation:
    """What a form has saved, until the planner turns to something else.

    Attributes:
      sentence: What was saved; '' for nothing, or no longer.
      planner: Who saved it.
      before: What Undo brings back; None where there is no Undo.
      is_new: Whether it has not been shown yet.
      place: Where it was shown first: the city, and what was chosen in the form.
    """

    sentence: str = ""
    planner: str = ""
    before: Any = None
    is_new: bool = False
    place: object = None

    def note(self, sentence: str, planner: str, before: Any = None) -> None:
        """Notes what was saved, by whom, and what Undo brings back."""
        self.sentence, self.planner, self.before = sentence, planner, before
        self.is_new = True

    def is_shown_at(self, place: object) -> bool:
        """Whether it speaks of this place; elsewhere it is forgotten."""
        if self.is_new:
            self.place = place
        if self.place != place:
            self.sentence = ""
        return bool(self.sentence)

    def show(self) -> None:
        """Shows it."""
        widgets.confirmation(self.sentence)
        self.is_new = False

    def show_with_undo(self, place: object, key: str) -> bool:
        """Shows it if it speaks of this place; returns whether its Undo is clicked."""
        if not self.is_shown_at(place):
            return False
        self.show()
        icon = ":material/undo:"
        return self.before is not None and st.button("Undo", icon=icon, key=key)


@dataclass
class Forms:
    """What the forms of a session keep from run to run.

    One object, altered in place: a second click on Save ends the run wherever it next reads the
    session's state. After a commit the confirmation is noted without reading it, so that the
    run of the second click shows it.

    Attributes:
      n_saved: Changes saved; part of the keys of the fields, so that they are empty after it.
      change: The last change saved.
      offered: What Undo takes back, as it was shown.
      refusal: That the last change was not saved, and why, until it is told.
      cells_when_opened: The chosen days as the form first showed them, by depot and day.
      n_settings_saved: Settings saved; part of the keys of their fields.
      settings: The last settings saved.
      settings_refusal: Why settings were not saved, until it is told.
      settings_when_opened: The settings that the open form showed first.
      n_vans_saved: Decisions on vans saved; part of the keys of their fields.
      vans: The last decision on vans saved.
      vans_refusal: The city in which one was not saved, and why, until one is.
      vans_seen: The newest decision on each day as its form first showed it.
    """

    n_saved: int = 0
    change: Confirmation = field(default_factory=Confirmation)
    offered: pd.DataFrame = field(default_factory=pd.DataFrame)
    refusal: tuple[str, str] | None = None
    cells_when_opened: dict[tuple[str, date], Cell] = field(default_factory=dict)
    n_settings_saved: int = 0
    settings: Confirmation = field(default_factory=Confirmation)
    settings_refusal: str = ""
    settings_when_opened: CitySettings | None = None
    n_vans_saved: int = 0
    vans: Confirmation = field(default_factory=Confirmation)
    vans_refusal: tuple[str, str] = "", ""
    vans_seen: dict[str, int | None] = field(default_factory=dict)

    def confirm(self, sentence: str, planner: str) -> None:
        """Notes what was changed, and by whom."""
        self.change.note(sentence, planner)
        self.offered, self.cells_when_opened = pd.DataFrame(), {}


def of_session() -> Forms:
    """What the forms of this session keep."""
    forms: Forms = st.session_state.setdefault(FORMS, Forms())
    return forms


def cells_when_opened(now: Sequence[Cell], is_new_form: bool) -> list[Cell]:
    """The chosen days as the form first showed them; those just chosen, as they are now.

    A run of the page may read what a colleague has saved a moment ago and still belong to a
    click on the page before. So the days stay as first shown until a change is saved or
    refused.
    """
    forms = of_session()
    before = {} if is_new_form else forms.cells_when_opened
    when_opened = [before.get(cell.key, cell) for cell in now]
    forms.cells_when_opened = {cell.key: cell for cell in when_opened}
    return when_opened


def save(
    changes: Sequence[Change], reason: str, planner: str, sentence: str
) -> NoReturn:
    """Saves changes, and loads the page again, with an empty form and a confirmation."""
    forms = of_session()
    try:
        overrides.add(changes, reason, planner)
    except BadInputError as error:
        refuse(NOT_SAVED, str(error))
    forms.n_saved += 1
    forms.confirm(sentence, planner)
    st.rerun()


def refuse(consequence: str, reason: str) -> NoReturn:
    """Loads the page again with the newest numbers and all that was entered, and tells why."""
    queries.freshness.clear()
    forms = of_session()
    forms.refusal = (consequence, reason)
    forms.cells_when_opened = {}
    st.rerun()


def message(is_begun: bool, city: str, chosen: object) -> None:
    """The refusal of the run before, or the last saved change with its Undo.

    Once another change is begun, or something else is `chosen`, it is confirmed no longer.
    """
    forms = of_session()
    if forms.refusal is not None:
        consequence, reason = forms.refusal
        widgets.refusal(consequence, [reason])
        forms.refusal = None
        return
    if is_begun:
        forms.change.sentence = ""
    if forms.change.is_shown_at((city, chosen)):
        forms.change.show()
        planner = forms.change.planner
        _undo_button(_offered(planner, city), planner)


def newest_change(planner: str, city: str) -> None:
    """What a planner changed last in a city, with its Undo."""
    newest = _offered(planner, city)
    if newest.empty:
        return
    made_at = formatting.timestamp(newest["made_at"].iloc[0], queries.zone())
    sentence = change_summaries.newest_change_sentence(newest, made_at)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(formatting.escape_markdown(sentence), width="content")
        _undo_button(newest, planner)


def _offered(planner: str, city: str) -> pd.DataFrame:
    """What Undo takes back. A click is on what was shown, whatever was saved meanwhile."""
    forms = of_session()
    if not st.session_state.get(UNDO_KEY):
        forms.offered = queries.newest_change(planner, city, queries.freshness())
    return forms.offered


def _undo_button(newest: pd.DataFrame, planner: str) -> None:
    if newest.empty:
        return
    label, icon = "Undo", "undo"
    if overrides.is_undo(newest):
        label, icon = "Set this again", "redo"
    if not st.button(label, icon=f":material/{icon}:", key=UNDO_KEY):
        return
    forms = of_session()
    try:
        overrides.undo(newest, planner)
    except BadInputError as error:
        forms.change.sentence = ""
        refuse(NOT_UNDONE, str(error))
    forms.confirm(change_summaries.undone_sentence(newest), planner)
    st.rerun()
