"""A day without orders is 0 if the depot's feed has covered it, and else not observed."""

from datetime import UTC, date, datetime, timedelta

import pytest
import sqlalchemy as sa

from pipelines.schema import orders
from pipelines.store import order_counts
from pipelines.store.demand import recount
from tests.pipelines.make import add_depot

MONDAY = date(2024, 3, 4)
DAYS = 21
TODAY = MONDAY + timedelta(days=DAYS)
NOW = datetime.combine(TODAY, datetime.min.time(), UTC) + timedelta(hours=5)
TUESDAY, YESTERDAY = 15, 20
"""Days since `MONDAY`: a Tuesday in the third week, and the newest day that is over."""
BUSY, QUIET = 40, 2


def load(connection, files, opened_on=None):
    """Inserts the orders of files in order of arrival, each as {depot: {day: orders}}."""
    named = sorted({depot for file in files for depot in file})
    for depot in named:
        add_depot(connection, depot, opened_on=opened_on)
    rows = [
        {
            "order_id": f"{number}-{depot}-{day}-{n}",
            "depot_id": depot,
            "ordered_local": datetime.combine(
                MONDAY + timedelta(days=day), datetime.min.time()
            )
            + timedelta(hours=12),
            "file_id": number,
        }
        for number, file in enumerate(files, start=1)
        for depot, counts in file.items()
        for day, count in counts.items()
        for n in range(count)
    ]
    connection.execute(sa.insert(orders), rows)
    order_counts.mark_all(connection)


def observed(connection, depot="A", today=TODAY, now=NOW):
    """The depot's current counts, by days since `MONDAY`."""
    recount(connection, today, now)
    found = connection.execute(
        sa.text(
            "select service_on, orders from demand_versions "
            "where superseded_at is null and depot_id = :depot order by 1"
        ),
        {"depot": depot},
    )
    return {(day - MONDAY).days: count for day, count in found}


def daily(depots, without=()):
    """One file per day for all the depots; `without` holds each (depot, day) without orders."""
    return [
        {
            depot: {day: count}
            for depot, count in depots.items()
            if (depot, day) not in without
        }
        for day in range(DAYS)
    ]


def apart(depots, without=()):
    """One file per day and depot."""
    return [
        {depot: {day: count}}
        for day in range(DAYS)
        for depot, count in depots.items()
        if (depot, day) not in without
    ]


def whole(depots, first, last, without=()):
    """One file with all the depots' days."""
    return {
        depot: {
            day: count for day in range(first, last + 1) if (depot, day) not in without
        }
        for depot, count in depots.items()
    }


CITY = {"A": QUIET, "B": BUSY, "C": BUSY, "D": BUSY}
BUSY_CITY = {**CITY, "A": BUSY}
SUNDAYS = [("A", day) for day in (6, 13, 20)]
NEVER = "not observed"

