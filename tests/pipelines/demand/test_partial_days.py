"""The first hours of a day, loaded before it was over, do not count as the whole day."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from pipelines.schema import orders
from pipelines.store import order_counts, withdrawal
from pipelines.store.demand import recount
from tests.pipelines import make
from tests.pipelines.ingest.ingesting import load_one, write
from tests.pipelines.ingest.test_partial_counts import EAST, age_files, demand, load_now
from tests.pipelines.make import add_depot

ZONE = ZoneInfo("Europe/Amsterdam")
LAST = date(2024, 3, 20)
"""The day of which only the first hours are loaded."""
NIGHT = time(4, 30)
HOURS = (1, 9, 12, 18, 23)
"""Hours of a depot's orders; only the first is before the time of the night's file."""


def at(day, hour):
    return datetime.combine(day, hour, ZONE)


def add_file(connection, loaded_at, *parts):
    """Adds a file loaded at a time; its parts are (depot, day, hours of orders)."""
    file_id = make.add_file(connection, loaded_at=loaded_at)
    rows = [
        {
            "order_id": f"{depot}-{day}-{hour}-{file_id}",
            "depot_id": depot,
            "ordered_local": datetime.combine(day, time(hour, 5)),
            "file_id": file_id,
        }
        for depot, day, hours in parts
        for hour in hours
    ]
    connection.execute(sa.insert(orders), rows)
    order_counts.mark_all(connection)


def add_nights(connection, depots, last=LAST, days=30, hours=HOURS, night=NIGHT):
    """Adds a file for each night up to `last`, with the hours since the previous file."""
    for back in range(days, -1, -1):
        day = last - timedelta(days=back)
        eve = day - timedelta(days=1)
        parts = [(depot, eve, hours[1:]) for depot in depots]
        add_file(
            connection, at(day, night), *parts, *((d, day, hours[:1]) for d in depots)
        )


def counts_of(connection, depot="A", now=None, zone=ZONE):
    now = now or at(LAST + timedelta(days=1), time(5))
    recount(connection, now.astimezone(zone).date(), now)
    found = connection.execute(
        sa.text(
            "select service_on, orders from demand_versions "
            "where superseded_at is null and depot_id = :depot"
        ),
        {"depot": depot},
    )
    return dict(found.all())


def test_the_first_hours_of_a_day_are_no_count_of_it(connection):
    for depot in "AB":
        add_depot(connection, depot)
    add_nights(connection, "AB")
    for later in (1, 2, 9):
        now = at(LAST + timedelta(days=later), time(5))
        counts = counts_of(connection, now=now)
        assert counts[LAST - timedelta(days=1)] == len(HOURS)
        assert LAST not in counts
    assert recount(connection, now.date(), now).partial == 2


def test_the_next_file_makes_it_whole(connection):
    for depot in "AB":
        add_depot(connection, depot)
    add_nights(connection, "AB")
    assert LAST not in counts_of(connection)
    morning = LAST + timedelta(days=1)
    add_file(connection, at(morning, NIGHT), ("A", LAST, HOURS[1:]))
    assert counts_of(connection)[LAST] == len(HOURS)
    # The file has no order of B, whose day stays partial until a later file has one.
    assert LAST not in counts_of(connection, "B")
    add_file(connection, at(morning, time(6)), ("B", morning, (5,)))
    assert counts_of(connection, "B")[LAST] == 1


def test_history_that_is_loaded_late_is_whole_and_its_last_morning_is_not(connection):
    add_depot(connection)
    days = [LAST - timedelta(days=back) for back in range(40)]
    parts = [("A", day, HOURS) for day in days[1:]]
    add_file(connection, at(LAST, time(14)), *parts, ("A", LAST, (1, 9, 12)))
    counts = counts_of(connection)
    assert counts == dict.fromkeys(days[1:], len(HOURS))


def test_a_day_exported_in_its_evening_is_whole(connection):
    add_depot(connection)
    for back in range(20, -1, -1):
        day = LAST - timedelta(days=back)
        add_file(connection, at(day, time(22, 30)), ("A", day, (9, 12, 18, 21)))
    assert counts_of(connection)[LAST] == 4


def test_a_stream_that_ends_at_noon_leaves_a_partial_day(connection):
    add_depot(connection)
    for back in range(20, -1, -1):
        day = LAST - timedelta(days=back)
        for hour in HOURS if back else HOURS[:3]:
            add_file(connection, at(day, time(hour, 10)), ("A", day, (hour,)))
    counts = counts_of(connection)
    assert counts[LAST - timedelta(days=1)] == len(HOURS)
    assert LAST not in counts


SHOPS = {"A": (9, 14, 21), "B": (9, 12, 21), "C": (10, 15, 20)}
"""Hours of each depot's orders; each hour is loaded from a separate file."""


