"""Events not yet announced at an origin do not influence its features or its forecast."""

from dataclasses import fields
from datetime import timedelta

import jax
import numpy as np
import pytest

from forecaster.config import ModelConfig, TaskConfig
from forecaster.data import inputs
from forecaster.data.features import build_features, embedding_rows
from forecaster.data.inputs import Windows
from forecaster.data.panel_builder import build_panel
from forecaster.inference import calibration, infer, predict
from forecaster.model.model import DepotForecaster, init_params
from tests.make import (
    START,
    make_artefact,
    make_demand,
    make_depots,
    make_events,
    make_holidays,
)

N_DAYS, HORIZON = 120, 7
TASK = TaskConfig(HORIZON, context=28)
LAST = START + timedelta(days=N_DAYS - 1)
# The game is announced one day ahead; earlier ones long before, so that the kind is known.
GAME = LAST - timedelta(days=10)
ANNOUNCED = GAME - timedelta(days=1)
LONG_KNOWN = [(START + timedelta(days=n), None) for n in (20, 40, 60)]


def panel_of(*games, demand=None, **events):
    """A panel with games on some days, each with the day of its announcement."""
    rows = [("game", day, day, None, None, known) for day, known in games]
    rows += [
        (kind, day, day, None, "D0", known) for kind, (day, known) in events.items()
    ]
    holidays = make_holidays((START + timedelta(days=90), "A day off"))
    demand = make_demand(3, N_DAYS) if demand is None else demand
    return build_panel(make_depots(3), demand, make_events(*rows), holidays, LAST, 21)


LATE = panel_of(*LONG_KNOWN, (GAME, ANNOUNCED))
NEVER_ANNOUNCED = panel_of(*LONG_KNOWN)
EARLY = panel_of(*LONG_KNOWN, (GAME, GAME - timedelta(days=30)))


def features_of(panel):
    return build_features(
        panel, ("game", "holiday"), HORIZON, embedding_rows(panel.depot_ids)
    )


def window_of(panel):
    """One depot's newest window."""
    windows = inputs.cut_windows(
        features_of(panel), TASK, np.array([0]), np.array([panel.n_steps - 1])
    )
    return jax.tree.map(lambda value: np.asarray(value[0], np.float32), windows)


MODEL = ModelConfig(units=4, head_units=5, dropout=0.0, embedding_dropout=0.0)
MODULE = DepotForecaster(HORIZON, MODEL, capacity=64)


@pytest.fixture(scope="module")
def params():
    fresh = init_params(MODULE, window_of(EARLY), seed=1)
    return jax.tree.map(lambda value: value + 0.05, fresh)


def output(params, panel):
    return np.asarray(jax.jit(MODULE.apply)({"params": params}, window_of(panel)))


def origins_before_the_game():
    """Context position and days ahead of the game, of each origin it lies ahead of."""
    at = TASK.context - 1 - (LAST - GAME).days
    return [(at - ahead, ahead) for ahead in range(1, HORIZON + 1)]


def test_training_sees_a_late_event_from_its_announcement_on(params):
    late, never, early = (
        output(params, panel) for panel in (LATE, NEVER_ANNOUNCED, EARLY)
    )
    for origin, ahead in origins_before_the_game():
        step = ahead - 1
        expected = early if ahead == 1 else never
        np.testing.assert_allclose(
            late[origin, step], expected[origin, step], rtol=1e-5
        )
        assert early[origin, step] != never[origin, step]


def test_no_origin_before_its_announcement_sees_a_late_event(params):
    """Not on its own day, nor on the days beside it, which speak of it too."""
    late, never = output(params, LATE), output(params, NEVER_ANNOUNCED)
    before = TASK.context - 1 - (LAST - ANNOUNCED).days
    np.testing.assert_allclose(late[:before], never[:before], rtol=1e-5)
    assert not np.allclose(late[before], never[before], rtol=1e-5)


def test_the_eve_of_a_day_announced_a_horizon_ahead_is_ordinary_a_horizon_ahead(
    params,
):
    reported = panel_of(*LONG_KNOWN, (GAME, GAME - timedelta(days=HORIZON)))
    late, never = output(params, reported), output(params, NEVER_ANNOUNCED)
    origin = TASK.context - 1 - (LAST - GAME).days - 1 - HORIZON
    np.testing.assert_allclose(late[origin], never[origin], rtol=1e-5)
    assert not np.allclose(late[origin + 1], never[origin + 1], rtol=1e-5)


