"""What the forms of the page Plan keep: what they first showed and last saved. Undo."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.planning import overrides
from dashboard.planning.overrides import Cell, Change
from dashboard.text import change_summaries, formatting
from forecaster.errors import BadInputError

NOT_SAVED, NOT_UNDONE = "Not saved.", "Not undone."
FORMS, UNDO_KEY, UNDO = "forms of the page Plan", "undo", "Undo"


@dataclass
class FormState:
    """What a form has saved or was refused, until the planner turns to something else.

    Attributes:
      seen: What it showed first, which a colleague may have changed since; None for nothing yet.
      n_saved: How often it has saved; part of the keys of its fields, so that they are empty then.
      sentence: What was saved; '' for nothing, or no longer.
      planner: Who saved it.
      before: What Undo brings back; None where there is no Undo.
      is_new: Whether the sentence has not been shown yet.
      place: Where it was shown first: the city, and what was chosen in the form.
      refusal: That it was not saved, and why, until it is shown.
    """

    seen: Any = None
    n_saved: int = 0
    sentence: str = ""
    planner: str = ""
    before: Any = None
    is_new: bool = False
    place: object = None
    refusal: tuple[str, str] | None = None

    def confirm(self, sentence: str, planner: str, before: Any = None) -> NoReturn:
        """Loads the page again, which confirms what was done, by whom, with its Undo."""
        self.sentence, self.planner, self.before = sentence, planner, before
        self.is_new, self.seen, self.refusal = True, None, None
        st.rerun()

    def confirm_saved(
        self, sentence: str, planner: str, before: Any = None
    ) -> NoReturn:
        """As `confirm`, with an empty form."""
        self.n_saved += 1
        self.confirm(sentence, planner, before)

    def refuse(
        self, reason: str, consequence: str = NOT_SAVED, seen: Any = None
    ) -> NoReturn:
        """Loads the page again with the newest numbers and all that was entered, and tells why."""
        queries.freshness.clear()
        self.sentence, self.refusal, self.seen = "", (consequence, reason), seen
        st.rerun()

    def tell(self, place: object) -> bool:
        """Shows the refusal of the run before, or what was saved if it speaks of this place.

        Returns:
          Whether what was saved is shown.
        """
        if self.refusal is not None:
            consequence, reason = self.refusal
            widgets.refusal(consequence, [reason])
            self.refusal = None
            return False
        if self.is_new:
            self.place = place
        if self.place != place:
            self.sentence = ""
        if self.sentence:
            widgets.confirmation(self.sentence)
            self.is_new = False
        return bool(self.sentence)

    def tell_with_undo(self, place: object, key: str) -> bool:
        """As `tell`, with an Undo; returns whether that is clicked."""
        can_be_undone = self.tell(place) and self.before is not None
        return can_be_undone and st.button(UNDO, icon=":material/undo:", key=key)


@dataclass
class Forms:
    """The forms of the page Plan in a session, from run to run.

    One object, altered in place: a second click on Save ends the run wherever it next reads the
    session's state. After a commit the confirmation is noted without reading it, so that the
    run of the second click shows it.

    Attributes:
      orders: Of planned orders; seen are the chosen days, by depot and day.
      settings: Of a city's settings; seen are those it showed first.
      vans: Of decisions on vans; seen are the newest decision on each day that it showed.
      offered: What Undo takes back of planned orders, as it was shown.
    """

    orders: FormState = field(default_factory=FormState)
    settings: FormState = field(default_factory=FormState)
    vans: FormState = field(default_factory=FormState)
    offered: pd.DataFrame = field(default_factory=pd.DataFrame)


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
    form = of_session().orders
    before = {} if is_new_form else form.seen or {}
    when_opened = [before.get(cell.key, cell) for cell in now]
    form.seen = {cell.key: cell for cell in when_opened}
    return when_opened


def save(
    changes: Sequence[Change], reason: str, planner: str, sentence: str
) -> NoReturn:
    """Saves changes, and loads the page again, with an empty form and a confirmation."""
    forms = of_session()
    try:
        overrides.add(changes, reason, planner)
    except BadInputError as error:
        forms.orders.refuse(str(error))
    forms.offered = pd.DataFrame()
    forms.orders.confirm_saved(sentence, planner)


def message(is_begun: bool, city: str, chosen: object) -> None:
    """The refusal of the run before, or the last saved change with its Undo.

    Once another change is begun, or something else is `chosen`, it is confirmed no longer.
    """
    form = of_session().orders
    if is_begun:
        form.sentence = ""
    if form.tell((city, chosen)):
        _undo_button(_offered(form.planner, city), form.planner)


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
    label, icon = UNDO, "undo"
    if overrides.is_undo(newest):
        label, icon = "Set this again", "redo"
    if not st.button(label, icon=f":material/{icon}:", key=UNDO_KEY):
        return
    forms = of_session()
    try:
        overrides.undo(newest, planner)
    except BadInputError as error:
        forms.orders.refuse(str(error), NOT_UNDONE)
    forms.offered = pd.DataFrame()
    forms.orders.confirm(change_summaries.undone_sentence(newest), planner)
