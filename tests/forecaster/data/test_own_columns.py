"""An event of a single depot is read like one of a city that has only this depot."""

from datetime import timedelta

import numpy as np
import pytest

from forecaster.config import TaskConfig
from forecaster.data import inputs
from forecaster.data.effects import fit_effects, forward_chained_effects
from forecaster.data.features import build_features, choose_kinds
from tests.make import START, make_depots, make_events, make_holidays, make_panel

N_DAYS, HORIZON = 120, 7
TASK = TaskConfig(horizon=HORIZON, context=40)
FIRST_DAYS = {0: (20, 60, 90), 1: (21, 75, 118), 3: (7, 61, 124)}


def panel_of(announced_before, is_own):
    """Four depots, each in a city of its own; three of them have events."""
    day = [START + timedelta(days=step) for step in range(N_DAYS + 10)]
    rows = [
        (
            "promotion" if first % 2 else "game",
            day[first],
            day[first + depot],
            None if is_own else f"C{depot}",
            f"D{depot}" if is_own else None,
            announced_before and day[first] - timedelta(days=announced_before),
        )
        for depot, firsts in FIRST_DAYS.items()
        for first in firsts
    ]
    rows.append(("game", day[90], day[90], None, None, None))
    return make_panel(
        4, N_DAYS, 10,
        depots=make_depots(4, city=[f"C{number}" for number in range(4)]),
        events=make_events(*rows),
        holidays=make_holidays((day[60], "A day off"), (day[100], "Another")),
    )  # fmt: skip


@pytest.fixture(params=[None, 2], ids=["always known", "announced"])
def panels(request):
    return [panel_of(request.param, is_own) for is_own in (True, False)]


def test_calendars_are_shared_and_own_days_are_apart(panels):
    own, shared = (panel.calendar for panel in panels)
    assert len(own.own) > 0 == len(shared.own)
    for kind in own.kinds:
        np.testing.assert_array_equal(own.of_kind(kind), shared.of_kind(kind))
        share = own.share_of_days(kind, N_DAYS)
        assert share == shared.shared_days(kind)[:, :N_DAYS].mean()
    assert choose_kinds(own, N_DAYS) == choose_kinds(shared, N_DAYS)


def test_effects_are_those_of_a_shared_calendar(panels):
    own, shared = (
        [
            effects.calendar.depot_df,
            effects.calendar.covariance_ff,
            effects.calendar.sd_of(panel),
            forward_chained_effects(effects, panel, HORIZON).effect_dtf,
        ]
        for panel, effects in ((each, fit_effects(each, HORIZON)) for each in panels)
    )
    for value, expected in zip(own, shared, strict=True):
        np.testing.assert_allclose(value, expected, atol=1e-6)


def test_windows_are_those_of_a_shared_calendar(panels):
    kinds = choose_kinds(panels[0].calendar, N_DAYS)
    own, shared = (build_features(panel, kinds, HORIZON) for panel in panels)
    depot_b = np.repeat(np.arange(4), 4)
    last_b = np.tile([15, 70, N_DAYS - 2, N_DAYS - 1], 4)
    of_own, of_shared = (
        inputs.cut_windows(features, TASK, depot_b, last_b)
        for features in (own, shared)
    )
    for name, value in of_own._asdict().items():
        expected = getattr(of_shared, name)
        np.testing.assert_allclose(value, expected, atol=1e-6, err_msg=name)
    last_d = inputs.last_calendars(own, TASK)
    assert len(np.unique(last_d)) == 4


def test_a_part_of_the_fleet_keeps_its_own_days(panels):
    rows = np.array([3, 1])
    for part in (panels[0].of_depots(rows), panels[0].of_depots(slice(1, 4))):
        depots = [panels[0].depot_ids.index(depot) for depot in part.depot_ids]
        for kind in part.calendar.kinds:
            whole_dt = panels[0].calendar.of_kind(kind)
            np.testing.assert_array_equal(part.calendar.of_kind(kind), whole_dt[depots])
