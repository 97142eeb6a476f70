"""The logged-in user of the session, and access control."""

from datetime import UTC, datetime
from typing import Any, NoReturn

import streamlit as st

from dashboard import queries
from pipelines.settings import login


def require_login() -> None:
    """Stops the page unless no login is configured or an admitted user is logged in.

    Raises:
      ConfigError: login.toml is incomplete.
    """
    rule = login.read_rule(queries.settings().home)
    if rule is None:
        return
    user = claims()
    if user is None:
        _show_login("These pages are for planners. Log in to see them.")
    if login.has_expired(user, datetime.now(UTC)):
        _show_login("Your login has expired. Log in again to see these pages.")
    if not rule.admits(user):
        st.error(
            "You have logged in, but have no access to these pages. Ask their administrator "
            "to add you, or log in as somebody else.",
            icon=":material/block:",
        )
        st.button("Log out", on_click=st.logout)
        st.stop()


def _show_login(sentence: str) -> NoReturn:
    st.info(sentence, icon=":material/lock:")
    st.button("Log in", on_click=st.login, type="primary")
    st.stop()


def claims() -> dict[str, Any] | None:
    """The provider's claims about the logged-in user; None where nobody is logged in."""
    if not st.user.get("is_logged_in", False):
        return None
    return dict(st.user.to_dict())


def planner_name() -> str | None:
    """The logged-in user's name, or email; None without a login."""
    user = claims() or {}
    return str(user.get("name") or user.get("email") or "") or None
