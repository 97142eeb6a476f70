"""A forecast taken apart adds up, and each part is what its cause adds."""

from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.inference import decomposition
from pipelines import schema

pytestmark = pytest.mark.db
PARTS = ["level", "weekday", "holiday", "events"]


def test_the_parts_add_up_to_the_forecast_shown(dashboard, fresh):
    parts = decomposition.drivers("LON-01", fresh)
    assert len(parts) == fresh.horizon
    np.testing.assert_allclose(parts[PARTS].sum(axis=1), parts["forecast"])
    assert (parts["forecast"] > 0).all()


def test_an_event_ahead_is_in_its_part_and_in_no_other_day(seeded, write):
    before = decomposition.drivers("RTM-02", queries.freshness())
    day = seeded.through + timedelta(days=3)
    write(
        sa.insert(schema.events).values(
            kind="promotion",
            starts_on=day,
            ends_on=day,
            depot_id="RTM-02",
            file_id=1,
        )
    )
    decomposition.drivers.clear()
    after = decomposition.drivers("RTM-02", queries.freshness())
    moved = ~np.isclose(after["events"], before["events"])
    assert moved[2]
    # The days before the event know nothing of it; the day after may.
    assert not moved[[0, 5, 6]].any()
    np.testing.assert_allclose(after["forecast"], before["forecast"])


def test_a_holiday_ahead_is_in_its_part(seeded, write):
    before = decomposition.drivers("LON-01", queries.freshness())
    day = seeded.through + timedelta(days=2)
    write(
        sa.insert(schema.public_holidays).values(
            country="GB", subdivision="", day_on=day, name="A day off"
        )
    )
    decomposition.drivers.clear()
    after = decomposition.drivers("LON-01", queries.freshness())
    assert not np.isclose(after["holiday"][1], before["holiday"][1])
    np.testing.assert_allclose(after["level"], before["level"])


def test_a_usual_day_is_the_mean_of_the_last_four_weeks(fresh, seeded):
    orders = seeded.demand[seeded.demand["depot_id"] == "LON-01"]["orders"].dropna()
    usual = np.exp(np.log(orders.tail(28) + 1).mean()) - 1
    level = decomposition.drivers("LON-01", fresh)["level"]
    np.testing.assert_allclose(level, usual)
