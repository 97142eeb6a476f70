"""A signal's value is visible from the first origin that knew it, and at no longer lead."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecaster.data.signal_builder import known_signals
from tests.make import START, make_depots, make_panel, make_signals

N_DAYS, AHEAD, N_DEPOTS = 30, 14, 4
DELFT, GHENT = [0, 2], [1, 3]


def day(step):
    return START + timedelta(days=step)


LAST = day(N_DAYS - 1)


def panel_of(signals, through=LAST):
    return make_panel(N_DEPOTS, N_DAYS, AHEAD, signals=signals, through=through)


def booked(*rows):
    """Signal rows of D0 from (step, value, step of the first origin that knows it)."""
    return make_signals(
        *(
            ("booked", "D0", None, day(step), value, None if at is None else day(at))
            for step, value, at in rows
        )
    )


def test_a_fleet_without_signals_has_none():
    assert panel_of(None).signals is None
    assert panel_of(make_signals()).signals is None


def test_each_lead_has_what_was_known_then():
    """Booked for day 20: 5 a week before, 9 two days before, 11 on the day itself."""
    signals = panel_of(booked((20, 9.0, 18), (20, 5.0, 13), (20, 11.0, 20))).signals
    known = [signals.known_ahead(days)[0, 0, 20] for days in (8, 7, 3, 2, 1, 0)]
    np.testing.assert_array_equal(known, [np.nan, 5, 5, 9, 9, 11])


def test_a_correction_holds_from_its_own_origin_on_in_the_place_of_its_value():
    """5 was known from day 3, replaced by 8 at origin 10, and corrected to 6 at origin 12."""
    table = booked((20, 5.0, 3), (20, 6.0, 3), (20, 8.0, 10)).assign(
        corrected_from=[None, day(12), None], known_until=[day(12), None, None]
    )
    signals = panel_of(table).signals
    known = [signals.known_ahead(days)[0, 0, 20] for days in (17, 11, 10, 8, 1)]
    np.testing.assert_array_equal(known, [5, 5, 8, 8, 8])
    without = panel_of(table.iloc[:2]).signals
    known = [without.known_ahead(days)[0, 0, 20] for days in (17, 9, 8, 1)]
    np.testing.assert_array_equal(known, [5, 5, 6, 6])


@pytest.mark.parametrize("lead", [1, 7])
def test_an_earlier_origin_sees_what_a_panel_built_for_it_sees(lead):
    table = booked((20, 5.0, 13), (20, 9.0, 18), (33, 1.0, 24), (33, 2.0, 26))
    later = panel_of(table)
    for step in (14, 18, 24, 25, 26):
        asked, built = later.as_of(day(step)), panel_of(table, day(step))
        np.testing.assert_array_equal(
            asked.signals.known_ahead(lead), built.signals.known_ahead(lead)
        )
        assert asked.signals.names == built.signals.names
    assert later.as_of(day(10)).signals is None


def test_the_last_steps_and_some_depots_keep_their_values():
    rows = [
        ("rain", None, "Ghent", day(25), 0.4, day(20)),
        ("booked", "D3", None, day(25), 7.0, day(23)),
        ("booked", "D0", None, day(35), 3.0, None),
    ]
    panel = panel_of(make_signals(*rows))
    last, part = panel.last(10), panel.of_depots(slice(2, 4))
    for days in (1, 2, 3, 5, 6):
        whole = panel.signals.known_ahead(days)
        np.testing.assert_array_equal(last.signals.known_ahead(days), whole[:, :, 20:])
        np.testing.assert_array_equal(part.signals.known_ahead(days), whole[:, 2:])


def test_named_signals_come_in_the_order_asked_for_and_one_that_is_lacking_is_empty():
    rows = [
        (name, "D0", None, day(5), value, None) for name, value in (("a", 1), ("b", 2))
    ]
    signals = panel_of(make_signals(*rows)).signals.named(("b", "never", "a"))
    assert signals.names == ("b", "never", "a")
    np.testing.assert_array_equal(signals.known_ahead(1)[:, 0, 5], [2, np.nan, 1])


FEW = settings(max_examples=30)
rows = st.lists(
    st.tuples(
        st.sampled_from(["booked", "rain"]),
        st.sampled_from([("D0", None), ("D1", None), (None, "Delft"), ("D9", None)]),
        # Few days, so that rows overlap; the first and the last lie outside the panel.
        st.sampled_from([-2, 5, 20, N_DAYS + 3, N_DAYS + AHEAD + 2]),
        st.none() | st.integers(0, N_DAYS + AHEAD),
        st.floats(-100, 100, width=32),
    ),
    max_size=12,
    unique_by=lambda row: row[:4],
)


def signals_of(drawn, origin):
    table = make_signals(
        *(
            (name, *place, day(step), value, None if at is None else day(at))
            for name, place, step, at, value in drawn
        )
    )
    return known_signals(make_depots(N_DEPOTS), table, START, origin + 1, AHEAD)


def known_at(drawn, origin):
    """All signal values known at an origin, at every lead, by name."""
    signals = signals_of(drawn, origin)
    if signals is None:
        return {}
    leads = np.stack([signals.known_ahead(days) for days in range(12)])
    return {
        name: leads[:, number].tobytes() for number, name in enumerate(signals.names)
    }


@FEW
@given(rows, rows, st.integers(5, N_DAYS - 1))
def test_what_is_known_after_an_origin_changes_nothing_of_it(drawn, later, origin):
    known_later = [(*row[:3], origin + 1 + (row[3] or 0), row[4]) for row in later]
    assert known_at(drawn, origin) == known_at([*drawn, *known_later], origin)


@FEW
@given(rows, st.integers(0, 9))
def test_no_lead_sees_a_value_that_became_known_later(drawn, days):
    """Compares the values with a plain loop over the rows."""
    expected = {}
    for name, (depot_id, city), step, at, value in sorted(
        drawn, key=lambda row: -1 if row[3] is None else row[3]
    ):
        if at is None or at <= min(step - days, N_DAYS - 1):
            expected[name, depot_id or city, step] = np.float32(value)
    signals = signals_of(drawn, N_DAYS - 1)
    if signals is None:
        return
    value_sdt = signals.named(("booked", "rain")).known_ahead(days)
    for number, depot, step in np.ndindex(value_sdt.shape):
        name, city = ("booked", "rain")[number], ("Delft", "Ghent")[depot % 2]
        of_city = expected.get((name, city, step), np.nan)
        want = expected.get((name, f"D{depot}", step), of_city)
        np.testing.assert_equal(value_sdt[number, depot, step], want)
