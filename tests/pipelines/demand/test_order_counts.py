"""Only changed days are counted again, with the same result as a count of every day."""

from datetime import UTC, date, datetime, timedelta

import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.ingest.load import FileOptions, replay
from pipelines.ingest.load.withdrawal import withdraw
from pipelines.pruning import drop_old_orders
from pipelines.settings import Settings
from pipelines.store import files, order_counts
from pipelines.store.order_counts import _date_ranges
from tests.pipelines.ingest.ingesting import SETTINGS, load, query, write

ORDERS = "order_id,depot_id,ordered_at\n"
DEPOTS = "depot_id,name,city,timezone,country,subdivision\n"
ZONES = ("Europe/Brussels", "Pacific/Auckland", "America/Los_Angeles", "UTC")
OFFSETS = ("", "Z", "+14:00", "-12:00")
START = date(2026, 4, 1)
NOW = datetime(2026, 6, 1, 9, tzinfo=UTC)


def count_all(engine):
    """Counts every day again, and returns how many new and corrected days that finds."""
    query(engine, "insert into changed_days (day_on) values ('-infinity')")
    change = counting.rebuild(engine, NOW)
    return change.new, change.corrected


def some_orders(rng, n_orders):
    """Yields orders with few ids, so that many change day, depot or zone; some are invalid."""
    for _ in range(n_orders):
        day = START + timedelta(days=int(rng.integers(40)))
        hour, offset = int(rng.integers(24)), OFFSETS[int(rng.integers(4))]
        order, depot = int(rng.integers(60)), "ABCD"[int(rng.integers(4))]
        written = f"{day:%d.%m.%Y}" if rng.random() < 0.2 else str(day)
        yield f"{order},{depot},{written}T{hour:02}:30:00{offset}\n"


def test_whatever_writes_orders_counts_or_depots_marks_what_must_be_counted(
    clean_engine, tmp_path, rng
):
    def load_text(number, text):
        load(clean_engine, write(tmp_path / f"{number}.csv", text), force=True)

    def load_counts(number):
        day = START + timedelta(days=number)
        load_text(number, f"depot_id,date,orders\nA,{day},{number}\nB,{day},\n")

    def withdraw_some(number):
        with clean_engine.connect() as connection:
            found, _ = files.newest_files(connection, 99)
            gone = [
                each.file_id
                for each in found
                if each.kind in ("orders", "daily") and not each.withdrawn_at
            ][number % 2 :: 3]
            while more := files.repeats_of(connection, gone):
                gone = [*{*gone, *(each.file_id for each in more)}]
        if gone:
            withdraw(clean_engine, gone)

    zone = iter(ZONES * 9)
    deeds = {
        "load": lambda n: load_text(n, ORDERS + "".join(some_orders(rng, 12))),
        "load counts": load_counts,
        "mend a zone": lambda n: load_text(
            n, DEPOTS + f"A,A,Delft,{next(zone)},NL,\nE,E,Delft,UTC,NL,\n"
        ),
        "replay": lambda _: replay(
            clean_engine, FileOptions(date_format="%d.%m.%YT%H:%M:%S"), SETTINGS, NOW
        ),
        "withdraw": withdraw_some,
        "drop": lambda n: drop_old_orders(
            clean_engine, Settings(keep_orders_days=61 - n % 3), NOW
        ),
    }
    order = ["load", "load", *rng.permutation(list(deeds) * 3)]
    found = 0
    for number, deed in enumerate(order):
        deeds[deed](number)
        change = counting.rebuild(clean_engine, NOW)
        found += change.new + change.corrected
        assert count_all(clean_engine) == (0, 0), (number, deed)
    assert found > 40


def test_days_that_did_not_change_are_not_looked_at(clean_engine, tmp_path):
    """All three stored counts are falsified; only that of the changed day is corrected."""
    days = [START + timedelta(days=day) for day in (0, 1, 20)]
    body = "".join(f"{at},A,{day}T12:00\n" for at, day in enumerate(days))
    load(clean_engine, write(tmp_path / "a.csv", ORDERS + body))
    counting.rebuild(clean_engine, NOW)
    query(clean_engine, "update order_counts set orders = 99")
    load(clean_engine, write(tmp_path / "b.csv", ORDERS + f"x,A,{days[2]}T13:00\n"))
    counting.rebuild(clean_engine, NOW)
    held = query(clean_engine, "select orders from order_counts order by service_on")
    assert held == [(99,), (99,), (2,)]
    assert query(clean_engine, "select day_on from changed_days") == []


def test_a_load_that_is_not_committed_yet_leaves_its_marks_to_the_next_count(
    clean_engine, tmp_path
):
    day = START + timedelta(days=3)
    load(clean_engine, write(tmp_path / "a.csv", ORDERS + f"1,A,{day}T12:00\n"))
    with clean_engine.begin() as slow:
        slow.execute(
            sa.text(
                "insert into orders (order_id, depot_id, ordered_local, file_id) "
                "values ('2', 'A', :at, 1)"
            ),
            {"at": datetime.combine(day, datetime.min.time())},
        )
        order_counts.mark_all(slow)
        assert counting.rebuild(clean_engine, NOW).new == 1
    change = counting.rebuild(clean_engine, NOW)
    assert (change.new, change.corrected) == (0, 1)
    assert count_all(clean_engine) == (0, 0)


def test_days_that_follow_each_other_are_counted_in_one_go():
    days = [START + timedelta(days=day) for day in (5, 1, 2, 3, 9)]
    spans = [
        ((first - START).days, (last - START).days)
        for first, last in _date_ranges(days)
    ]
    assert spans == [(1, 3), (5, 5), (9, 9)]
    apart = [START + timedelta(days=2 * day) for day in range(100)]
    assert _date_ranges(apart) == [(apart[0], apart[-1])]
    assert _date_ranges([]) == []
