"""Events not yet announced at an origin do not influence its features or its forecast."""

from dataclasses import fields
from datetime import timedelta

import numpy as np

from forecaster.config import TaskConfig
from forecaster.data import inputs
from forecaster.data.features import build_features, embedding_rows
from forecaster.data.inputs import Windows
from forecaster.inference import calibration, infer, predict
from tests.make import (
    START,
    make_artefact,
    make_demand,
    make_events,
    make_holidays,
    make_panel,
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
    tables = {"events": make_events(*rows), "holidays": holidays}
    if demand is not None:
        tables["demand"] = demand
    return make_panel(3, N_DAYS, 21, **tables)


LATE = panel_of(*LONG_KNOWN, (GAME, ANNOUNCED))
NEVER_ANNOUNCED = panel_of(*LONG_KNOWN)
EARLY = panel_of(*LONG_KNOWN, (GAME, GAME - timedelta(days=30)))


def features_of(panel):
    return build_features(
        panel, ("game", "holiday"), HORIZON, embedding_rows(panel.depot_ids)
    )


def test_training_takes_a_late_event_as_if_it_had_been_known():
    """Otherwise its day would look like an ordinary day with a large error."""
    afterwards = panel_of(*LONG_KNOWN, (GAME, GAME + timedelta(days=3)))
    early = windows_of(EARLY)
    for late in (windows_of(LATE), windows_of(afterwards)):
        for one, other in zip(early, late, strict=True):
            np.testing.assert_array_equal(one, other)
    assert any(
        not np.array_equal(one, other)
        for one, other in zip(early, windows_of(NEVER_ANNOUNCED), strict=True)
    )


def windows_of(panel):
    newest = np.full(panel.n_depots, panel.n_steps - 1)
    return inputs.cut_windows(
        features_of(panel), TASK, np.arange(panel.n_depots), newest
    )


def test_no_forecast_knows_an_event_before_its_announcement():
    """Neither on its own day nor on the days beside it, whose features refer to it, too."""
    artefact = make_artefact(LATE, context=28)
    for ago in (HORIZON + 2, HORIZON, 4, 2, 1, 0, -1):
        origin = GAME - timedelta(days=ago)
        late, never, early = (
            predict.predict(artefact, panel.as_of(origin))
            for panel in (LATE, NEVER_ANNOUNCED, EARLY)
        )
        expected = early if origin >= ANNOUNCED else never
        np.testing.assert_array_equal(late.correction_dh, expected.correction_dh)
        np.testing.assert_array_equal(late.baseline_dh, expected.baseline_dh)
        is_ahead = 0 < ago <= HORIZON
        assert is_ahead <= (early.correction_dh != never.correction_dh).any()


def test_calibration_forecasts_with_what_each_origin_knew():
    panel = panel_of(*LONG_KNOWN, (GAME, ANNOUNCED))
    evaluation = make_artefact(panel.as_of(GAME - timedelta(days=HORIZON)))
    origins = range(panel.step(evaluation.trained_through), panel.n_steps - 1)
    holdout = calibration._holdout_forecasts(evaluation, panel, panel, origins)
    for correction_dh, step in zip(holdout.correction, origins, strict=True):
        alone = predict.predict(evaluation, panel.as_of(panel.day(step)))
        np.testing.assert_array_equal(correction_dh, alone.correction_dh)


def test_a_closure_announced_late_is_open_a_week_ahead():
    panel = panel_of(closed=(GAME, ANNOUNCED))
    artefact = make_artefact(panel)
    origins = [GAME - timedelta(days=ahead) for ahead in range(HORIZON, 0, -1)]
    for origin in origins:
        result = infer.forecast(artefact, panel.as_of(origin))
        step = (GAME - origin).days - 1
        assert (result.basis_dh[0, step] == infer.CLOSED) == (origin >= ANNOUNCED)
        assert (result.p50_dh[0, step] == 0) == (origin >= ANNOUNCED)
        assert (result.basis_dh[1:] == infer.MODEL).all()


def test_tampering_with_the_future_changes_no_feature_of_the_past():
    """Changes demand after a day, and compares every array that an earlier origin reads."""
    cut = GAME - timedelta(days=2)
    demand = make_demand(3, N_DAYS)
    later = demand["service_on"] > cut
    tampered = demand.assign(orders=demand["orders"].where(~later, 1e6))
    one, other = (
        features_of(panel_of(*LONG_KNOWN, demand=each)) for each in (demand, tampered)
    )
    end = one.n_steps - (LAST - cut).days
    ahead = {"yearly_dtf", "event_response_dtf", "calendar_gtf"}
    for name in arrays_of(one):
        reach = end + HORIZON if name in ahead else end
        before, after = (getattr(each, name)[:, :reach] for each in (one, other))
        np.testing.assert_array_equal(before, after, err_msg=name)


def test_an_event_announced_later_changes_no_feature_of_an_origin():
    cut = GAME - timedelta(days=2)
    announced_later = (GAME + timedelta(days=1), cut + timedelta(days=1))
    one, other = (
        features_of(panel_of(*LONG_KNOWN, *games).as_of(cut))
        for games in ((), ((GAME, ANNOUNCED), announced_later))
    )
    for name in arrays_of(one):
        np.testing.assert_array_equal(
            getattr(one, name), getattr(other, name), err_msg=name
        )


def arrays_of(features):
    names = [
        field.name
        for field in fields(features)
        if field.name.endswith(("_dt", "_dtf", "_gtf"))
    ]
    assert len(names) == len(Windows._fields) - len({"depot"})
    return names