CASES = [
    # One file a depot.
    pytest.param(
        apart(BUSY_CITY, [("A", YESTERDAY)]), YESTERDAY, NEVER,
        id="its own file is late while the city's others have come",
    ),
    pytest.param(
        apart(CITY, [("A", YESTERDAY)]), YESTERDAY, NEVER,
        id="its own file is late, or it had no orders: nobody knows yet",
    ),
    pytest.param(
        apart(CITY, [("A", TUESDAY)]), TUESDAY, 0,
        id="a depot of few orders had none, and its next file has come",
    ),
    pytest.param(
        apart(BUSY_CITY, [("A", TUESDAY)]), TUESDAY, NEVER,
        id="a file of a depot that always has orders is missing",
    ),
    pytest.param(
        apart(BUSY_CITY, SUNDAYS), YESTERDAY, 0,
        id="it rests on Sundays, which nobody has told us",
    ),
    pytest.param(
        apart(BUSY_CITY, SUNDAYS), 6, NEVER, id="its first Sunday is not known to be a rest"
    ),
    # One file for all depots.
    pytest.param(
        daily(CITY, [("A", YESTERDAY)]), YESTERDAY, 0,
        id="the city's file came without a depot of few orders",
    ),
    pytest.param(
        daily(BUSY_CITY, [("A", YESTERDAY)]), YESTERDAY, NEVER,
        id="the city's file came without a depot that always has orders: not yet",
    ),
    pytest.param(
        daily(BUSY_CITY, [("A", YESTERDAY - 1)]), YESTERDAY - 1, 0,
        id="the city's file came without it, and a day has passed",
    ),
    pytest.param(
        daily(BUSY_CITY, SUNDAYS), YESTERDAY, 0,
        id="the city's file came without it on a Sunday, as always",
    ),
    pytest.param(
        daily(CITY, [(depot, TUESDAY) for depot in CITY]), TUESDAY, NEVER,
        id="the city's file of a day never came",
    ),
    pytest.param(
        daily({"A": QUIET, "B": BUSY}, [("A", TUESDAY)]), TUESDAY, 0,
        id="a file of two depots came with one",
    ),
    # A city with two feeds.
    pytest.param(
        [
            file
            for day in range(DAYS)
            for file in (
                {} if day == YESTERDAY else {"A": {day: QUIET}, "B": {day: BUSY}},
                {"C": {day: BUSY}, "D": {day: BUSY}, "E": {day: BUSY}},
            )
        ],
        YESTERDAY, NEVER,
        id="the partner that brings half of the city is late",
    ),
    # History, months, corrections.
    pytest.param(
        [whole(BUSY_CITY, 0, 20, [("A", TUESDAY)])], TUESDAY, 0,
        id="history in one file",
    ),
    pytest.param(
        [whole(BUSY_CITY, 0, 20, [(depot, TUESDAY) for depot in CITY]), {"E": {TUESDAY: 1}}],
        TUESDAY, NEVER,
        id="history in one file without a day, of which another partner has orders",
    ),
    pytest.param(
        [whole({depot: n}, 0, 20, [("A", TUESDAY)]) for depot, n in CITY.items()],
        TUESDAY, 0,
        id="history in one file a depot, of few orders",
    ),
    pytest.param(
        [whole(CITY, 0, 9), whole(CITY, 10, 20, [("A", 10), ("A", 11)])], 11, 0,
        id="a month's file begins with days without orders",
    ),
    pytest.param(
        [whole(BUSY_CITY, 0, 14), *apart(BUSY_CITY, [("A", 15)])[60:63]], 15, NEVER,
        id="history in one file, then one file a depot, of which one is late",
    ),
    pytest.param(
        [whole({"A": BUSY, "B": BUSY}, 0, 18), {"B": {19: BUSY}}, {"B": {20: BUSY}}],
        19, NEVER,
        id="history of two depots in one file, then one file a depot, of which one is late",
    ),
    pytest.param(
        [whole(BUSY_CITY, 0, 18), *[{"C": {day: BUSY}, "D": {day: BUSY}} for day in (19, 20)]],
        19, NEVER,
        id="history in one file, then two partners, of which one is late",
    ),
    pytest.param(
        [whole(CITY, 0, 14), *daily(CITY, [("A", 15)])[15:]], 15, 0,
        id="history in one file, then one file a day",
    ),
    pytest.param(
        [*daily(CITY, [("A", TUESDAY)]), {"A": {TUESDAY - 1: 1}}], TUESDAY, 0,
        id="a late order in a file of its own does not make it a feed",
    ),
    pytest.param(
        [*daily(CITY, [(depot, TUESDAY) for depot in CITY]), {"B": {3: 1, 17: 1}}],
        TUESDAY, NEVER,
        id="a file with old orders does not speak of the days between them",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("files", "day", "expected"), CASES)
def test_silence_is_judged_by_feed(connection, files, day, expected):
    load(connection, files)
    counts = observed(connection)
    assert counts[day - 1] in (QUIET, QUIET + 1, BUSY, 0)
    assert counts.get(day, NEVER) == expected


def test_a_late_file_turns_a_day_that_was_not_observed_into_its_count(connection):
    files = apart(BUSY_CITY, [("A", YESTERDAY)])
    load(connection, files)
    assert YESTERDAY not in observed(connection)
    moment = datetime.combine(TODAY, datetime.min.time()) - timedelta(hours=12)
    connection.execute(
        sa.insert(orders).values(
            order_id="late", depot_id="A", ordered_local=moment, file_id=900
        )
    )
    order_counts.mark_all(connection)
    assert observed(connection)[YESTERDAY] == 1


def test_what_is_observed_stays_so_as_later_files_come(connection):
    """Each night sees one more day; the counts of the days before do not change."""
    without = [("A", 3), ("A", TUESDAY), *SUNDAYS, *[(depot, 9) for depot in CITY]]
    load(connection, daily(CITY, without))
    known = {}
    for day in range(1, DAYS + 1):
        before, known = known, observed(connection, today=MONDAY + timedelta(days=day))
        assert before.items() <= known.items()
    assert known == {
        day: 0 if ("A", day) in without else QUIET for day in range(DAYS) if day != 9
    }