@pytest.mark.parametrize(
    ("last_hours", "whole"),
    [
        pytest.param(SHOPS | {"A": (9, 14)}, "ABC", id="none in A's last hours"),
        pytest.param(dict.fromkeys("ABC", (9, 12)), "", id="stopped at noon"),
        pytest.param(dict.fromkeys("ABC", (9, 20)), "C", id="stopped in the evening"),
    ],
)
def test_an_hour_without_orders_of_a_depot_is_told_by_the_other_depots(
    connection, last_hours, whole
):
    """The last orders of A usually come at 21:05, and those of C at 20:05."""
    for depot in SHOPS:
        add_depot(connection, depot)
    for back in range(20, -1, -1):
        day = LAST - timedelta(days=back)
        hours_of = SHOPS if back else last_hours
        for hour in range(24):
            parts = [
                (d, day, (hour,)) for d, hours in hours_of.items() if hour in hours
            ]
            if parts:
                add_file(connection, at(day, time(hour, 10)), *parts)
    known = [depot for depot in SHOPS if LAST in counts_of(connection, depot)]
    assert "".join(known) == whole


@pytest.mark.parametrize(("last", "is_whole"), [(20, True), (19, False)])
def test_a_stream_of_one_depot_ends_no_earlier_than_usual(connection, last, is_whole):
    """A fifth of its days have their last order at 20:05, the others at 21:05."""
    add_depot(connection)
    for back in range(20, -1, -1):
        day = LAST - timedelta(days=back)
        final = last if back == 0 else 20 if back % 5 == 0 else 21
        for hour in (9, final):
            add_file(connection, at(day, time(hour, 10)), ("A", day, (hour,)))
    assert (LAST in counts_of(connection)) == is_whole


def test_a_weekday_of_short_hours_is_compared_with_the_same_weekdays(connection):
    add_depot(connection)
    for back in range(28, -1, -1):
        day = LAST - timedelta(days=back)
        hours = (9, 15) if back % 7 == 0 else (9, 21)
        add_file(connection, at(day, time(hours[-1], 30)), ("A", day, hours))
    assert counts_of(connection)[LAST] == 2


def test_a_quiet_depot_is_whole_once_its_feed_has_spoken_and_not_by_another(connection):
    for depot in "ABCDE":
        add_depot(connection, depot)
    add_nights(connection, "ABC")
    add_nights(connection, "DE", last=LAST + timedelta(days=1))
    assert LAST not in counts_of(connection)
    night = at(LAST + timedelta(days=1), NIGHT)
    add_file(connection, night, ("B", LAST, (9, 23)), ("C", LAST, (9, 23)),
             ("B", night.date(), (1,)), ("C", night.date(), (1,)))  # fmt: skip
    assert counts_of(connection)[LAST] == 1


def test_the_first_hours_of_others_are_no_zero(connection):
    for depot in "ABC":
        add_depot(connection, depot)
    add_nights(connection, "BC", days=30)
    add_nights(connection, "A", hours=(4, 9), days=29)
    add_file(connection, at(LAST, time(4, 31)), ("A", LAST - timedelta(days=1), (10,)),
             ("B", LAST, (2,)), ("C", LAST, (2,)))  # fmt: skip
    connection.execute(
        sa.text(
            "delete from orders where depot_id = 'A' and ordered_local::date = :day"
        ),
        {"day": LAST},
    )
    for later in (1, 2, 3):
        now = at(LAST + timedelta(days=later), time(5))
        assert LAST not in counts_of(connection, now=now)


