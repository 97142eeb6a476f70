"""State of the Plan page's forms across reruns, and the Undo button."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import page_head, widgets
from dashboard.components.planner_name import known_name
from dashboard.planning import overrides
from dashboard.planning.overrides import Cell
from dashboard.text import change_summaries, formatting
from forecaster.errors import BadInputError

NOT_SAVED, NOT_UNDONE = "Not saved.", "Not undone."
FORMS, UNDO_KEY = "forms of the page Plan", "undo"
Write = Callable[[], None]


@dataclass
class FormState:
    """The outcome of a form's last save, until the planner turns to something else.

    Attributes:
      seen: Values when the form was opened, to detect a colleague's change; None before.
      n_saved: Number of saves; part of the fields' keys, so that each save empties them.
      sentence: Confirmation of the last save; '' for none.
      is_new: Whether the confirmation has not been shown yet.
      place: City, selection and undoable rows at the save; the confirmation hides once they differ.
      refusal: What did not happen ('Not saved.') and why, until it is shown.
    """

    seen: Any = None
    n_saved: int = 0
    sentence: str = ""
    is_new: bool = False
    place: object = None
    refusal: tuple[str, str] | None = None

    def confirm(self, sentence: str) -> NoReturn:
        """Reloads the page with an empty form, and shows `sentence` as the confirmation."""
        self.n_saved += 1
        self.sentence, self.is_new, self.seen, self.refusal = sentence, True, None, None
        st.rerun()

    def refuse(self, reason: str, consequence: str = NOT_SAVED) -> NoReturn:
        """Reloads the page with the newest numbers, keeps the entries, and shows the reason."""
        queries.freshness.clear()
        self.sentence, self.refusal, self.seen = "", (consequence, reason), None
        st.rerun()

    def save(self, write: Write, sentence: str, problems: Sequence[str]) -> None:
        """Shows the problems, if any; else saves and confirms, or refuses if the database does."""
        if problems:
            widgets.refusal(NOT_SAVED, problems)
            return
        try:
            write()
        except BadInputError as error:
            self.refuse(str(error))
        self.confirm(sentence)

    def may_save(self, key: str) -> bool:
        """Whether the button `key` was clicked; a pending refusal must be shown first."""
        return st.session_state.get(key, False) and self.refusal is None

    def tell(self, city: str, place: object = None, is_begun: bool = False) -> bool:
        """Shows the last refusal, or the confirmation with Undo if nothing newer was saved or entered.

        Returns:
          Whether the confirmation is shown; the form needs no button to save then.
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
        if self.place != here or is_begun:
            self.sentence = ""
        if not self.sentence:
            return False
        st.success(formatting.escape_markdown(self.sentence), icon=":material/check:")
        page_head.run(page_head.FOCUS)
        # A second click on Undo reruns the page, which must confirm again.
        self.is_new = bool(st.session_state.get(UNDO_KEY))
        _undo_button(newest, self)
        return True


@dataclass
class Forms:
    """The forms of the page Plan in a session, from rerun to rerun.

    Mutated in place: a second click on Save cuts the script off at its next use of session state,
    yet the first click's confirmation must survive.

    Attributes:
      orders: The form for planned orders; `seen` maps depot and day to the `Cell`.
      settings: The form for a city's settings; `seen` are the `CitySettings` shown first.
      vans: The form for decisions on vans; `seen` maps a day to its newest decision_id.
      newest: The Undo button outside the forms.
      offered: The rows that Undo would take back, as they were shown.
    """

    orders: FormState = field(default_factory=FormState)
    settings: FormState = field(default_factory=FormState)
    vans: FormState = field(default_factory=FormState)
    newest: FormState = field(default_factory=FormState)
    offered: pd.DataFrame = field(default_factory=pd.DataFrame)


def of_session() -> Forms:
    """The form states of this session, created on first use."""
    forms: Forms = st.session_state.setdefault(FORMS, Forms())
    return forms


def cells_when_opened(now: Sequence[Cell], is_new_form: bool) -> list[Cell]:
    """The chosen cells as the form first showed them; newly chosen cells as they are now.

    The rerun after a click may already read a colleague's later change. So the cells stay as
    first shown until a change is saved or refused.
    """
    form = of_session().orders
    before = {} if is_new_form else form.seen or {}
    when_opened = [before.get(cell.key, cell) for cell in now]
    form.seen = {cell.key: cell for cell in when_opened}
    return when_opened


def newest_change(city: str) -> None:
    """Shows the planner's last change in a city, with its Undo."""
    state, newest = of_session().newest, _offered(city)
    if state.tell(city) or newest.empty:
        return
    made_at = formatting.timestamp(newest["made_at"].iloc[0], queries.zone())
    sentence = change_summaries.newest_change_sentence(newest, made_at)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(formatting.escape_markdown(sentence), width="content")
        _undo_button(newest, state)


def _offered(city: str) -> pd.DataFrame:
    """The rows that Undo takes back; on a click, the rows last shown, not any saved since."""
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
    # Empties the undone form, except unsaved entries of the form for orders.
    own: FormState = getattr(forms, newest["what"].iloc[0])
    own.seen, own.n_saved = None, own.n_saved + (own is not forms.orders)
    state.confirm(change_summaries.undone_sentence(newest))
