"""Panels state gaps, closures and what was known; nothing later leaks in."""

from datetime import date, timedelta
from functools import partial

import numpy as np
import pandas as pd
import pytest

from forecaster.data.calendar import HOLIDAY, NAMED_HOLIDAY
from forecaster.errors import CutoffError, NoDataError
from tests.make import (
    START,
    make_demand,
    make_depots,
    make_events,
    make_holidays,
    make_panel,
)

LAST = START + timedelta(days=59)


panel_of = partial(make_panel, 2, 60, 7)


def day(step):
    return START + timedelta(days=step)


def test_counts_lie_where_they_belong():
    demand = make_demand(2, 60).sample(frac=1, random_state=1)
    panel = panel_of(demand=demand)
    for row in demand.sample(20, random_state=2).to_dict("records"):
        depot = panel.depot_ids.index(row["depot_id"])
        assert panel.demand_dt[depot, panel.step(row["service_on"])] == row["orders"]


def test_a_missing_row_and_an_unknown_count_are_not_observed():
    demand = make_demand(2, 60)
    demand.loc[5, "orders"] = np.nan
    panel = panel_of(demand=demand.drop(index=8))
    assert np.flatnonzero(~panel.observed_dt[0]).tolist() == [5, 8]


def test_a_weekly_closing_day_is_closed_and_not_observed():
    depots = make_depots(2, closed_weekdays=[[7], []])
    panel = panel_of(depots=depots)
    sundays = [panel.day(step).isoweekday() == 7 for step in range(67)]
    np.testing.assert_array_equal(panel.closed_dt[0], sundays)
    assert not panel.observed_dt[0, 6]
    assert not panel.closed_dt[1].any()


def test_a_depot_is_closed_outside_its_life():
    depots = make_depots(
        2,
        opened_on=[START + timedelta(days=10), None],
        closed_on=[None, START + timedelta(days=50)],
    )
    panel = panel_of(depots=depots)
    assert np.flatnonzero(panel.closed_dt[0]).tolist() == list(range(10))
    assert np.flatnonzero(panel.closed_dt[1]).tolist() == list(range(50, 67))


@pytest.mark.parametrize(
    ("city", "depot_id", "who"),
    [("Ghent", None, [1]), (None, "D0", [0]), (None, None, [0, 1])],
)
def test_a_closure_holds_for_its_scope_and_its_last_day(city, depot_id, who):
    event = ("closed", date(2024, 1, 10), date(2024, 1, 11), city, depot_id, None)
    panel = panel_of(events=make_events(event))
    for depot in (0, 1):
        expected = [9, 10] if depot in who else []
        assert np.flatnonzero(panel.closed_dt[depot]).tolist() == expected


def test_events_of_single_depots_cost_memory_in_proportion_to_their_days():
    def calendar_of(n_depots, days):
        event = [
            (
                "promotion",
                day(row % 40),
                day(row % 40 + days - 1),
                None,
                f"D{row}",
                None,
            )
            for row in range(n_depots)
        ]
        return make_panel(n_depots, 60, 7, events=make_events(*event)).calendar

    few, many, longer = calendar_of(10, 1), calendar_of(80, 1), calendar_of(80, 3)
    assert few.active_gtk.shape == many.active_gtk.shape
    assert [len(each.own) for each in (few, many, longer)] == [10, 80, 240]


def test_an_own_event_has_the_value_of_the_one_announced_first():
    """Also if the other event is of the depot's whole city."""
    rows = [
        ("promotion", day(20), day(20), None, "D0", day(11)),
        ("promotion", day(20), day(20), "Ghent", None, day(15)),
        ("promotion", day(20), day(20), None, "D2", day(17)),
        ("promotion", day(20), day(20), None, "D3", day(18)),
    ]
    events = make_events(*rows).assign(value=[9.0, 5.0, 3.0, 2.0])
    depots = make_depots(4).assign(city=["Ghent", "Ghent", "Ghent", "Delft"])
    calendar = make_panel(4, 60, 7, depots=depots, events=events).calendar
    assert calendar.value_of("promotion")[:, 20].tolist() == [9.0, 5.0, 5.0, 2.0]


@pytest.mark.parametrize(("days", "knows"), [(39, False), (40, True), (59, True)])
def test_an_origin_does_not_know_what_was_announced_after_it(days, knows):
    events = make_events(
        ("promotion", LAST, LAST, None, None, day(40)),
        ("closed", LAST, LAST, None, "D0", day(40)),
    ).assign(value=[2.0, None])
    panel = make_panel(2, 60, 30, events=events)
    asked = panel.as_of(day(days))
    built = make_panel(2, 60, 30, events=events, through=day(days))
    step = panel.step(LAST)
    for origin in (asked, built):
        assert origin.calendar.of_kind("promotion")[0, step] == knows
        value_t = origin.calendar.value_of("promotion")[0]
        np.testing.assert_equal(value_t[step], np.float32(2.0 if knows else np.nan))
        assert origin.closed_dt[:, step].tolist() == [knows, False]
    of_d1 = panel.of_depots(slice(1, 2)).as_of(day(days))
    assert not of_d1.closed_dt.any()


