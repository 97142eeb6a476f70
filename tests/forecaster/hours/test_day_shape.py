"""Shares of the hours of a day: shrunk, by weekday, and of special days."""

from datetime import date, timedelta

import numpy as np
import pytest

from forecaster.hours import day_shape
from forecaster.hours.day_shape import ORDINARY, PastHours, SpecialDays, day_shares
from tests.make import START, make_events, make_holidays, make_panel

MONDAY = np.datetime64("2026-08-03")
DAYS = [START + timedelta(days=step) for step in range(120)]
HOURS = np.arange(24)
# Peaks at 8:00 and 17:00.
WORKING = np.exp(-((HOURS - 8) ** 2) / 4) + np.exp(-((HOURS - 17) ** 2) / 9)
LATE = np.exp(-((HOURS - 20) ** 2) / 6)


def shape(value):
    return value / value.sum()


def past(volume_dt, shape_of, kind_dt=None):
    """Hourly counts drawn from shapes, `shape_of(depot, weekday)`."""
    rng = np.random.default_rng(0)
    n_depots, n_days = np.shape(volume_dt)
    count = np.zeros((n_depots, n_days, 24), np.float32)
    for depot in range(n_depots):
        for day in range(n_days):
            shares = shape(shape_of(depot, day % 7))
            count[depot, day] = rng.multinomial(volume_dt[depot][day], shares)
    if kind_dt is None:
        kind_dt = np.full((n_depots, n_days), ORDINARY)
    return PastHours(MONDAY + np.arange(n_days), count, kind_dt)


def shares_of(past_hours, cities, n_ahead=7, kind_dh=None, holidays=()):
    ahead = past_hours.days.max() + 1 + np.arange(n_ahead)
    if kind_dh is None:
        kind_dh = np.full((len(cities), n_ahead), ORDINARY)
    return day_shares(past_hours, cities, ahead, kind_dh, holidays)


def test_shares_add_up_and_follow_the_weekday():
    hours = past(
        np.full((3, 56), 400), lambda _, weekday: LATE if weekday == 4 else WORKING
    )
    share_dhk = shares_of(hours, ["A", "A", "B"]).share_dhk
    np.testing.assert_allclose(share_dhk.sum(axis=-1), 1, rtol=1e-5)
    for weekday in range(7):
        true = shape(LATE if weekday == 4 else WORKING)
        assert np.abs(share_dhk[:, weekday] - true).sum(axis=-1).max() < 0.1


def test_a_depot_with_few_orders_takes_its_citys_shape():
    volume = np.array([[300] * 56, [300] * 56, [0] * 55 + [1], [0] * 56])
    hours = past(volume, lambda depot, _: LATE if depot == 1 else WORKING)
    share_dhk = shares_of(hours, ["A", "B", "A", "B"]).share_dhk
    for depot, truth in ((2, WORKING), (3, LATE)):
        assert np.abs(share_dhk[depot] - shape(truth)).sum(axis=-1).max() < 0.2


def test_a_depot_that_opens_at_noon_keeps_closed_mornings():
    opens_late = np.where(HOURS < 12, 0, 1.0)
    hours = past(
        np.full((6, 56), 200), lambda depot, _: opens_late if depot == 0 else WORKING
    )
    share_hk = shares_of(hours, list("AAAAAA")).share_dhk[0]
    assert share_hk[:, :12].sum(axis=-1).max() < 0.01


def test_shrinkage_beats_the_raw_shares_of_small_depots():
    """Errors against the true shares, of depots with two orders a day and similar shapes."""
    rng = np.random.default_rng(3)
    shapes = WORKING * rng.lognormal(0, 0.3, (40, 24))
    hours = past(np.full((40, 56), 2), lambda depot, _: shapes[depot])
    share_dk = shares_of(hours, ["A"] * 40, 1).share_dhk[:, 0]
    raw_dk = hours.count_dtk.sum(axis=1)
    raw_dk /= raw_dk.sum(axis=-1, keepdims=True)
    true_dk = shapes / shapes.sum(axis=-1, keepdims=True)
    assert np.abs(share_dk - true_dk).sum() < 0.8 * np.abs(raw_dk - true_dk).sum()


def test_concentration_is_found_again():
    """Rows drawn from a Dirichlet-multinomial of a known concentration."""
    rng = np.random.default_rng(5)
    share_k = shape(WORKING + 0.05)
    rows = np.stack(
        [rng.multinomial(300, rng.dirichlet(80 * share_k)) for _ in range(2000)]
    )
    dispersion = day_shape._Dispersion()
    dispersion.add(rows.astype(float), np.broadcast_to(share_k, rows.shape))
    assert dispersion.concentration() == pytest.approx(80, rel=0.1)
    plain = day_shape._Dispersion()
    counts = rng.multinomial(300, share_k, 2000).astype(float)
    plain.add(counts, np.broadcast_to(share_k, counts.shape))
    assert plain.concentration() > 3000


