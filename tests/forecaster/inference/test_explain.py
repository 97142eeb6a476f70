"""The parts of a forecast add up to it, and each equals the effect of its cause."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

from forecaster.config import POINT_SHIFTS
from forecaster.data.calendar_effects import CalendarEffects
from forecaster.data.effect_columns import effect_columns
from forecaster.data.effects import Effects
from forecaster.data.signal_effects import SIGNAL, SignalEffects
from forecaster.inference import infer, predict
from forecaster.inference.explain import explain
from tests.make import (
    START,
    make_artefact,
    make_demand,
    make_depots,
    make_events,
    make_holidays,
    make_panel,
    make_signals,
)

LAST = date(2024, 4, 23)
KINGS_DAY, FAIR_ON = date(2024, 4, 27), date(2024, 4, 25)
DAYS = (LAST - START).days + 1
EFFECTS = {
    "holiday: King's Day": np.log(0.5),
    "major holiday": np.log(0.9),
    "holiday, the day before": np.log(1.2),
    "major holiday, the day before": np.log(1.1),
    "fair": np.log(1.5),
    "market": np.log(1.25),
}
PER_SPREAD = 0.1


def panel_of(closed=(), **tables):
    depots = make_depots(closed_weekdays=[list(closed) for _ in range(4)])
    return make_panel(n_days=DAYS, **{"depots": depots} | tables)


def fleet(*holidays):
    """A fair at D1, a market everywhere that day, holidays, and orders booked ahead."""
    events = make_events(
        ("fair", FAIR_ON, FAIR_ON, None, "D1", None),
        ("fair", date(2024, 2, 1), date(2024, 2, 1), None, "D1", None),
        ("market", FAIR_ON, FAIR_ON, None, None, None),
        ("market", date(2024, 2, 2), date(2024, 2, 2), None, None, None),
    )
    booked = [
        ("booked", depot, None, START + timedelta(days=step), 10.0, None)
        for depot in ("D0", "D1")
        for step in range(DAYS + 7)
    ]
    sold_out = ("booked", "D1", None, FAIR_ON, 12.0, None)
    booked = [row for row in booked if row[1:4] != sold_out[1:4]]
    signals = make_signals(*booked, sold_out)
    return panel_of(events=events, holidays=make_holidays(*holidays), signals=signals)


@pytest.fixture
def panel():
    return fleet((KINGS_DAY, "King's Day"))


def with_effects(made, panel):
    """The artefact with `EFFECTS` at every depot, and `PER_SPREAD` per spread of the signal."""
    kinds = ("holiday: King's Day", "fair", "market")
    names = effect_columns(panel, kinds).names
    effect_f = np.array([EFFECTS.get(name, 0.0) for name in names], np.float32)
    nobody = np.zeros((0, len(names)), np.float32)
    certain = np.zeros((len(names), len(names)), np.float32)
    calendar = CalendarEffects(kinds, effect_f, (), nobody, (), nobody, certain)
    ones = np.ones((made.horizon, 1), np.float32)
    signals = SignalEffects(
        (f"{SIGNAL}booked",), PER_SPREAD * ones, np.zeros(1, np.float32), ones, (),
        np.zeros((made.horizon, 0, 1), np.float32),
    )  # fmt: skip
    return replace(made, effects=Effects(calendar, signals))


@pytest.fixture
def model(panel):
    return with_effects(make_artefact(panel), panel)


def by_day(explanations):
    return {each.target_on: each for each in explanations}


def relative(explanation):
    return {part.name: part.relative for part in explanation.parts}


@pytest.mark.parametrize("point", POINT_SHIFTS)
@pytest.mark.parametrize("depot", ["D0", "D3"])
def test_the_parts_add_up_to_the_number_that_is_shown(model, panel, depot, point):
    shown = infer.forecast(model, panel, point=point)
    row = panel.depot_ids.index(depot)
    explanations = explain(model, panel, depot, point)
    assert len(explanations) == 7
    for h, each in enumerate(explanations):
        assert each.target_on == LAST + timedelta(days=h + 1)
        assert each.point == shown.point_dh[row, h]
        assert sum(part.orders for part in each.parts) == pytest.approx(each.point)


def test_each_event_and_signal_has_its_effect(model, panel):
    parts = relative(by_day(explain(model, panel, "D1"))[FAIR_ON])
    assert list(parts) == [
        "level", "weekday", "fair", "market", "signal: booked", "network", "point shift",
    ]  # fmt: skip
    assert parts["fair"] == pytest.approx(0.5, rel=0.02)
    assert parts["market"] == pytest.approx(0.25, rel=0.02)
    assert parts["signal: booked"] == pytest.approx(np.expm1(2 * PER_SPREAD), rel=0.02)
    other = relative(by_day(explain(model, panel, "D0"))[FAIR_ON])
    assert {"fair", "signal: booked"} & {*other} == set()


def test_a_holiday_is_one_part_with_its_classes_and_its_eve_another(model, panel):
    days = by_day(explain(model, panel, "D1"))
    holiday = relative(days[KINGS_DAY])
    assert list(holiday) == [
        "level", "weekday", "holiday: King's Day", "network", "point shift",
    ]  # fmt: skip
    assert holiday["holiday: King's Day"] == pytest.approx(0.45 - 1, rel=0.02)
    eve = relative(days[KINGS_DAY - timedelta(days=1)])
    assert eve["the day before a holiday"] == pytest.approx(1.32 - 1, rel=0.02)


def test_a_holiday_s_part_is_what_the_forecast_loses_without_it(model, panel):
    """Compared with a second run of the model without the holiday; the network's share is 0."""
    model = replace(model, network_share=0.0)
    row = panel.depot_ids.index("D3")
    with_holiday, plain = (
        infer.forecast(model, each).p50_dh[row, 3] for each in (panel, fleet())
    )
    parts = {p.name: p for p in by_day(explain(model, panel, "D3"))[KINGS_DAY].parts}
    lost = parts["holiday: King's Day"].orders
    assert lost == pytest.approx(with_holiday - plain, rel=1e-4)
    assert parts["level"].orders + parts["weekday"].orders == pytest.approx(
        plain, rel=1e-4
    )
    assert parts["network"].orders == 0


