"""Whose counts have come: one definition, by the depot's open days."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from pipelines.schema import runs
from pipelines.store import late_depots
from tests.pipelines.make import add_depot, add_event

SUNDAY = date(2024, 3, 31)
A_DAY = timedelta(days=1)


def count_through(connection, depot_id, last_on, days=30):
    connection.execute(
        sa.text(
            "insert into demand_versions (depot_id, service_on, version, orders, known_at) "
            "select :depot_id, cast(:last_on as date) - day, 1, 5, now() "
            "from generate_series(0, :days - 1) as day"
        ),
        {"depot_id": depot_id, "last_on": last_on, "days": days},
    )


def missing_days(connection, day=SUNDAY):
    found = late_depots.expected(connection, day)
    return {depot.depot_id: depot.missing for depot in found if depot.is_late}


@pytest.mark.parametrize(
    ("columns", "behind", "missing"),
    [
        pytest.param({}, 0, None, id="its count has come"),
        pytest.param({}, 1, 1, id="the newest day is missing"),
        pytest.param({}, 3, 3, id="three days are missing"),
        pytest.param({"closed_weekdays": [7]}, 1, None, id="never open on Sundays"),
        pytest.param(
            {"closed_weekdays": [7]},
            2,
            1,
            id="closed on Sunday, and Saturday is missing",
        ),
        pytest.param({"closed_on": SUNDAY}, 1, None, id="closed for good that day"),
        pytest.param({"opened_on": SUNDAY + A_DAY}, 9, None, id="not open yet"),
        pytest.param({}, 14, 14, id="silent for a fortnight"),
        pytest.param({}, 15, None, id="silent for longer: nobody waits any more"),
    ],
)
def test_a_depot_is_late_that_lacks_the_last_day_it_was_open(
    connection, columns, behind, missing
):
    add_depot(connection, "A", **columns)
    count_through(connection, "A", SUNDAY - behind * A_DAY)
    assert missing_days(connection) == ({} if missing is None else {"A": missing})
    late = [each for each in late_depots.expected(connection, SUNDAY) if each.is_late]
    is_waited_for = missing is not None
    assert [each.last_on for each in late] == is_waited_for * [SUNDAY - behind * A_DAY]


def test_a_depot_that_an_event_closed_is_not_late(connection):
    add_depot(connection, "A")
    count_through(connection, "A", SUNDAY - A_DAY)
    add_event(connection, "closed", SUNDAY, city="Delft")
    assert missing_days(connection) == {}


@pytest.mark.parametrize(("opened_on", "expected"), [(None, 0), (SUNDAY, 1)])
def test_a_depot_without_a_count_is_expected_from_its_opening_day(
    connection, opened_on, expected
):
    add_depot(connection, "A", opened_on=opened_on)
    assert late_depots.expected(connection, SUNDAY) == []
    silent = sa.text(f"{late_depots.FRESHNESS} select is_silent from fresh")
    assert connection.scalars(silent, {"as_of": SUNDAY}).all() == [bool(expected)]


def test_a_day_that_is_not_over_at_a_depot_is_not_missing_there(connection):
    add_depot(connection, "A")
    today = connection.scalar(
        sa.text("select (now() at time zone 'Europe/Amsterdam')::date")
    )
    count_through(connection, "A", today - A_DAY)
    assert missing_days(connection, today) == {}


@pytest.mark.parametrize(("counted", "missing"), [("before", {}), ("after", {"N": 1})])
def test_a_day_not_over_at_the_last_count_is_not_missing_before_the_next(
    connection, counted, missing
):
    # 05:00 UTC is New York's midnight; the file was loaded and counted at 04:00.
    add_depot(connection, "A")
    add_depot(connection, "N", timezone="America/New_York")
    count_through(connection, "A", SUNDAY)
    count_through(connection, "N", SUNDAY - A_DAY)
    midnight = datetime.combine(SUNDAY + A_DAY, time(), ZoneInfo("America/New_York"))
    an_hour = timedelta(hours=1 if counted == "after" else -1)
    # The clock of the first one was ahead.
    for started_at in (midnight + 40 * A_DAY, midnight + an_hour):
        connection.execute(
            sa.insert(runs).values(
                step="demand", state="done", metrics={"new": 1, "corrected": 0},
                started_at=started_at, host="h", pid=1,
            )
        )  # fmt: skip
    assert missing_days(connection) == missing
    # Nobody's count of the next day has come: by the clock it should have.
    assert set(missing_days(connection, SUNDAY + A_DAY)) == {"A", "N"}


@pytest.mark.parametrize("days", [0, 1, 13, 14, 20, 40])
def test_data_of_a_fleet_that_sends_nothing_is_late_by_all_its_days(connection, days):
    for depot in ("A", "B"):
        add_depot(connection, depot)
        count_through(connection, depot, SUNDAY - days * A_DAY)
    assert late_depots.newest_open_day(connection, SUNDAY) == SUNDAY


def test_a_day_on_which_only_silent_depots_were_open_is_not_waited_for(connection):
    add_depot(connection, "A", closed_weekdays=[7])
    count_through(connection, "A", SUNDAY - A_DAY)
    add_depot(connection, "B")
    count_through(connection, "B", SUNDAY - 20 * A_DAY)
    assert late_depots.newest_open_day(connection, SUNDAY) == SUNDAY - A_DAY