def test_a_weekend_on_friday_and_saturday_is_found():
    counts = np.array(
        [1000 * shape(LATE if day in (4, 5) else WORKING) for day in range(7)]
    )
    groups = day_shape._two_groups(counts, shape(counts.sum(axis=0)))
    assert sorted(map(sorted, groups)) == [[0, 1, 2, 3, 6], [4, 5]]


def test_a_special_day_takes_the_shape_of_its_own_past_days():
    kind = np.full((4, 70), ORDINARY)
    kind[:, 3] = 0
    truth = np.where(HOURS < 10, 0, np.where(HOURS < 14, 1.0, 0))
    hours = past(np.full((4, 70), 500), lambda *_: WORKING)
    hours.count_dtk[:, 3] = np.random.default_rng(1).multinomial(
        500, shape(truth), size=4
    )
    hours = PastHours(hours.days, hours.count_dtk, kind)
    ahead = np.full((4, 7), ORDINARY)
    ahead[:, 2] = 0
    share_dhk = shares_of(hours, list("AAAA"), 7, ahead).share_dhk
    # One special day has the same weight as the weekday's shape.
    expected = (shape(truth) + shape(WORKING)) / 2
    assert np.abs(share_dhk[:, 2] - expected).sum(axis=-1).max() < 0.1
    assert np.abs(share_dhk[:, 3] - shape(WORKING)).sum(axis=-1).max() < 0.1


def test_a_holiday_without_a_past_day_takes_the_weekday_that_holidays_are_like():
    kind = np.full((3, 84), ORDINARY)
    kind[:, 30] = 1
    hours = past(
        np.full((3, 84), 300), lambda _, weekday: LATE if weekday == 6 else WORKING
    )
    hours.count_dtk[:, 30] = 300 * shape(LATE)
    hours = PastHours(hours.days, hours.count_dtk, kind)
    ahead = np.zeros((3, 1), int)
    share_dhk = shares_of(hours, list("AAA"), 1, ahead, holidays=range(2)).share_dhk
    assert np.abs(share_dhk[:, 0] - shape(LATE)).sum(axis=-1).max() < 0.1
    # An event without a past day gets the shape of an ordinary day.
    share_dhk = shares_of(hours, list("AAA"), 1, ahead).share_dhk
    assert np.abs(share_dhk[:, 0] - shape(WORKING)).sum(axis=-1).max() < 0.1


def test_a_fleet_without_times_has_no_shares():
    hours = PastHours(
        MONDAY + np.arange(56),
        np.zeros((2, 56, 24), np.float32),
        np.full((2, 56), ORDINARY),
    )
    assert shares_of(hours, ["A", "A"]) is None


def test_every_day_special_is_every_day_usual():
    """With an event on every day, as of a closed market, no ordinary day would be left."""
    hours = past(np.full((2, 56), 100), lambda *_: WORKING, np.zeros((2, 56), int))
    share_dhk = shares_of(hours, ["A", "A"]).share_dhk
    assert np.abs(share_dhk - shape(WORKING)).sum(axis=-1).max() < 0.2


@pytest.fixture
def panel():
    """A holiday, a fair on one day, and a market on every other."""
    events = [("market", day, day, None, None, None) for day in DAYS[::2]]
    fair = ("fair", DAYS[40], DAYS[40], "Ghent", None, None)
    holiday = make_holidays((DAYS[30], "A day off"))
    return make_panel(events=make_events(fair, *events), holidays=holiday)


def test_special_days_are_holidays_and_rare_events(panel):
    special = SpecialDays.of(panel)
    assert special.names == ("holiday: A day off", "fair")
    assert special.holidays == range(1)
    at_d1 = dict(enumerate(special.kind_dt[1]))
    assert {step: kind for step, kind in at_d1.items() if kind != ORDINARY} == {
        30: 0,
        40: 1,
    }


def test_days_outside_the_panel_are_ordinary(panel):
    far = np.array(["1990-01-01", "2090-01-01"], "datetime64[D]")
    assert (SpecialDays.of(panel).on(far) == ORDINARY).all()


def test_evidence_of_a_holiday_ahead_is_its_day_a_year_before():
    kind = np.full((2, 400), ORDINARY)
    kind[:, 20] = kind[0, 385] = 0
    first = np.datetime64(date(2026, 1, 1))
    special = SpecialDays(("holiday: X",), first, kind)
    found = special.evidence_days(first + 380, first + 380 + np.arange(1, 8))
    assert found.tolist() == [date(2026, 1, 21)]
    assert not len(special.evidence_days(first + 30, first + 31 + np.arange(7)))
