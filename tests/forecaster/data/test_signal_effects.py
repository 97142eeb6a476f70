"""Signals move the forecast by as much as they have moved demand, and no more."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from forecaster.config import TaskConfig
from forecaster.data import inputs
from forecaster.data.effects import fit_effects
from forecaster.data.features import build_features
from forecaster.data.panel_builder import build_panel
from tests.make import START, make_depots, make_events, make_holidays, make_signals

N_DAYS, AHEAD, DEPOTS, HORIZON = 200, 14, 6, 7
EFFECT = 0.15
DAYS = [START + timedelta(days=step) for step in range(N_DAYS + AHEAD)]


SIZES = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0])


def fleet(rng, *, strength=EFFECT, days_ahead=AHEAD, unit=1.0, events=None):
    """Depots whose demand follows the signal `booked`, and not the signal `noise`.

    Values of both signals are proportional to the depot's size.
    """
    booked_dt, noise_dt = rng.normal(0, 1, (2, DEPOTS, N_DAYS + AHEAD))
    week_t = np.array([0.2, 0.1, 0.0, 0.1, 0.3, -0.3, -0.5])[np.arange(N_DAYS) % 7]
    log_dt = np.log(200) + week_t + strength * booked_dt[:, :N_DAYS]
    log_dt += rng.normal(0, 0.05, (DEPOTS, N_DAYS))
    depots = make_depots(DEPOTS)
    demand = pd.DataFrame(
        {
            "depot_id": np.repeat(depots["depot_id"], N_DAYS),
            "service_on": DAYS[:N_DAYS] * DEPOTS,
            "orders": np.round(np.exp(log_dt)).ravel(),
        }
    )
    signals = make_signals(
        *(
            (
                name,
                depot,
                None,
                day,
                unit * SIZES[row] * (50 + 10 * value_dt[row, step]),
                known_from,
            )
            for name, value_dt in (("booked", booked_dt), ("noise", noise_dt))
            for row, depot in enumerate(depots["depot_id"])
            for step, day in enumerate(DAYS)
            for known_from in [day - timedelta(days=days_ahead)]
        )
    )
    return build_panel(
        depots, demand, make_events() if events is None else events, make_holidays(),
        DAYS[N_DAYS - 1], AHEAD, signals,
    ), booked_dt  # fmt: skip


def coefficient(effects, name):
    return float(effects.signals.coefficient_hk[0, effects.signals.names.index(name)])


def ahead_of(effect_dtf):
    """Effects on the days ahead, as known at the newest origin."""
    days = [effect_dtf[:, N_DAYS + day, day] for day in range(HORIZON)]
    return np.stack(days, axis=-1)


@pytest.fixture(scope="module")
def fitted():
    """A fleet, its signal `booked`, and the effects of both signals."""
    panel, booked_dt = fleet(np.random.default_rng(20260101))
    return panel, booked_dt, fit_effects(panel, HORIZON)


def test_a_signal_that_matters_moves_the_days_ahead_by_what_it_moved_the_past(fitted):
    panel, booked_dt, effects = fitted
    effect_dh = ahead_of(effects.of(panel, HORIZON))
    truth_dh = booked_dt[:, N_DAYS : N_DAYS + HORIZON]
    slope = np.polyfit(truth_dh.ravel(), effect_dh.ravel(), 1)[0]
    assert slope == pytest.approx(EFFECT, rel=0.25)


def test_a_signal_that_is_noise_changes_hardly_anything(fitted):
    *_, effects = fitted
    assert abs(coefficient(effects, "signal: noise")) < 0.01
    assert coefficient(effects, "signal: booked") > 0.1


def test_the_unit_of_a_signal_does_not_matter(rng):
    state = rng.bit_generator.state
    small, _ = fleet(rng)
    rng.bit_generator.state = state
    large, _ = fleet(rng, unit=1000.0)
    effects = [fit_effects(each, HORIZON).of(each, HORIZON) for each in (small, large)]
    np.testing.assert_allclose(*effects, atol=1e-3)


def test_a_missing_value_has_no_effect(fitted):
    panel, _, effects = fitted
    silent = replace(panel, signals=panel.signals.named(()))
    assert not effects.signals.of(silent, days=1).any()


def test_a_new_depot_is_not_compared_with_others_before_it_has_values(fitted):
    panel, _, effects = fitted
    effect_dt = effects.signals.of(panel, days=1)
    assert not effect_dt[:, :7].any()


def test_a_signal_known_two_days_ahead_is_not_seen_earlier(rng):
    """The baseline of an origin reads only what that origin knew."""
    panel, _ = fleet(rng, days_ahead=2)
    effect_dtf = fit_effects(panel, HORIZON).of(panel, HORIZON)
    baselines = []
    for effects in (
        effect_dtf,
        np.concatenate([effect_dtf[..., :1]] + 6 * [0 * effect_dtf[..., :1]], axis=-1),
    ):
        features = build_features(panel, (), HORIZON, effect_dtf=effects)
        windows = inputs.last_windows(features, TaskConfig(HORIZON, 30))
        baselines.append(inputs.future(np, windows, HORIZON).baseline)
    moved_dch = np.abs(baselines[0] - baselines[1])
    assert moved_dch[..., 1].max() > 0.1
    assert moved_dch[..., 2:].max() < 1e-6


def test_what_is_booked_a_week_ahead_is_compared_with_what_was_booked_a_week_ahead(rng):
    """Bookings come in until the day, so that fewer of them a week ahead are usual."""
    panel, booked_dt = fleet(rng)
    rows = panel.signals.values
    late = replace(rows, known_r=rows.step_r - 1, value_r=2 * rows.value_r)
    both = {
        name: np.concatenate([column, getattr(late, name)])
        for name, column in vars(rows).items()
    }
    both["until_r"] = np.where(
        both["known_r"] < both["step_r"] - 1, both["step_r"] - 1, both["until_r"]
    )
    known = both["known_r"] < N_DAYS
    values = replace(rows, **both).rows(known)
    panel = replace(panel, signals=replace(panel.signals, values=values))
    effect_dh = ahead_of(fit_effects(panel, HORIZON).of(panel, HORIZON))
    truth_dh = EFFECT * booked_dt[:, N_DAYS : N_DAYS + HORIZON]
    assert abs((effect_dh - truth_dh).mean()) < 0.04
    assert np.corrcoef(effect_dh.ravel(), truth_dh.ravel())[0, 1] > 0.7


def test_an_origin_of_the_past_knew_what_it_knew(rng):
    """Effects at a past origin are the same in the whole panel and in the panel as of then."""
    panel, _ = fleet(rng, days_ahead=3)
    effects = fit_effects(panel, HORIZON)
    whole_dtf, step = effects.of(panel, HORIZON), N_DAYS - 12
    then_dtf = effects.of(panel.as_of(panel.day(step)), HORIZON)
    for day in range(1, HORIZON + 1):
        np.testing.assert_allclose(
            whole_dtf[:, step + day, day - 1],
            then_dtf[:, step + day, day - 1],
            atol=1e-6,
        )


def test_the_value_of_an_event_tells_its_days_apart(rng):
    """Promotions of 10 and of 30 per cent: the deeper one brings more."""
    promoted = dict(zip(DAYS[10:206:9], np.tile([0.1, 0.3], 11), strict=True))
    events = make_events(
        *(("promotion", day, day, None, None, None) for day in promoted)
    ).assign(value=list(promoted.values()))
    panel, _ = fleet(rng, strength=0.0, events=events)
    demand_dt = panel.demand_dt.copy()
    for day, depth in promoted.items():
        if panel.step(day) < N_DAYS:
            demand_dt[:, panel.step(day)] *= np.exp(2 * depth)
    panel = replace(panel, demand_dt=demand_dt)
    effects = fit_effects(panel, HORIZON).of(panel, HORIZON)
    total_dt = effects[..., 0]
    shallow, deep = (panel.step(day) for day in list(promoted)[-2:])
    np.testing.assert_allclose(total_dt[:, deep] - total_dt[:, shallow], 0.4, atol=0.15)
