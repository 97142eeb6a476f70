"""What the forms of the page Plan keep: what they first showed and last saved. Undo."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import queries
from dashboard.components import widgets
from dashboard.components.planner_name import known_name
from dashboard.planning import overrides
from dashboard.planning.overrides import Cell
from dashboard.text import change_summaries, formatting
from forecaster.errors import BadInputError

NOT_SAVED, NOT_UNDONE = "Not saved.", "Not undone."
FORMS, UNDO_KEY = "forms of the page Plan", "undo"


@dataclass
class FormState:
    """What a form has saved or was refused, until the planner turns to something else.

    Attributes:
      seen: What it showed first, which a colleague may have changed since; None for nothing yet.
      n_saved: How often it has saved; part of the keys of its fields, so that they are empty then.
      sentence: What was saved; '' for nothing, or no longer.
      is_new: Whether the sentence has not been shown yet.
      place: Where it was shown first: the city, what was chosen in the form, and what Undo takes
        back.
      refusal: That it was not saved, and why, until it is shown.
    """

    seen: Any = None
    n_saved: int = 0
    sentence: str = ""
    is_new: bool = False
    place: object = None
    refusal: tuple[str, str] | None = None

    def confirm(self, sentence: str) -> NoReturn:
        """Loads the page again with an empty form, and confirms what was done."""
        self.n_saved += 1
        self.sentence, self.is_new, self.seen, self.refusal = sentence, True, None, None
        st.rerun()

    def refuse(
        self, reason: str, consequence: str = NOT_SAVED, seen: Any = None
    ) -> NoReturn:
        """Loads the page again with the newest numbers and all that was entered, and tells why."""
        queries.freshness.clear()
        self.sentence, self.refusal, self.seen = "", (consequence, reason), seen
        st.rerun()

    def save(
        self, write: Callable[[], None], sentence: str, problems: Sequence[str]
    ) -> None:
        """Saves, and loads the page again with the sentence or a refusal; or tells the problems."""
        if problems:
            widgets.refusal(NOT_SAVED, problems)
            return
        try:
            write()
        except BadInputError as error:
            self.refuse(str(error))
        self.confirm(sentence)

    def may_save(self, is_clicked: bool) -> bool:
        """Whether a click on Save counts: a refusal is shown before anything else is saved."""
        return is_clicked and self.refusal is None

    def tell(self, city: str, place: object = None) -> bool:
        """Shows the refusal of the run before; or what was saved here, if it is the newest, with Undo.

        Returns:
          Whether what was saved is shown.
        """
        if self.refusal is not None:
            consequence, reason = self.refusal
            widgets.refusal(consequence, [reason])
            self.refusal = None
            return False
        newest = _offered(city)
        here = city, place, [*zip(newest["what"], newest["change_id"], strict=True)]
        if self.is_new:
            self.place = here
        if self.place != here:
            self.sentence = ""
        if not self.sentence:
            return False
        told = formatting.escape_markdown(self.sentence)
        st.success(told, icon=":material/check:")
        # The run of a second click on Undo shows it again.
        self.is_new = bool(st.session_state.get(UNDO_KEY))
        _undo_button(newest, self)
        return True


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
      newest: Of Undo without a form.
      offered: What Undo takes back, as it was shown.
    """

    orders: FormState = field(default_factory=FormState)
    settings: FormState = field(default_factory=FormState)
    vans: FormState = field(default_factory=FormState)
    newest: FormState = field(default_factory=FormState)
    offered: pd.DataFrame = field(default_factory=pd.DataFrame)


def of_session() -> Forms:
    """What the forms of this session keep."""
    forms: Forms = st.session_state.setdefault(FORMS, Forms())
    return forms


def save_button(label: str, key: str) -> tuple[DeltaGenerator, bool]:
    """A form's button: the place above it for what becomes of a click, and whether it is clicked."""
    with st.container(key="plan-save"):
        place = st.container()
        return place, st.button(label, type="primary", key=key)


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


def newest_change(city: str) -> None:
    """What the planner changed last in a city, with its Undo."""
    state, newest = of_session().newest, _offered(city)
    if state.tell(city) or newest.empty:
        return
    made_at = formatting.timestamp(newest["made_at"].iloc[0], queries.zone())
    sentence = change_summaries.newest_change_sentence(newest, made_at)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(formatting.escape_markdown(sentence), width="content")
        _undo_button(newest, state)


def _offered(city: str) -> pd.DataFrame:
    """What Undo takes back. A click is on what was shown, whatever was saved meanwhile."""
    forms = of_session()
    if not st.session_state.get(UNDO_KEY):
        name = known_name()
        forms.offered = queries.newest_change(name, city, queries.freshness())
    return forms.offered


def _undo_button(newest: pd.DataFrame, state: FormState) -> None:
    planner, forms = known_name(), of_session()
    if newest.empty:
        return
    label, icon = "Undo", "undo"
    if overrides.is_undo(newest):
        label, icon = "Set this again", "redo"
    if not st.button(label, icon=f":material/{icon}:", key=UNDO_KEY):
        return
    try:
        overrides.undo(newest, planner)
    except BadInputError as error:
        state.refuse(str(error), NOT_UNDONE)
    forms.offered = newest[:0]
    # Its form shows what counts now; what is entered of orders stays.
    own: FormState = getattr(forms, newest["what"].iloc[0])
    own.seen, own.n_saved = None, own.n_saved + (own is not forms.orders)
    state.confirm(change_summaries.undone_sentence(newest))
