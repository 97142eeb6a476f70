"""The panel begins at the first observed day."""

from datetime import date, timedelta

import pytest

from pipelines.demand import counting
from pipelines.demand.panels import read_panel
from tests.pipelines.make import START, add_fleet, midnight_after, query

LAST = START + timedelta(days=119)


@pytest.fixture
def fleet(clean_engine):
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=3, n_days=120)
    return clean_engine


def test_blank_counts_before_the_first_known_day_are_no_history(fleet):
    first = date(2024, 4, 5)
    blank = "update daily_counts set orders = null where service_on < :day"
    query(fleet, blank, day=first)
    counting.rebuild(fleet, midnight_after(LAST))
    assert read_panel(fleet, LAST).start_on == first


def test_a_withdrawn_day_of_years_ago_is_no_history(fleet):
    """A stray count of 2021 is loaded, and then taken away."""
    stray = (
        "insert into daily_counts (depot_id, service_on, orders, file_id) "
        "values ('A0', '2021-01-01', 5, 1)"
    )
    for statement in (
        stray,
        "delete from daily_counts where service_on = '2021-01-01'",
    ):
        query(fleet, statement)
        counting.rebuild(fleet, midnight_after(LAST))
    assert read_panel(fleet, LAST).start_on == START
