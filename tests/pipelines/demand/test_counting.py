"""Orders become demand on the right local day; missing, zero and unknown counts stay apart."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from forecaster.errors import BadInputError
from pipelines.demand.counting import default_origin, rebuild, require_complete_day
from pipelines.scheduling.schedule import origin_at
from pipelines.schema import orders
from pipelines.settings import Settings
from pipelines.store import depots as depot_store
from pipelines.store import order_counts
from pipelines.store.demand import on_closed_days, recount, unknown_days
from tests.pipelines.make import add_counts, add_depot, add_event, add_orders

TODAY = date(2024, 12, 31)
NOW = datetime(2024, 12, 31, 5, tzinfo=UTC)
MORNINGS = ("2024-12-29T10:00", "2024-12-30T10:00")


def demand(connection, today=TODAY, now=NOW):
    recount(connection, today, now)
    found = connection.execute(
        sa.text(
            "select depot_id, service_on::text, orders from demand_versions "
            "where superseded_at is null order by 1, 2"
        )
    )
    return [tuple(row) for row in found]


def test_a_time_without_offset_is_the_depots_own(connection):
    add_depot(connection, timezone="Pacific/Auckland")
    add_orders(connection, "A", "2024-03-01T00:00:00", "2024-03-01T23:59:59")
    assert demand(connection) == [("A", "2024-03-01", 2)]


def test_a_time_with_an_offset_is_told_in_the_depots_zone(connection):
    add_depot(connection, timezone="America/New_York")
    add_orders(connection, "A", ("2024-03-02T04:59:00", 0), ("2024-03-02T05:00:00", 0))
    assert demand(connection) == [("A", "2024-03-01", 1), ("A", "2024-03-02", 1)]


@pytest.mark.parametrize(
    ("day", "first_utc", "next_utc"),
    [
        pytest.param("2024-03-31", "2024-03-30T23", "2024-03-31T22", id="23 hours"),
        pytest.param("2024-10-27", "2024-10-26T22", "2024-10-27T23", id="25 hours"),
    ],
)
def test_days_on_which_clocks_change_keep_their_hours(
    connection, day, first_utc, next_utc
):
    add_depot(connection)
    for moment in map(datetime.fromisoformat, (first_utc, next_utc)):
        for at in (moment - timedelta(minutes=1), moment):
            add_orders(connection, "A", (at.isoformat(), 0))
    counted = {service_on: count for _, service_on, count in demand(connection)}
    assert counted[day] == 2
    assert sum(counted.values()) == 4


def test_what_a_clock_a_day_ahead_has_counted_is_not_observed_until_the_day_is_over(
    connection,
):
    add_depot(connection)
    add_orders(connection, "A", "2024-12-29T10:00", "2024-12-30T10:00")
    day, known = timedelta(days=1), [("A", "2024-12-29", 1)]
    noon = datetime(2024, 12, 30, 12, tzinfo=UTC)
    counted = [*known, ("A", "2024-12-30", 1)]
    assert demand(connection, TODAY, noon + day) == counted
    for _ in range(2):
        assert demand(connection, TODAY - day, noon) == [
            *known,
            ("A", "2024-12-30", None),
        ]
    add_orders(connection, "A", "2024-12-30T16:00")
    assert demand(connection) == [*known, ("A", "2024-12-30", 2)]


@pytest.mark.parametrize(
    ("columns", "ordered_on", "expected"),
    [
        ({"closed_on": date(2024, 3, 4)}, 2, {2: 1, 3: 0}),
        ({"opened_on": date(2024, 3, 2)}, 4, {2: 0, 3: 0, 4: 1, 5: 0}),
    ],
    ids=["from its first order until it closes", "from the day it opened"],
)
def test_a_depot_has_zeros_between_its_first_day_and_its_last(
    connection, columns, ordered_on, expected
):
    add_depot(connection, "A")
    add_depot(connection, "B", **columns)
    add_orders(connection, "A", *(f"2024-03-0{day}T10:00" for day in range(1, 6)))
    add_orders(connection, "B", f"2024-03-0{ordered_on}T10:00")
    of_b = {day: orders for depot, day, orders in demand(connection) if depot == "B"}
    assert of_b == {f"2024-03-0{day}": orders for day, orders in expected.items()}


def test_a_count_made_elsewhere_outranks_orders_and_may_be_unknown(connection):
    add_depot(connection)
    add_orders(connection, "A", "2024-03-01T10:00", "2024-03-02T10:00")
    for day, count in ((1, 40), (3, None)):
        add_counts(connection, ["A"], [date(2024, 3, day)], count)
    assert demand(connection) == [
        ("A", "2024-03-01", 40),
        ("A", "2024-03-02", 1),
        ("A", "2024-03-03", None),
    ]


def versions(connection):
    found = connection.execute(
        sa.text(
            "select version, orders, known_at, superseded_at from demand_versions "
            "order by service_on, version"
        )
    )
    return [tuple(row) for row in found]


def test_a_first_count_is_known_on_the_next_local_morning_whenever_it_was_loaded(
    connection,
):
    add_depot(connection)
    add_orders(connection, "A", "2024-07-01T10:00")
    recount(connection, TODAY, NOW)
    morning = datetime(2024, 7, 2, 2, tzinfo=UTC)
    assert versions(connection) == [(1, 1, morning, None)]


def test_a_correction_is_appended_and_known_when_it_arrives(connection):
    add_depot(connection)
    add_orders(connection, "A", "2024-07-01T10:00")
    recount(connection, TODAY, NOW)
    add_orders(connection, "A", "2024-07-01T11:00")
    change = recount(connection, TODAY, NOW)
    assert (change.new, change.corrected) == (0, 1)
    first, second = versions(connection)
    assert first[:2] == (1, 1)
    assert first[3] == NOW
    assert second == (2, 2, NOW, None)


def test_an_order_moved_to_another_day_leaves_its_old_day_unknown_not_stale(connection):
    add_depot(connection)
    add_orders(connection, "A", "2024-07-01T10:00")
    recount(connection, TODAY, NOW)
    connection.execute(sa.update(orders).values(ordered_local=datetime(2024, 7, 2, 9)))  # noqa: DTZ001
    order_counts.mark_all(connection)
    assert demand(connection) == [("A", "2024-07-01", None), ("A", "2024-07-02", 1)]


def test_a_depot_further_west_does_not_erase_the_newest_day(connection):
    add_depot(connection)
    add_orders(connection, "A", "2024-12-29T10:00", "2024-12-30T10:00")
    recount(connection, TODAY, NOW)
    before = versions(connection)
    recount(connection, TODAY - timedelta(days=1), NOW)
    assert versions(connection) == before


def test_a_day_counts_once_it_is_over_at_its_depot(connection):
    """At 05:00 UTC it is 19:00 of the day before in Honolulu."""
    add_depot(connection, "A")
    add_depot(connection, "H", timezone="Pacific/Honolulu")
    for depot_id in "AH":
        add_orders(connection, depot_id, "2024-12-29T10:00", "2024-12-30T10:00")
    assert demand(connection) == [
        ("A", "2024-12-29", 1),
        ("A", "2024-12-30", 1),
        ("H", "2024-12-29", 1),
    ]
    evening = NOW + timedelta(hours=12)
    assert ("H", "2024-12-30", 1) in demand(connection, now=evening)


@pytest.mark.parametrize(
    "second",
    [
        pytest.param({"closed_on": date(2020, 1, 1)}, id="closed for good in 2020"),
        pytest.param({}, id="never heard of"),
        pytest.param({"city": "Ghent"}, id="one mistyped zone among three"),
    ],
)
def test_a_depot_far_to_the_west_holds_nobody_back(clean_engine, second):
    with clean_engine.begin() as connection:
        for depot_id in "ABC":
            add_depot(connection, depot_id)
            add_orders(connection, depot_id, *MORNINGS)
        add_depot(connection, "H", timezone="Pacific/Honolulu", **second)
        if "city" in second:
            add_orders(connection, "H", *MORNINGS)
    rebuild(clean_engine, NOW)
    assert default_origin(clean_engine) == date(2024, 12, 30)
    settings = Settings(timezone="Europe/Amsterdam")
    assert origin_at(clean_engine, settings, NOW) == date(2024, 12, 30)


def test_a_mended_zone_recounts_the_days(connection):
    add_depot(connection, timezone="UTC")
    add_orders(connection, "A", ("2024-07-01T23:30", 0))
    recount(connection, TODAY, NOW)
    with depot_store.follow_changes(connection):
        connection.execute(sa.text("update depots set timezone = 'Europe/Amsterdam'"))
    assert ("A", "2024-07-02", 1) in demand(connection)


def test_past_days_without_a_count_are_known_by_depot(connection):
    add_depot(connection, "A", closed_weekdays=[7])  # 3 March 2024 was a Sunday
    for depot_id in "BCD":
        add_depot(connection, depot_id)
    days = [date(2024, 3, day) for day in range(1, 8)]
    add_counts(connection, ["A"], [days[0], *days[5:]], 4)
    add_counts(connection, ["B"], days[:4], 4)
    add_counts(connection, ["C"], days[5:], 4)
    add_counts(connection, ["D"], days, None)
    recount(connection, TODAY, NOW)
    second, fourth, fifth, sixth, seventh = (days[each] for each in (1, 3, 4, 5, 6))
    # A's Saturday, Monday and Tuesday; B's days after its last count; none of D: not started.
    expected = {second: 1, fourth: 1, fifth: 2, sixth: 1, seventh: 1}
    assert unknown_days(connection, days[0]) == expected
    assert unknown_days(connection, sixth) == {}


def test_orders_on_closed_days_are_kept_and_told(connection):
    add_depot(connection, "A", closed_weekdays=[7])  # 3 March 2024 was a Sunday
    add_depot(connection, "B", closed_on=date(2024, 3, 5))
    add_depot(connection, "C", city="Ghent")
    days = [f"2024-03-0{day}T10:00" for day in range(1, 7)]
    for depot_id in "ABC":
        add_orders(connection, depot_id, *days)
    first, second, sixth = (date(2024, 3, day) for day in (1, 2, 6))
    add_event(connection, "closed", first, second, city="Ghent")
    add_event(connection, "promotion", first, sixth)
    counted = demand(connection)
    assert ("A", "2024-03-03", 1) in counted
    found = on_closed_days(connection, date(2024, 3, 1))
    # A's Sunday, B's 5 and 6 March, Ghent's 1 and 2 March.
    assert (found.days, found.orders, found.last_on) == (5, 5, date(2024, 3, 6))
    later = on_closed_days(connection, date(2024, 3, 6))
    assert later.days == 1
    assert on_closed_days(connection, date(2024, 3, 7)).last_on is None


def test_a_correction_too_far_back_is_left_and_told(connection):
    add_depot(connection)
    days = [f"2024-03-0{day}T12:00" for day in range(1, 6)]
    add_orders(connection, "A", *days)
    recount(connection, date(2024, 3, 6), NOW)
    add_orders(connection, "A", "2024-03-01T13:00", *days[2:4], days[3])
    change = recount(connection, date(2024, 3, 6), NOW, look_back_days=2)
    assert (change.new, change.corrected, change.left_old) == (0, 2, 1)
    # Days that were never counted are counted, however old.
    add_orders(connection, "A", "2024-02-01T12:00")
    change = recount(connection, date(2024, 3, 6), NOW, look_back_days=2)
    assert (change.new, change.corrected, change.left_old) == (1, 0, 1)
    change = recount(connection, date(2024, 3, 6), NOW)
    assert (change.new, change.corrected, change.left_old) == (0, 1, 0)


@pytest.mark.parametrize(
    ("zones", "over"),
    [
        # 05:00 UTC on the last day of the year.
        pytest.param([], date(2024, 12, 31), id="the fleet's own: past midnight there"),
        pytest.param(["America/Chicago"], date(2024, 12, 29), id="23:00 there"),
        pytest.param(
            ["America/Chicago", "Europe/Amsterdam"], date(2024, 12, 30), id="at one"
        ),
    ],
)
def test_a_day_that_is_over_at_no_depot_is_refused(clean_engine, zones, over):
    now = datetime(2024, 12, 31, 5, tzinfo=UTC)
    with clean_engine.begin() as connection:
        for number, zone in enumerate(zones):
            add_depot(connection, f"D{number}", timezone=zone)
    if not zones:
        now += timedelta(hours=6)
    own = "Pacific/Auckland"
    require_complete_day(clean_engine, over, now, own)
    with pytest.raises(
        BadInputError, match=rf"newest day that is over is {over}\. Choose"
    ):
        require_complete_day(clean_engine, over + timedelta(days=1), now, own)


def test_a_day_that_still_runs_in_the_west_is_not_unknown(clean_engine):
    now = datetime.now(UTC)
    last = {
        zone: now.astimezone(ZoneInfo(zone)).date() - timedelta(days=1)
        for zone in ("Etc/GMT+12", "Pacific/Kiritimati")
    }
    with clean_engine.begin() as connection:
        for depot_id, zone in zip("WEF", [*last, "Pacific/Kiritimati"], strict=True):
            add_depot(connection, depot_id, timezone=zone)
            days = [last[zone] - timedelta(days=n) for n in range(10)]
            add_counts(connection, [depot_id], days, 5)
    rebuild(clean_engine, now)
    with clean_engine.connect() as connection:
        assert unknown_days(connection, min(last.values()) - timedelta(days=5)) == {}