def test_events_announced_in_time_need_no_lead_columns(params):
    """No leads are built, and every number is that of an event that was always known."""
    always = panel_of(*LONG_KNOWN, (GAME, None))
    assert window_of(EARLY).lead is None
    for one, other in zip(window_of(EARLY), window_of(always), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(output(params, EARLY), output(params, always))


def test_an_event_announced_twice_is_known_from_the_first_time():
    twice = panel_of(*LONG_KNOWN, (GAME, ANNOUNCED), (GAME, GAME - timedelta(days=30)))
    assert features_of(twice).lead_gtf is None


def test_an_event_announced_afterwards_is_hidden_on_its_own_day(params):
    afterwards = panel_of(*LONG_KNOWN, (GAME, GAME + timedelta(days=3)))
    late, never = output(params, afterwards), output(params, NEVER_ANNOUNCED)
    np.testing.assert_allclose(
        late[: TASK.context - 8], never[: TASK.context - 8], rtol=1e-5
    )


def test_calibration_forecasts_with_what_each_origin_knew():
    panel = panel_of(*LONG_KNOWN, (GAME, ANNOUNCED))
    evaluation = make_artefact(panel.as_of(LAST - timedelta(days=30)))
    origins = range(panel.step(evaluation.trained_through), panel.n_steps - 1)
    holdout = calibration._forecasts(evaluation, panel, origins)
    for at, step in enumerate(origins):
        alone = predict.predict(evaluation, panel.as_of(panel.day(step)))
        np.testing.assert_allclose(
            holdout.correction[at], alone.correction_dh, rtol=2e-3, atol=1e-4
        )


def test_a_pass_ends_only_at_a_late_announcement():
    artefact = make_artefact(LATE)
    days = [LAST - timedelta(days=ago) for ago in range(29, -1, -1)]
    (one,) = predict._passes(artefact, EARLY, days)
    assert one == days
    before, after = predict._passes(artefact, LATE, days)
    assert (before[-1], after[0]) == (ANNOUNCED - timedelta(days=1), ANNOUNCED)


def test_a_closure_announced_late_is_open_a_week_ahead():
    panel = panel_of(closed=(GAME, ANNOUNCED))
    artefact = make_artefact(panel)
    origins = [GAME - timedelta(days=ahead) for ahead in range(HORIZON, 0, -1)]
    for origin, result in infer.forecast_origins(artefact, panel, origins):
        step = (GAME - origin).days - 1
        assert (result.basis_dh[0, step] == infer.CLOSED) == (origin >= ANNOUNCED)
        assert (result.p50_dh[0, step] == 0) == (origin >= ANNOUNCED)
        assert (result.basis_dh[1:] == infer.MODEL).all()


def test_tampering_with_the_future_changes_no_feature_of_the_past():
    """Demand after a day, and events announced after it: every array that an origin reads."""
    cut = GAME - timedelta(days=2)
    demand = make_demand(3, N_DAYS)
    later = demand["service_on"] > cut
    tampered = demand.assign(orders=demand["orders"].where(~later, 1e6))
    announced_later = (GAME + timedelta(days=1), cut + timedelta(days=1))
    one = features_of(panel_of(*LONG_KNOWN, demand=demand))
    other = features_of(
        panel_of(*LONG_KNOWN, (GAME, ANNOUNCED), announced_later, demand=tampered)
    )
    end = one.n_steps - (LAST - cut).days
    ahead = {"yearly_dtf", "event_response_dtf", "calendar_gtf"}
    arrays = {
        field.name
        for field in fields(one)
        if field.name.endswith(("_dt", "_dtf", "_gtf")) and "lead" not in field.name
    }
    assert arrays >= ahead
    assert len(arrays) == len(Windows._fields) - len({"depot", "lead"})
    lead_gth = other.lead_gtf[..., 1:]
    for name in sorted(arrays):
        before, after = (
            getattr(each, name)[:, : end + HORIZON] for each in (one, other)
        )
        if name == "calendar_gtf":
            ahead_t = np.arange(end + HORIZON) - (end - 1)
            visible = lead_gth[:, : end + HORIZON] >= np.maximum(ahead_t, 0)[:, None]
            after = np.where(visible, after, 0.0)
        if name == "event_response_dtf":
            unknown = other.lead_gtf[other.group_d, : end + HORIZON, 0]
            ahead_t = np.arange(end + HORIZON) - (end - 1)
            after = np.where((unknown >= np.maximum(ahead_t, 0))[..., None], after, 0.0)
        reach = end + HORIZON if name in ahead else end
        np.testing.assert_array_equal(before[:, :reach], after[:, :reach], err_msg=name)
