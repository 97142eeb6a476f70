"""Who looks at the page, and whether they may."""

from datetime import UTC, datetime
from typing import Any, NoReturn

import streamlit as st

from dashboard.auth import login
from pipelines.settings import Settings


def admit() -> None:
    """Stops the page unless no login is set, or somebody who may has logged in.

    Raises:
      ConfigError: the login is set, but not whole.
    """
    rule = login.rule(Settings.load().home)
    if rule is None:
        return
    said, now = claims(), datetime.now(UTC)
    if said is None:
        _ask_to_log_in("These pages are for planners. Log in to see them.")
    if login.has_expired(said, now):
        _ask_to_log_in("Your login has expired. Log in again to see these pages.")
    refused = rule.refusal(said, now)
    if refused:
        st.error(refused, icon=":material/block:")
        st.button("Log out", on_click=st.logout)
        st.stop()


def _ask_to_log_in(sentence: str) -> NoReturn:
    st.info(sentence, icon=":material/lock:")
    st.button("Log in", on_click=st.login, type="primary")
    st.stop()


def claims() -> dict[str, Any] | None:
    """What the provider says of who has logged in; None where nobody has."""
    if not st.user.get("is_logged_in", False):
        return None
    return dict(st.user.to_dict())


def planner() -> str | None:
    """The name that the login gives; None where there is no login."""
    said = claims() or {}
    return str(said.get("name") or said.get("email") or "") or None