def test_holidays_are_those_of_country_and_subdivision():
    holidays = pd.DataFrame(
        [
            ("NL", "", START, "New Year's Day"),
            ("BE", "", START + timedelta(days=1), "Elsewhere"),
            ("NL", "ZH", START + timedelta(days=2), "Here only"),
        ],
        columns=["country", "subdivision", "day_on", "name"],
    )
    depots = make_depots(2, subdivision=["ZH", None])
    panel = panel_of(depots=depots, holidays=holidays)
    marked = panel.calendar.of_kind(HOLIDAY)
    assert np.flatnonzero(marked[0]).tolist() == [0, 2]
    assert np.flatnonzero(marked[1]).tolist() == [0]


@pytest.mark.parametrize(
    "estimated",
    [
        ("Eid al-Fitr (estimated)", "Eid al-Fitr"),
        ("Eid al-Fitr (observed, estimated)", "Eid al-Fitr (observed)"),
    ],
)
def test_a_holiday_whose_date_is_estimated_is_the_one_of_earlier_years(estimated):
    rows = zip((START, day(40)), estimated[::-1], strict=True)
    panel = panel_of(depots=make_depots(1), holidays=make_holidays(*rows))
    [kind] = [kind for kind in panel.calendar.kinds if kind.startswith(NAMED_HOLIDAY)]
    assert kind == NAMED_HOLIDAY + estimated[1]
    assert np.flatnonzero(panel.calendar.of_kind(kind)[0]).tolist() == [0, 40]


def test_the_panel_of_an_earlier_origin_has_no_later_days():
    panel = make_panel(n_days=60, ahead=7)
    earlier = panel.as_of(START + timedelta(days=39))
    assert earlier.n_steps == 40
    assert earlier.ahead == 7
    assert earlier.origin == START + timedelta(days=39)
    np.testing.assert_array_equal(earlier.demand_dt, panel.demand_dt[:, :40])


def test_an_origin_outside_the_panel_is_refused():
    with pytest.raises(CutoffError, match=r"origin is 2023-12-31.*2024-01-01"):
        make_panel(n_days=60).as_of(date(2023, 12, 31))


def test_no_demand_says_how_to_load_some():
    with pytest.raises(NoDataError, match=r"no demand up to 2020-01-01.*harbor ingest"):
        panel_of(through=date(2020, 1, 1))


def with_values(*rows):
    """Promotions everywhere, from (first step, last step, value, known_from)."""
    events = make_events(
        *(
            ("promotion", day(first), day(last), None, None, known_from)
            for first, last, _, known_from in rows
        )
    )
    return panel_of(events=events.assign(value=[value for _, _, value, _ in rows]))


def test_the_value_of_an_event_stands_on_its_days():
    calendar = with_values((3, 4, 0.25, None), (8, 8, None, None)).calendar
    value_t = calendar.value_of("promotion")[0]
    assert value_t[3:5].tolist() == [0.25, 0.25]
    assert np.isfinite(value_t).sum() == 2
    assert calendar.of_kind("promotion")[0, 8]
    assert np.isnan(calendar.value_of("game")).all()


def test_without_any_value_no_array_of_values_is_kept():
    assert with_values((3, 4, None, None)).calendar.value_gtk is None


@pytest.mark.parametrize("turned", [False, True], ids=["as loaded", "turned"])
def test_of_two_events_of_a_kind_the_value_is_of_the_one_announced_first(turned):
    """The value of the event announced later would be visible before its announcement."""
    rows = [
        (3, 4, 0.1, day(1)),
        (4, 5, 0.5, day(2)),
        (8, 8, 0.2, None),
        (8, 8, 0.3, None),
    ]
    value_t = with_values(*rows[:: -1 if turned else 1]).calendar.value_of("promotion")[
        0
    ]
    np.testing.assert_allclose(value_t[[3, 4, 5, 8]], [0.1, 0.1, 0.5, 0.3])


def test_a_part_of_the_calendar_keeps_its_values():
    events = make_events(("promotion", day(5), day(5), None, "D1", None)).assign(
        value=2.0
    )
    panel = make_panel(4, 60, 7, events=events)
    last, part = panel.last(57), panel.of_depots(slice(1, 2))
    assert last.calendar.value_of("promotion")[1, 2] == 2.0
    assert part.calendar.value_of("promotion")[0, 5] == 2.0