def test_a_day_ends_where_its_depot_is(connection):
    """At 03:00 in Amsterdam, the day in New York has two more hours."""
    add_depot(connection, "A")
    add_depot(connection, "N", timezone="America/New_York")
    before = LAST - timedelta(days=1)
    add_nights(connection, "AN", night=time(3))
    connection.execute(
        sa.text("delete from orders where ordered_local::date > :day"), {"day": before}
    )
    order_counts.mark_all(connection)
    now = at(LAST, time(8))
    assert counts_of(connection, now=now)[before] == len(HOURS)
    assert before not in counts_of(connection, "N", now)


def test_a_clock_that_was_behind_does_not_make_a_day_partial(connection):
    """The file has orders of the next day, so that it covers the whole day despite the clock."""
    add_depot(connection)
    day = LAST - timedelta(days=1)
    add_file(connection, at(day, NIGHT), ("A", day, HOURS), ("A", LAST, (1,)))
    counts = counts_of(connection)
    assert counts == {day: len(HOURS)}


def test_a_file_of_a_day_that_is_not_over_counts_once_a_later_one_has_come(
    clean_engine, tmp_path
):
    """The files are loaded with the real time, as commands do."""
    header = "depot_id,name,city,timezone,country,subdivision\n"
    depots = write(tmp_path / "depots.csv", f"{header}E,E,X,{EAST},KI,\n")
    load_one(clean_engine, depots)
    today = datetime.now(ZoneInfo(EAST)).date()
    before = today - timedelta(days=1)
    header = "order_id,depot_id,ordered_at\n"
    rows = f"1,E,{before}T10:00\n2,E,{before}T23:59\n3,E,{today}T00:00\n"
    load_now(clean_engine, write(tmp_path / "1.csv", header + rows))
    later = datetime.now(UTC) + timedelta(days=2)
    assert demand(clean_engine, later) == {"E": 2}
    age_files(clean_engine, days=2)
    with clean_engine.begin() as connection:
        connection.execute(sa.text("delete from demand_versions"))
        order_counts.mark_all(connection)
    assert demand(clean_engine) == {"E": 2}
    over = today - timedelta(days=2)
    load_now(clean_engine, write(tmp_path / "2.csv", f"{header}4,E,{over}T23:00\n"))
    with clean_engine.connect() as connection:
        assert counts_of(connection, "E", later)[over] == 2


def test_the_orders_of_a_day_count_once_another_file_repeats_them_after_it(
    clean_engine, tmp_path
):
    """For instance of a small depot without orders since its first file."""
    with clean_engine.begin() as connection:
        add_depot(connection, "E", timezone=EAST)
    today = datetime.now(ZoneInfo(EAST)).date()
    header = "order_id,depot_id,ordered_at\n"
    rows = [f"1,E,{today}T00:00\n", f"2,E,{today}T00:00\n"]
    first = write(tmp_path / "1.csv", header + "".join(rows))
    load_now(clean_engine, first)
    age_files(clean_engine, days=2)
    with clean_engine.begin() as connection:
        order_counts.mark_all(connection)
    # The same bytes show no more than was known before the day was over.
    assert load_now(clean_engine, first).state == "unchanged"
    assert demand(clean_engine) == {}
    over = f"{today - timedelta(days=2)}"
    again = [row.replace(f"{today}", over) for row in rows[::-1]]
    second = write(tmp_path / "2.csv", header + "".join(again))
    assert load_now(clean_engine, second).counts.accepted == 2
    assert demand(clean_engine) == {"E": 2}
    third = write(tmp_path / "3.csv", header + "".join(again[::-1]))
    assert load_now(clean_engine, third).counts.unchanged == 2


