"""Who looks at the page, where a login tells."""

import streamlit as st


def planner() -> str | None:
    """The name that the login gives; None where there is no login."""
    if not st.user.get("is_logged_in", False):
        return None
    return str(st.user.get("name") or st.user.get("email") or "") or None
