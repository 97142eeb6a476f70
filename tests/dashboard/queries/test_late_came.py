"""When a night's late orders have come: each depot's own day that was due, not the origin."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from dashboard.queries import pipeline
from pipelines.demand import counting, feed_freshness
from pipelines.runs.ledger import recorded
from tests.pipelines.make import add_counts, add_depot

WEST, EAST = "Etc/GMT+12", "Pacific/Kiritimati"  # 26 hours apart


def late_night(engine, origin: date) -> None:
    """Records a night whose forecast lacked the orders of one depot, W."""
    with recorded(engine, "nightly", origin) as night:
        with recorded(engine, "forecast", origin, parent=night) as step:
            with engine.connect() as connection:
                late = feed_freshness.read_lateness(connection, origin)
            step.metrics |= late.metrics()
        night.metrics |= {"late_depots": late.n_late}
    assert late.n_late == 1


def count_more(engine, day: date, now: datetime) -> None:
    with engine.begin() as connection:
        add_counts(connection, ["W"], [day], 5)
    counting.rebuild(engine, now)


def come_at() -> pd.Timestamp:
    runs = pipeline.runs()
    return runs.loc[runs["step"] == "nightly", "late_came_at"].iloc[0]


@pytest.fixture
def west_is_late(clean_engine) -> tuple[date, date]:
    """A night that lacked W's day before the origin, which still ran at W; both days."""
    now = datetime.now(UTC)
    origin, missing = (
        now.astimezone(ZoneInfo(zone)).date() - timedelta(days=1)
        for zone in (EAST, WEST)
    )
    last = {"E": origin, "F": origin, "W": missing - timedelta(days=1)}
    with clean_engine.begin() as connection:
        for depot_id, day in last.items():
            zone = WEST if depot_id == "W" else EAST
            add_depot(connection, depot_id, city=zone, timezone=zone)
            days = [day - timedelta(days=n) for n in range(10)]
            add_counts(connection, [depot_id], days, 5)
    counting.rebuild(clean_engine, now)
    late_night(clean_engine, origin)
    return origin, missing


def test_late_orders_of_a_depot_in_the_west(dashboard, clean_engine, west_is_late):
    _, missing = west_is_late
    assert pd.isna(come_at())
    pipeline.runs.clear()
    count_more(clean_engine, missing, datetime.now(UTC))
    assert not pd.isna(come_at())


def test_a_later_day_is_not_the_missing_one(dashboard, clean_engine, west_is_late):
    origin, _ = west_is_late
    count_more(clean_engine, origin, datetime.now(UTC) + timedelta(days=2))
    assert pd.isna(come_at())


def test_the_late_file_of_a_depot_that_was_closed_on_the_origin(
    dashboard, clean_engine
):
    now = datetime.now(UTC)
    origin = now.date() - timedelta(days=1)
    with clean_engine.begin() as connection:
        add_depot(connection, "E", timezone="UTC", city="E")
        closed = [origin.isoweekday()]
        add_depot(connection, "W", timezone="UTC", city="W", closed_weekdays=closed)
        days = [origin - timedelta(days=n) for n in range(10)]
        add_counts(connection, ["E"], days, 5)
        add_counts(connection, ["W"], days[2:7], 5)
    counting.rebuild(clean_engine, now)
    late_night(clean_engine, origin)
    count_more(clean_engine, days[1], datetime.now(UTC))
    assert not pd.isna(come_at())
