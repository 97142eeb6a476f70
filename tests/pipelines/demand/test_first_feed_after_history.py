"""A feed that is late right after a shared history is not taken for days without orders."""

import pytest

from tests.pipelines.demand.test_observed_zeros import (
    BUSY,
    BUSY_CITY,
    DAYS,
    NEVER,
    YESTERDAY,
    load,
    observed,
    whole,
)

pytestmark = pytest.mark.db
LATE = YESTERDAY - 1
"""Two days ago: one day has passed since."""


def test_history_of_two_depots_in_one_file_then_one_file_a_depot_one_late(connection):
    """own-orders.md: "with one file a depot, one that is late is not taken for a day
    without orders, whatever came from the other depots"."""
    two = {"A": BUSY, "B": BUSY}
    files = [
        whole(two, 0, LATE - 1),
        *[{"B": {day: BUSY}} for day in range(LATE, DAYS)],
    ]
    load(connection, files)
    assert observed(connection).get(LATE, NEVER) == NEVER


def test_history_in_one_file_then_two_partners_of_which_one_is_late(connection):
    files = [
        whole(BUSY_CITY, 0, LATE - 1),
        *[{"C": {day: BUSY}, "D": {day: BUSY}} for day in range(LATE, DAYS)],
    ]
    load(connection, files)
    assert observed(connection).get(LATE, NEVER) == NEVER
