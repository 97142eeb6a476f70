"""Fields of forms that are filled again when what they are filled with changes."""

import pandas as pd
import pytest
import streamlit as st

from dashboard.components import widgets


@pytest.fixture(autouse=True)
def state(monkeypatch):
    """The state of a session without a browser."""
    kept: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", kept)
    return kept


def test_a_field_takes_a_newer_value_until_it_is_edited(state):
    widgets.fill("vans", 3)
    assert state["vans"] == 3
    widgets.fill("vans", 5)
    assert state["vans"] == 5
    state["vans"] = 4
    widgets.fill("vans", 6)
    assert state["vans"] == 4


def test_an_emptied_field_stays_empty(state):
    widgets.fill("vans", 3)
    state["vans"] = None
    widgets.fill("vans", 5)
    assert state["vans"] is None


def test_a_field_waits_for_its_source_to_change_and_for_leave_to_be_filled(state):
    widgets.fill("vans", 3, "a need")
    widgets.fill("vans", 4, "a need")
    widgets.fill("vans", 5, "another need", may_refill=False)
    assert state["vans"] == 3
    widgets.fill("vans", 5, "another need")
    assert state["vans"] == 5


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_field_that_was_not_shown_for_a_while_has_what_was_entered_if_kept(
    state, is_kept
):
    for entered in (3, 7, None):
        widgets.fill("vans", 3)
        state["vans"] = entered
        widgets.keep(*["vans"] * is_kept)
        # Streamlit drops the value of a field that a run does not show.
        del state["vans"]
        widgets.keep(*["vans"] * is_kept)
        widgets.fill("vans", 3)
        assert state["vans"] == (entered if is_kept else 3)


def test_a_list_of_past_occasions_says_once_which_days_lack_depots(monkeypatch):
    shown = []
    monkeypatch.setattr(widgets.st, "caption", shown.append)
    days = pd.DataFrame(
        {
            "day_on": pd.to_datetime(["2025-11-28", "2025-12-25", "2025-12-26"]),
            "actual": [380.0, 187.0, 90.0],
            "notes": ["Black Friday", "Christmas Day", "Boxing Day"],
            "missing": [0, 0, 0],
        }
    )
    widgets.past_occasions(days)
    assert not shown
    widgets.past_occasions(days.assign(missing=[1, 1, 0]))
    assert shown == ["≥: some depots missing."]


def test_only_the_other_options_of_a_box_have_plain_spellings_to_be_found_by(
    monkeypatch,
):
    boxes = []
    monkeypatch.setattr(
        widgets.st, "selectbox", lambda *_, **given: boxes.append(given)
    )
    monkeypatch.setattr(widgets.st, "query_params", {"depot": "b"})
    monkeypatch.setattr(widgets.st, "session_state", {})
    names = {"a": "Jätkäsaari", "b": "Töölö", "c": "Kallio"}
    assert widgets.choose_from_url("Depot", "depot", names) == "b"
    labels = [boxes[0]["format_func"](each) for each in names]
    assert labels == ["Jätkäsaari (jatkasaari)", "Töölö", "Kallio"]
