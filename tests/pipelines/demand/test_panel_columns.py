"""Panels read in packed columns equal a plain loop over rows of the same tables."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from forecaster.data.panel_builder import build_panel
from pipelines.demand import counting
from pipelines.demand.panels import (
    MAX_CALENDAR_DAYS_AHEAD,
    PanelsAsKnown,
    knowledge_cutoff,
    read_panel,
)
from pipelines.schema import demand_versions
from pipelines.store import panel as store
from tests.pipelines.demand.test_panels import DAYS, LAST, ZONE, morning_after
from tests.pipelines.make import START, add_depot, add_event, add_fleet, correct_count

NEWEST = LAST + timedelta(days=8)


@pytest.fixture
def fleet(clean_engine):
    """Four depots with eight nights of corrections, large and unknown counts, and a closed week."""
    rng = np.random.default_rng(7)
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=4, n_days=DAYS)
        nine, six, three = (LAST - timedelta(days=ago) for ago in (9, 6, 3))
        add_event(connection, "closed", nine, three, depot_id="A1", known_from=six)
    counting.rebuild(clean_engine, morning_after(LAST))
    for night in range(1, 9):
        with clean_engine.begin() as connection:
            for depot in range(4):
                day = START + timedelta(days=int(rng.integers(DAYS)))
                orders = [None, 0, 16_777_217, 2**40 + 1][rng.integers(4)]
                correct_count(connection, f"A{depot}", day, orders)
        counting.rebuild(clean_engine, morning_after(LAST + timedelta(days=night)))
    return clean_engine


def rows_of(engine, statement):
    with engine.connect() as connection:
        result = connection.execute(sa.text(statement))
        return pd.DataFrame(result.fetchall(), columns=list(result.keys()))


def assert_same(panel, expected):
    assert panel.depot_ids == expected.depot_ids
    assert panel.start_on == expected.start_on
    assert panel.demand_dt.dtype == expected.demand_dt.dtype == np.float32
    np.testing.assert_array_equal(panel.demand_dt, expected.demand_dt)
    np.testing.assert_array_equal(panel.closed_dt, expected.closed_dt)
    np.testing.assert_array_equal(
        panel.calendar.active_gtk, expected.calendar.active_gtk
    )


def test_the_newest_panel_is_that_of_the_rows_to_the_last_digit(fleet):
    demand = rows_of(
        fleet,
        "select depot_id, service_on, orders::float8 as orders from demand_versions "
        "where superseded_at is null",
    )
    events = rows_of(fleet, "select * from events")
    depots, holidays = (rows_of(fleet, sql) for sql in (store.DEPOTS, store.HOLIDAYS))
    wholes = [PanelsAsKnown(fleet, day, ZONE) for day in (LAST, NEWEST)]
    for origin in (LAST, LAST - timedelta(days=5), START):
        expected = build_panel(
            depots, demand, events, holidays, origin, MAX_CALENDAR_DAYS_AHEAD
        )
        assert_same(read_panel(fleet, origin), expected)
        for panels in wholes:
            assert_same(panels.with_newest_counts(origin), expected)


def known_counts(engine, origin):
    """Orders by depot and day as known at an origin, version by version."""
    cutoff = knowledge_cutoff(origin, ZONE)
    known = {}
    with engine.connect() as connection:
        for row in connection.execute(
            sa.select(demand_versions).order_by(demand_versions.c.version)
        ):
            if row.version == 1 or row.known_at <= cutoff:
                known[row.depot_id, row.service_on] = row.orders
    return known


def test_a_panel_as_known_is_that_of_a_loop_over_the_versions(fleet):
    panels = PanelsAsKnown(fleet, NEWEST, ZONE)
    for days in (-3, 0, 1, 4, 8):
        origin = LAST + timedelta(days=days)
        known = known_counts(fleet, origin)
        assert any(value and value > 2**24 for value in known.values()) or days < 1
        assert_as_known(panels.at(origin), known)


def assert_as_known(panel, known):
    for depot, depot_id in enumerate(panel.depot_ids):
        for step in range(panel.n_steps):
            value = panel.demand_dt[depot, step]
            orders = known.get((depot_id, panel.day(step)))
            if orders is None or panel.closed_dt[depot, step]:
                assert np.isnan(value)
            else:
                assert value == np.float32(orders)


def test_counts_of_thousands_of_days_of_a_depot_come_whole(clean_engine):
    """Postgres returns a long packed row in several parts."""
    first = date(2000, 1, 1)
    with clean_engine.begin() as connection:
        add_depot(connection, "A0")
        connection.execute(
            sa.text(
                "insert into demand_versions (depot_id, service_on, version, orders, "
                "known_at) select 'A0', cast(:first as date) + n, 1, n, now() "
                "from generate_series(0, 7999) n"
            ),
            {"first": first},
        )
    panel = read_panel(clean_engine, first + timedelta(days=7999))
    np.testing.assert_array_equal(panel.demand_dt[0], np.arange(8000))