BUSY = tuple(range(1, 24))
"""Hours of a busy depot's orders."""


def add_fleet_with_a_missing_file(connection, missing=None):
    """Adds nightly files of two busy depots and a quiet one; `missing` is that after LAST.

    Returns:
      The time of the next count.
    """
    for depot in "ABQ":
        add_depot(connection, depot)
    quiet = (1, 20)
    first = at(LAST - timedelta(days=20), time(4))
    days = [LAST - timedelta(days=back) for back in range(40, 20, -1)]
    add_file(connection, first, *((d, day, BUSY) for d in "AB" for day in days))
    for back in range(20, -3, -1):
        day = LAST - timedelta(days=back)
        eve = day - timedelta(days=1)
        parts = [(d, eve, BUSY[15:]) for d in "AB"] + [
            (d, day, BUSY[:15]) for d in "AB"
        ]
        parts += [("Q", eve, quiet[1:]), ("Q", day, quiet[:1])]
        if back == -1:
            parts = missing or []
        if parts:
            add_file(connection, at(day, time(16, 0)), *parts)
        now = at(day, time(16, 30))
        recount(connection, day, now)
    return at(LAST + timedelta(days=3), time(5))


def test_days_that_a_missing_file_has_cut_are_not_observed_until_it_comes(connection):
    """The file before has LAST's morning, the file after has the next day's evening."""
    now = add_fleet_with_a_missing_file(connection)
    morning = LAST + timedelta(days=1)
    for depot in "AQ":
        counts = counts_of(connection, depot, now)
        assert LAST - timedelta(days=1) in counts
        assert not {LAST, morning} & counts.keys()
    # Three depots; the third day is that of the newest file, which was still running.
    assert recount(connection, now.date(), now).partial == 3 * 3
    rest = [(d, LAST, BUSY[15:]) for d in "AB"] + [
        (d, morning, BUSY[:15]) for d in "AB"
    ]
    add_file(connection, now, *rest, ("Q", LAST, (20,)), ("Q", morning, (1,)))
    for depot, expected in (("A", len(BUSY)), ("B", len(BUSY)), ("Q", 2)):
        counts = counts_of(connection, depot, now)
        assert [counts[LAST], counts[morning]] == [expected] * 2


def test_a_depot_that_closed_early_is_observed_where_its_feed_went_on(connection):
    morning = LAST + timedelta(days=1)
    went_on = [("B", LAST, BUSY[15:]), ("B", morning, BUSY[:15])]
    now = add_fleet_with_a_missing_file(connection, went_on)
    counts = counts_of(connection, "A", now)
    assert counts[LAST] == 15
    assert counts_of(connection, "B", now)[LAST] == len(BUSY)


@pytest.mark.parametrize("n_lost", [0, 1, 2])
def test_a_depot_further_west_does_not_prove_that_a_file_came(connection, n_lost):
    """Its day goes on when the night's file is made: the file after it has the day's end."""
    for depot in "AB":
        add_depot(connection, depot)
    add_depot(connection, "W", timezone="America/Los_Angeles")
    lost = {LAST + timedelta(days=1 + n) for n in range(n_lost)}
    for back in range(30, -5, -1):
        day = LAST - timedelta(days=back)
        eve, before = (day - timedelta(days=n) for n in (1, 2))
        parts = [(d, eve, BUSY[6:]) for d in "AB"] + [(d, day, BUSY[:6]) for d in "AB"]
        parts += [("W", before, (23,)), ("W", eve, BUSY[:20])]
        if day not in lost:
            add_file(connection, at(day, time(7)), *parts)
        recount(connection, day, at(day, time(7, 30)))
    counts = counts_of(connection, "A", at(LAST + timedelta(days=5), time(5)))
    found = [counts.get(LAST + timedelta(days=n)) for n in range(-1, 4)]
    n_cut = n_lost + 1 if n_lost else 0
    assert found == [23, *[None] * n_cut, *[23] * (4 - n_cut)]


