"""Outages: unannounced days without orders, which say nothing of the days after them."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecaster.data import outages
from forecaster.data.outages import find_outages, without_outages
from forecaster.inference import calibration, infer, predict
from forecaster.model import two_stage_fit
from tests.make import START, make_artefact, make_events, make_holidays, make_panel

N_DAYS = 200
GAP = slice(120, 123)


def with_zeros(days, rows=slice(None), panel=None):
    panel = panel or make_panel(n_days=N_DAYS)
    demand_dt = panel.demand_dt.copy()
    demand_dt[rows, days] = 0.0
    return replace(panel, demand_dt=demand_dt)


def found(panel):
    """Depots and days of outages."""
    return {*zip(*map(np.ndarray.tolist, np.nonzero(find_outages(panel))), strict=True)}


@pytest.mark.parametrize("days", [1, 3, 10, 40, outages.MAX_DAYS])
def test_days_without_orders_are_an_outage_once_orders_are_back(days):
    panel = with_zeros(slice(120, 120 + days), rows=[1])
    assert found(panel) == {(1, 120 + day) for day in range(days)}
    last = panel.day(119 + days)
    assert found(panel.as_of(last)) == set(), "perhaps for good"
    # A Sunday has less than half of a Friday's orders.
    assert found(panel.as_of(last + timedelta(days=2))) == found(panel)


def test_a_longer_run_is_a_depot_that_begins_anew():
    assert found(with_zeros(slice(120, 121 + outages.MAX_DAYS))) == set()


def test_a_stray_order_ends_no_outage():
    panel = with_zeros(slice(120, N_DAYS))
    panel.demand_dt[:, 150] = 2.0
    assert found(panel) == set()


def test_weekdays_that_never_have_orders_are_none():
    weekend_t = np.arange(N_DAYS) % 7 >= 5
    panel = with_zeros(weekend_t)
    assert found(panel) == set()
    # From Friday to Monday: the weekend is as usual.
    longer = with_zeros(slice(18 * 7 + 4, 18 * 7 + 8), panel=panel)
    assert {day - 18 * 7 for _, day in found(longer)} == {4, 7}


def test_holidays_events_and_the_end_of_a_year_come_again():
    day = START + timedelta(days=GAP.start)
    for tables in (
        {"holidays": make_holidays((day, "A day off"))},
        {"events": make_events(("stocktaking", day, day, None, None, None))},
        {"events": make_events(("stocktaking", day, day, None, "D1", None))},
    ):
        panel = with_zeros(GAP, [1], make_panel(n_days=N_DAYS, **tables))
        assert found(panel) == {(1, GAP.start + 2)}, (
            "neither the day nor the one beside it"
        )
    december = (date(2024, 12, 20) - START).days
    panel = with_zeros(slice(december, december + 14), [1], make_panel(n_days=420))
    assert found(panel) == {(1, december), (1, december + 1)}


@pytest.mark.parametrize("depot", [None, "D1"])
def test_a_frequent_event_hides_no_outage(depot):
    every_other = [
        (
            "promotion",
            START + timedelta(days=day),
            START + timedelta(days=day),
            None,
            depot,
            None,
        )
        for day in range(0, N_DAYS, 2)
    ]
    panel = make_panel(n_days=N_DAYS, events=make_events(*every_other))
    assert len(found(with_zeros(GAP, [1], panel))) == 3


def test_few_orders_and_often_none_are_no_evidence():
    panel = make_panel(n_days=N_DAYS)
    few = replace(panel, demand_dt=np.minimum(panel.demand_dt, outages.MIN_ORDERS - 1))
    assert found(with_zeros(GAP, panel=few)) == set()
    often = with_zeros(np.arange(20, N_DAYS, 9), rows=[1])
    assert len(found(often)) <= outages.MANY_RUNS + 1


def test_holidays_on_which_a_depot_was_shut_hide_no_outage_after_them():
    """One of them is a weekday that the outage has, too."""
    days = [90, 99, 108, 111]
    holidays = make_holidays(
        *((START + timedelta(days=day), f"Day {day}") for day in days)
    )
    panel = with_zeros(days, [1], make_panel(n_days=N_DAYS, holidays=holidays))
    panel = with_zeros(slice(125, 130), [1], panel)
    assert found(panel) == {(1, day) for day in range(125, 130)}


def test_the_second_friday_of_a_month_is_found_too():
    panel = with_zeros([120, 134], [1])
    assert found(panel) == {(1, 120), (1, 134)}


def test_a_missing_feed_and_a_few_orders_within_hide_no_outage():
    panel = with_zeros(slice(100, 130), [1])
    panel.demand_dt[1, 115] = 2.0
    assert found(panel) == {(1, day) for day in range(100, 130) if day != 115}
    panel = with_zeros(slice(80, 83), [1])
    panel.demand_dt[1, 83:150] = np.nan
    assert found(panel) == {(1, 80), (1, 81), (1, 82)}


def test_what_follows_is_forecast_as_if_the_days_had_not_been_observed():
    panel = with_zeros(slice(150, 160))
    demand_dt = panel.demand_dt.copy()
    demand_dt[:, 150:160] = np.nan
    artefact = make_artefact(panel)
    with_gap, without = (
        infer.forecast(artefact, each)
        for each in (panel, replace(panel, demand_dt=demand_dt))
    )
    for name in ("p10_dh", "p50_dh", "p90_dh"):
        np.testing.assert_array_equal(getattr(with_gap, name), getattr(without, name))
    plain = make_panel()
    assert without_outages(plain) is plain
    assert np.isnan(without_outages(panel).demand_dt[:, 150:160]).all()


def test_an_outage_at_the_edge_of_the_receptive_field_is_found():
    panel = make_panel(n_days=1500)
    artefact = make_artefact(panel)
    reach = predict.receptive_field_days(artefact)
    first = panel.n_steps - (reach - outages.DAYS_READ)
    panel = with_zeros(slice(first - 20, first + 20), [1], panel)
    cut = panel.last(reach)
    near = slice(first - panel.n_steps, None)
    of_cut, of_whole = (find_outages(each)[:, near] for each in (cut, panel))
    assert of_whole[1, :20].all()
    np.testing.assert_array_equal(of_cut, of_whole)


def test_a_large_fleet_is_searched_some_depots_at_a_time(monkeypatch):
    panel = with_zeros(slice(150, 160), [0, 3])
    monkeypatch.setattr(outages, "DEPOTS_PER_CHUNK", 3)
    day_dt = np.isnan(without_outages(panel).demand_dt)
    assert day_dt[[0, 3], 150:160].all()
    np.testing.assert_array_equal(day_dt, find_outages(panel))


class StopError(Exception):
    """Raised in place of training."""


def test_training_sees_an_open_outage_as_it_was_known(monkeypatch):
    """The first fit ends within one; of the one before it, it reads nothing."""
    panel, recipe = make_panel(n_days=300), two_stage_fit.Recipe()
    fitted = two_stage_fit.fit_to_history(panel, recipe)
    cut = two_stage_fit.evaluation_panel(panel, fitted).n_steps
    panel = with_zeros(slice(100, 103), panel=panel)
    panel = with_zeros(slice(cut - 6, cut + 5), panel=panel)
    seen = []

    def stop(training_panel, _horizon):
        seen.append(training_panel)
        raise StopError

    monkeypatch.setattr(two_stage_fit, "fit_effects", stop)
    with pytest.raises(StopError):
        two_stage_fit.train_model(panel, recipe)
    assert np.isnan(seen[0].demand_dt[:, 100:103]).all()
    assert (seen[0].demand_dt[:, -6:] == 0).all()


def test_a_held_out_day_within_an_outage_is_forecast_from_its_zeros_and_does_not_count():
    panel = with_zeros(slice(180, 186), [1])
    artefact = make_artefact(panel.as_of(panel.day(170)))
    origins = range(170, N_DAYS - 1)
    made = calibration._holdout_forecasts(
        artefact, panel, without_outages(panel), origins
    )
    within = infer.forecast(artefact, panel.as_of(panel.day(183)))
    baseline_dh = predict.predict(artefact, panel.as_of(panel.day(183))).baseline_dh
    np.testing.assert_allclose(made.baseline[183 - 170], baseline_dh, rtol=2e-4)
    assert within.p50_dh[1].max() > 0
    assert not made.valid[180 - 170 - 1, 1, :6].any()


def oracle(demand_dt):
    """Outages of a panel without a calendar, depot by depot and day by day."""
    days = set()
    for depot, demand_t in enumerate(demand_dt):
        n_steps, missed_on, step = len(demand_t), [], 0
        while step < n_steps:
            if demand_t[step] >= 5:
                step += 1
                continue
            start = step
            while step < n_steps and not demand_t[step] >= 5:
                step += 1
            usual = {}
            for day in range(start, step):
                if demand_t[day] == 0:
                    before = list(range(day % 7, start, 7))[-4:]
                    busy = [demand_t[t] for t in before if demand_t[t] >= 5]
                    if len(busy) >= 3:
                        usual[day] = min(busy)
            if not usual:
                continue
            is_often = len([t for t in missed_on if start - t <= 112]) >= 4
            missed_on.append(start)
            after = demand_t[step : step + 7]
            is_back = (after >= max(usual.values()) / 2).any()
            if is_back and not is_often and max(usual) - min(usual) < 63:
                days |= {(depot, day) for day in usual}
    return days


@given(
    seed=st.integers(0, 10_000),
    share=st.sampled_from([0.01, 0.05, 0.3]),
    length=st.integers(1, 12),
)
def test_outages_are_those_of_an_oracle_and_no_later_day_changes_them(
    seed, share, length
):
    rng = np.random.default_rng(seed)
    panel = make_panel(n_days=N_DAYS, seed=seed)
    demand_dt = panel.demand_dt / np.array([[1.0], [4.0], [10.0], [40.0]], np.float32)
    demand_dt = np.round(demand_dt)
    for depot, step in zip(
        *np.nonzero(rng.random(demand_dt.shape) < share), strict=True
    ):
        demand_dt[depot, step : step + rng.integers(1, length + 1)] = 0.0
    demand_dt[rng.random(demand_dt.shape) < share / 2] = np.nan
    panel = replace(panel, demand_dt=demand_dt)
    assert found(panel) == oracle(demand_dt)
    known = found(panel)
    for cut in rng.integers(30, N_DAYS, 5):
        before = found(panel.as_of(panel.day(int(cut) - 1)))
        assert before == oracle(demand_dt[:, :cut])
        assert before <= known
