"""The form of the page Models that makes another model champion."""

import pandas as pd
import streamlit as st

from dashboard.auth import promotion
from dashboard.components import widgets
from dashboard.components.planner_name import planner_name
from dashboard.planning import overrides
from dashboard.tables import model_list
from dashboard.text import formatting
from forecaster.errors import HarborError

CONFIRMATION = "champion changed"
UNCHANGED = "The champion stays as it is."
CONSEQUENCE = (
    "The next nightly run forecasts with the new champion, and `harbor forecast` does at "
    "once; until then the pages show its forecast if it has made one from the present data, "
    "else the present forecast. A model that was never champion first makes a trial forecast, and one that fails it, or whose file is damaged "
    "or pruned, is refused."
)


def champion_form(models: pd.DataFrame) -> None:
    """Makes another model champion, for whoever may; others see the commands."""
    confirmation = st.session_state.pop(CONFIRMATION, None)
    if confirmation:
        st.success(confirmation, icon=":material/check:")
    st.markdown(CONSEQUENCE)
    refusal = promotion.why_not_allowed()
    if refusal:
        st.markdown(f"{formatting.escape_markdown(refusal)} {_commands(models)}")
        return
    options = model_list.candidates(models)
    if not options:
        st.caption("There is no other model whose file is kept.")
        return
    _form(options, model_list.rollback_target(models))


def _commands(models: pd.DataFrame) -> str:
    """The commands that change the champion."""
    commands = '`harbor models promote VERSION --reason "WHY"` makes a model champion.'
    before = model_list.rollback_target(models)
    if before:
        name = formatting.escape_markdown(before)
        commands += (
            f' `harbor models rollback --reason "WHY"` makes {name} champion again.'
        )
    return commands


def _form(options: dict[str, str], before: str | None) -> None:
    versions = list(options)
    # After a change the fields are those of another form, and empty.
    with st.form(f"champion instead of {versions}", border=False):
        version = st.selectbox(
            "New champion", versions, format_func=options.__getitem__, width=480,
            index=versions.index(before) if before in options else None,
            placeholder="Choose one",
        )  # fmt: skip
        reason = st.text_input(
            "Reason", max_chars=overrides.MAX_REASON_LENGTH, width=480
        )
        planner = planner_name("champion")
        is_sure = st.checkbox("Yes, forecast with this model from the next night on")
        if st.form_submit_button("Change champion", type="primary"):
            _promote(version, reason, planner, is_sure)


def _promote(version: str | None, reason: str, planner: str, is_sure: bool) -> None:
    wrong = promotion.problems(version, reason, planner)
    if not is_sure:
        wrong.append("Tick the box to confirm.")
    if version is None or wrong:
        widgets.refusal(UNCHANGED, wrong)
        return
    try:
        with st.spinner("Checking the model …"):
            consequence = promotion.promote(version, reason, planner)
    except HarborError as error:
        widgets.refusal(UNCHANGED, [str(error)])
        return
    name = formatting.escape_markdown(version)
    st.session_state[CONFIRMATION] = f"{name} is the champion. {consequence}"
    st.rerun()