@pytest.mark.parametrize(
    "zone", ["Europe/Amsterdam", "Europe/London", "America/Los_Angeles"]
)
def test_a_depot_that_shuts_at_6_is_observed_where_the_busiest_went_on(
    connection, zone
):
    """Until the next day's noon; no file is missing."""
    add_depot(connection, "A")
    busiest, morning = "VWXY", LAST + timedelta(days=1)
    for depot in busiest:
        add_depot(connection, depot, timezone=zone)
    for back in range(30, -5, -1):
        day = LAST - timedelta(days=back)
        eve, before = (day - timedelta(days=n) for n in (1, 2))
        rest = () if eve == LAST else BUSY[11 if eve == morning else 6 : 22]
        own = [("A", eve, rest), ("A", day, () if day == morning else BUSY[:6])]
        if zone.startswith("America"):
            parts = [(w, before, (23,)) for w in busiest]
            parts += [(w, eve, BUSY[:20]) for w in busiest]
        else:
            parts = [(w, eve, BUSY[5:]) for w in busiest]
            parts += [(w, day, BUSY[:5]) for w in busiest]
        parts += [part for part in own if part[2]]
        add_file(connection, at(day, time(7)), *parts)
        recount(connection, day, at(day, time(7, 30)))
    counts = counts_of(connection, "A", at(LAST + timedelta(days=5), time(5)))
    assert counts[LAST] == 6


@pytest.mark.parametrize("after", ["night", "morning"])
def test_a_day_between_two_lost_files_is_not_a_quiet_one(connection, after):
    """The few orders of the days beside it are what is left of them, or a day's first hours."""
    add_depot(connection)
    hours = tuple(range(24))
    gone = LAST + timedelta(days=1)
    first = gone + timedelta(days=1)
    if after == "night":
        # The nights to `gone` and `first` are lost: LAST has its early orders alone.
        add_nights(connection, "A", hours=(3, *hours[5:]))
        found = [at(first + timedelta(days=1), NIGHT)]
        add_file(connection, found[0], ("A", first, hours[5:]))
    else:
        # Whole days, then a day without a file, then the first hours of the running day.
        for back in range(30, -1, -1):
            day = LAST - timedelta(days=back)
            add_file(connection, at(day, time(23, 59)), ("A", day, hours))
        found = [at(first, NIGHT)]
        add_file(connection, found[0], ("A", first, (1, 3)))
    for moment in (*found, *(found[0] + timedelta(days=n) for n in (1, 2, 9))):
        assert gone not in counts_of(connection, now=moment)


def test_a_running_day_is_not_counted_as_partial(connection):
    """Two files are missing, and the next one begins in the running day."""
    add_depot(connection)
    hours = tuple(range(24))
    add_nights(connection, "A", hours=(3, *hours[5:]))
    running = LAST + timedelta(days=2)
    now = at(running, time(12))
    add_file(connection, now, ("A", running, hours[10:12]))
    assert recount(connection, running, now).partial == 1, "that of LAST"
    now += timedelta(days=1)
    assert recount(connection, now.date(), now).partial == 2


EARLY_HOURS = (3, *range(5, 24))
DAY = timedelta(days=1)


def add_fleet_with_a_late_file(connection):
    """The file of the night to LAST comes a day late; A's order at 3 is all that LAST has."""
    for depot in "AB":
        add_depot(connection, depot)
    add_nights(connection, "AB", LAST - DAY, hours=EARLY_HOURS)
    now = at(LAST, NIGHT) + timedelta(minutes=30)
    recount(connection, LAST, now)
    parts = [(depot, LAST - DAY, EARLY_HOURS[1:]) for depot in "AB"]
    add_file(connection, at(LAST + DAY, NIGHT), *parts, ("A", LAST, EARLY_HOURS[:1]))