def test_the_network_s_part_is_its_share_of_the_correction(model, panel):
    halved = replace(model, network_share=0.5)
    raw = predict.predict(halved, panel)
    each = explain(halved, panel, "D2")[0]
    before = sum(part.orders for part in each.parts[:-2])
    expected = (1 + before) * np.expm1(0.5 * raw.correction_dh[2, 0])
    assert each.parts[-2].orders == pytest.approx(expected, rel=1e-4)


def test_the_weekdays_of_a_week_are_around_its_level(model, panel):
    logs = [
        np.log1p([sum(p.orders for p in each.parts[:n]) for n in (1, 2)])
        for each in explain(model, panel, "D3")
    ]
    assert len({round(level, 6) for level, _ in logs}) == 1
    assert sum(day - level for level, day in logs) == pytest.approx(0, abs=1e-5)


def test_a_closed_day_has_one_part_of_nothing():
    panel = panel_of(closed=[7])
    each = by_day(explain(make_artefact(panel), panel, "D0"))[date(2024, 4, 28)]
    assert [(part.name, part.orders) for part in each.parts] == [("closed", 0.0)]
    assert (each.basis, each.point) == ("closed", 0.0)


def test_a_depot_without_history_is_explained_by_its_peers():
    demand = make_demand(n_days=DAYS)
    depots = make_depots(opened_on=[None] * 3 + [LAST + timedelta(days=1)])
    panel = panel_of(depots=depots, demand=demand[demand["depot_id"] != "D3"])
    model = make_artefact(panel)
    each = explain(model, panel, "D3")[2]
    assert each.basis == "cold_start"
    assert sum(part.orders for part in each.parts) == pytest.approx(each.point)
