"""A file that is lost, late or of another time zone does not make a day without orders."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from pipelines.schema import daily_counts
from pipelines.store.demand import recount
from tests.pipelines.demand.test_observed_zeros import (
    BUSY,
    BUSY_CITY,
    DAYS,
    MONDAY,
    apart,
    daily,
    load,
    observed,
)
from tests.pipelines.demand.test_partial_days import DAY, LAST, add_file, at, counts_of
from tests.pipelines.make import add_depot

EAST, WEST = ZoneInfo("America/New_York"), ZoneInfo("America/Los_Angeles")
QUIET_SUNDAY = 3


@pytest.mark.parametrize("lost", [(14,), (14, 15), (19,)])
def test_a_lost_file_beside_a_quiet_sunday_is_not_0(connection, lost):
    """A file a day of one depot, which is busy on all days but Sundays."""
    files = [
        {"A": {day: QUIET_SUNDAY if day % 7 == 6 else BUSY}}
        for day in range(DAYS)
        if day not in lost
    ]
    load(connection, files)
    counts = observed(connection)
    assert counts[13] == counts[20] == QUIET_SUNDAY
    assert not set(lost) & counts.keys()


def test_the_day_after_a_quiet_one_waits_for_another_file(connection):
    """The city's file of a Sunday came without A, whose Saturdays, not Sundays, are quiet."""
    files = [
        {
            depot: {day: QUIET_SUNDAY if depot == "A" and day % 7 == 5 else BUSY}
            for depot in "ABCD"
            if (depot, day) != ("A", DAYS - 1)
        }
        for day in range(DAYS)
    ]
    load(connection, files)
    assert DAYS - 1 not in observed(connection)


@pytest.mark.parametrize("lost", [19, 20])
def test_after_an_outage_a_lost_file_is_not_taken_for_a_rest(connection, lost):
    outage = [("A", day) for day in (*range(lost - 14, lost - 6), lost)]
    load(connection, apart(BUSY_CITY, outage))
    counts = observed(connection)
    assert counts[lost - 1] == BUSY
    assert lost not in counts


def test_a_single_daily_count_is_a_correction_and_not_a_feed(connection):
    """A's Saturday and Sunday have no orders in the city's files."""
    load(connection, daily(BUSY_CITY, [("A", 12), ("A", 13)]))
    assert [observed(connection)[day] for day in (12, 13)] == [0, 0]
    row = {"depot_id": "A", "orders": 3, "file_id": 100}
    saturday = MONDAY + timedelta(days=12)
    connection.execute(sa.insert(daily_counts).values(service_on=saturday, **row))
    assert [observed(connection)[day] for day in (12, 13)] == [3, 0]


@pytest.mark.parametrize("day", [17, 20])
def test_a_day_missing_from_daily_files_is_not_0(connection, day):
    files = [
        {d: c for d, c in file.items() if not (d == "A" and n >= 10)}
        for n, file in enumerate(daily(BUSY_CITY))
    ]
    load(connection, files)
    rows = [
        {
            "depot_id": "A",
            "service_on": MONDAY + timedelta(days=d),
            "orders": BUSY,
            "file_id": 100 + d,
        }
        for d in range(10, DAYS)
        if d != day
    ]
    connection.execute(sa.insert(daily_counts), rows)
    counts = observed(connection)
    assert counts[day - 1] == BUSY
    assert day not in counts


def orders_of(connection, depot, now):
    return counts_of(connection, depot, now, EAST)


def add_nights_of_two_zones(connection):
    """Files of 00:30 in New York: 21:30 of the day before in Los Angeles, which sells till 23."""
    for depot in "EF":
        add_depot(connection, depot, timezone=EAST.key)
    add_depot(connection, "W", timezone=WEST.key)
    for back in range(20, -1, -1):
        day = LAST - timedelta(days=back)
        add_file(
            connection,
            datetime.combine(day + timedelta(days=1), time(0, 30), EAST),
            *[(depot, day, range(8, 22)) for depot in "EF"],
            ("W", day - timedelta(days=1), (22, 23)),
        )


def test_a_day_that_is_whole_in_the_east_is_not_yet_0_in_the_west(connection):
    add_nights_of_two_zones(connection)
    night = datetime.combine(LAST + timedelta(days=1), time(4, 30), EAST)
    counts = orders_of(connection, "W", night)
    assert counts[LAST - timedelta(days=1)] == 2
    assert LAST not in counts


def test_it_is_0_once_the_east_has_sent_a_file_after_its_end(connection):
    add_nights_of_two_zones(connection)
    day = LAST + timedelta(days=1)
    add_file(
        connection,
        datetime.combine(day + timedelta(days=1), time(0, 30), EAST),
        *[(depot, day, range(8, 22)) for depot in "EF"],
    )
    counts = orders_of(
        connection, "W", datetime.combine(day + timedelta(days=1), time(4, 30), EAST)
    )
    assert counts[LAST] == 0
    assert day not in counts


def test_a_running_day_in_the_west_is_no_evidence_of_the_evening_in_the_east(
    connection,
):
    """Files of 16:00 in New York, the last of which is followed by none."""
    add_depot(connection, "E", timezone=EAST.key)
    for depot in "VW":
        add_depot(connection, depot, timezone=WEST.key)
    for back in range(20, -1, -1):
        day = LAST - timedelta(days=back)
        eve = day - timedelta(days=1)
        add_file(
            connection,
            datetime.combine(day, time(16), EAST),
            *[(depot, eve, range(13, 24)) for depot in "VW"],
            *[(depot, day, range(8, 13)) for depot in "VW"],
            ("E", eve, (19, 20)),
        )
    now = datetime.combine(LAST + timedelta(days=1), time(1), EAST)
    counts = orders_of(connection, "E", now)
    assert counts[LAST - timedelta(days=1)] == 2
    assert LAST not in counts


def add_hours_of_weekdays(connection, ends, first_hour=9):
    """A file an hour, none on weekends.

    Args:
      ends: The last hour of each depot's last Friday.
      first_hour: Hour of the first file of the Monday after it.

    Returns:
      This Friday, and the time of a later count.
    """
    for depot in ends:
        add_depot(connection, depot)
    friday = date(2024, 3, 22)
    for back in (n for n in range(28, -4, -1) if (friday - n * DAY).weekday() < 5):
        day = friday - back * DAY
        for hour in range(first_hour if back < 0 else 8, 22):
            parts = [
                (depot, day, (hour,))
                for depot, end in ends.items()
                # A opens at nine, the others usually at eight.
                if (hour > 8 or (depot != "A" and (back + 1) % 5))
                and (back or hour <= end)
            ]
            if parts:
                add_file(connection, at(day, time(hour, 10)), *parts)
        recount(connection, day, at(day, time(22)))
    return friday, at(friday + 4 * DAY, time(5))


def test_a_depot_that_closes_early_before_a_weekend_is_observed_if_others_went_on(
    connection,
):
    friday, now = add_hours_of_weekdays(connection, {"A": 14, "B": 21, "C": 21})
    assert counts_of(connection, "A", now)[friday] == 6
    assert counts_of(connection, "B", now)[friday] == 14


def test_a_stream_that_was_lost_before_a_weekend_leaves_days_that_are_not_observed(
    connection,
):
    friday, now = add_hours_of_weekdays(connection, dict.fromkeys("ABC", 14), 15)
    counts = counts_of(connection, "A", now)
    assert not {friday, friday + 3 * DAY} & counts.keys()