def test_the_first_hours_at_the_end_of_a_late_file_are_no_count_of_their_day(
    connection,
):
    add_fleet_with_a_late_file(connection)
    for depot in "AB":
        counts = counts_of(connection, depot)
        assert counts[LAST - DAY] == len(EARLY_HOURS)
        assert counts.get(LAST) is None
    # The file of the next night comes, a day late as well.
    rest = [(depot, LAST, EARLY_HOURS[1:]) for depot in "AB"]
    add_file(connection, at(LAST + 2 * DAY, NIGHT), *rest)
    now = at(LAST + 2 * DAY, NIGHT) + timedelta(minutes=30)
    assert counts_of(connection, "A", now)[LAST] == len(EARLY_HOURS)
    assert counts_of(connection, "B", now)[LAST] == len(EARLY_HOURS) - 1


def test_the_first_hours_of_a_late_file_are_no_count_once_the_next_file_is_lost(
    connection,
):
    add_fleet_with_a_late_file(connection)
    # The file of the night to LAST + 1 never comes, the next one does.
    parts = [(depot, LAST + DAY, EARLY_HOURS[1:]) for depot in "AB"]
    parts += [(depot, LAST + 2 * DAY, EARLY_HOURS[:1]) for depot in "AB"]
    add_file(connection, at(LAST + 2 * DAY, NIGHT), *parts)
    for later in (2, 3, 9):
        now = at(LAST + later * DAY, NIGHT) + timedelta(minutes=30)
        for depot in "AB":
            assert counts_of(connection, depot, now).get(LAST) is None


def test_a_withdrawn_nightly_file_cuts_its_days_as_a_missing_one_does(connection):
    for depot in "AB":
        add_depot(connection, depot)
    add_nights(connection, "AB", hours=EARLY_HOURS)
    now = at(LAST, time(5))
    recount(connection, LAST, now)
    gone = LAST - timedelta(days=2)
    # The night's file that has all of `gone` but its first order, and one of the next day.
    file_id = connection.scalar(
        sa.text("select max(last_file_id) from order_counts where service_on = :day"),
        {"day": gone},
    )
    assert counts_of(connection, "A", now)[gone] == len(EARLY_HOURS)
    withdrawal.remove_rows(
        connection, "orders", ("order_id", "id_namespace"), [file_id]
    )
    for depot in "AB":
        counts = counts_of(connection, depot, now + timedelta(minutes=5))
        assert counts.get(gone) is None, "its first order alone is no count"
        assert counts[gone - timedelta(days=1)] == len(EARLY_HOURS)


def test_a_day_whose_file_is_withdrawn_is_no_0_where_another_depot_was_early(
    connection,
):
    for depot in "AB":
        add_depot(connection, depot)
    add_nights(connection, "AB", hours=EARLY_HOURS)
    now = at(LAST, time(5))
    gone = LAST - timedelta(days=2)
    connection.execute(
        sa.text(
            "delete from orders where depot_id = 'B' and ordered_local::date = :day "
            "and ordered_local::time < '04:30'"
        ),
        {"day": gone},
    )
    counts_of(connection, "A", now)
    file_id = connection.scalar(
        sa.text("select max(last_file_id) from order_counts where service_on = :day"),
        {"day": gone},
    )
    withdrawal.remove_rows(
        connection, "orders", ("order_id", "id_namespace"), [file_id]
    )
    assert counts_of(connection, "B", now + timedelta(minutes=5)).get(gone) is None


@pytest.mark.parametrize("end", [15, 12])
def test_a_day_on_which_all_close_early_is_whole_in_a_file_loaded_the_next_morning(
    connection, end
):
    """Christmas Eve: every depot closes at two, or at eleven; the file comes at nine, as always."""
    for depot in "AB":
        add_depot(connection, depot)
    for back in range(30, -1, -1):
        day = LAST - timedelta(days=back)
        parts = [(depot, day, range(8, end if day == LAST else 22)) for depot in "AB"]
        add_file(connection, at(day + DAY, time(9)), *parts)
    now = at(LAST + DAY, time(9, 30))
    assert counts_of(connection, "A", now)[LAST] == end - 8
