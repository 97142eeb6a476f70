"""Old orders are dropped; demand keeps every day, and frozen ones never change."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.ingest.load.withdrawal import withdraw
from pipelines.pruning import drop_old_orders
from pipelines.schema import orders
from pipelines.settings import Settings
from pipelines.store import order_counts
from tests.pipelines.ingest.ingesting import load, load_one, query, rows, write
from tests.pipelines.make import add_depot, add_orders, scalar

SETTINGS = Settings(keep_orders_days=40)
NOW = datetime(2024, 6, 30, 6, tzinfo=UTC)
BEFORE = date(2024, 5, 21)


@pytest.fixture
def fleet(clean_engine, rng):
    """Two depots of one city with orders now and then, and one that has long gone silent."""
    first = date(2024, 3, 1)
    with clean_engine.begin() as connection:
        add_depot(connection, "A")
        add_depot(connection, "B")
        add_depot(connection, "C", city="Delft")
        for depot, days in (("A", 120), ("B", 120), ("C", 20)):
            some = np.flatnonzero(rng.random(days) < 0.4)
            moments = [f"{first + timedelta(days=int(day))}T12:00:00" for day in some]
            add_orders(connection, depot, *moments)
    counting.rebuild(clean_engine, NOW)
    return clean_engine


def counted(engine):
    return query(
        engine,
        "select depot_id, service_on, version, orders from demand_versions "
        "order by 1, 2, 3",
    )


def test_dropping_orders_changes_no_demand_now_or_in_later_counts(fleet):
    before, held = counted(fleet), len(rows(fleet, "orders"))
    assert any(row.orders == 0 for row in before)
    dropped = drop_old_orders(fleet, SETTINGS, NOW)
    assert dropped.before == BEFORE
    assert 0 < dropped.orders < held
    assert len(rows(fleet, "orders")) == held - dropped.orders
    assert counted(fleet) == before
    counting.rebuild(fleet, NOW)
    assert counted(fleet) == before
    # Nor does dropping more of them, a day later.
    counting.rebuild(fleet, NOW + timedelta(days=1))
    before = counted(fleet)
    drop_old_orders(fleet, SETTINGS, NOW + timedelta(days=1))
    counting.rebuild(fleet, NOW + timedelta(days=1))
    assert counted(fleet) == before


def test_an_order_that_comes_for_a_frozen_day_is_not_counted_and_goes_next(fleet):
    drop_old_orders(fleet, SETTINGS, NOW)
    before = counted(fleet)
    with fleet.begin() as connection:
        add_orders_anew(connection, "late", "2024-04-01T12:00:00")
        add_orders_anew(connection, "new", "2024-06-01T12:00:00")
    counting.rebuild(fleet, NOW)
    changed = set(counted(fleet)) - set(before)
    assert {row.service_on for row in changed} == {date(2024, 6, 1)}
    assert drop_old_orders(fleet, SETTINGS, NOW).orders == 1


def test_rows_that_come_for_a_frozen_day_are_told(fleet, tmp_path):
    drop_old_orders(fleet, SETTINGS, NOW)
    header = "depot_id,date,orders\n"
    for number in range(2):
        old = f"N{number},2024-04-01,5\nN{number},2024-04-02,\n"
        write(tmp_path / f"{number}.csv", f"{header}{old}N{number},2024-06-01,5\n")
    told = [file.notes[-1] for file in load(fleet, tmp_path).files]
    assert all(note.startswith(f"Rows of days before {BEFORE}: 2.") for note in told)
    assert len(told) == 2
    again = write(tmp_path / "0.csv", f"{header}{old}N{number},2024-06-02,5\n")
    assert load_one(fleet, again).notes == ()
    orders = write(tmp_path / "a.csv", "order_id,depot_id,ordered_at\nx,A,2024-04-01\n")
    (note,) = load_one(fleet, orders).notes
    assert note.startswith(f"Rows of days before {BEFORE}: 1.")


def test_a_load_that_moves_orders_says_that_dropped_ones_count_on_both_days(
    clean_engine, tmp_path
):
    """Of dropped orders no id is left, so nobody can tell how many they are."""
    days = ("2024-04-01", "2024-06-18", "2024-06-19")
    lines = [f"{number},A,{day}T10:00" for number, day in enumerate(days)]
    load_file(clean_engine, tmp_path, "a.csv", *lines)
    drop_old_orders(clean_engine, SETTINGS, NOW)
    moved = [f"{number},A,2024-06-20T10:00" for number in range(3)]
    path = write(tmp_path / "b.csv", ORDERS + "".join(f"{line}\n" for line in moved))
    n_moved, both = load_one(clean_engine, path).notes
    assert n_moved == "Orders moved to another depot or day: 2."
    assert both.startswith(f"Orders of days before {BEFORE} are dropped")
    assert both.endswith("they count on both days.")


def test_a_withdrawal_says_from_which_day_on_it_counts(clean_engine, tmp_path):
    """What a file counted on days that are frozen by now stays."""
    name = write(tmp_path / "a.csv", f"{ORDERS}x,A,2024-04-01\ny,A,2024-06-20\n")
    load_one(clean_engine, name)
    counting.rebuild(clean_engine, NOW)
    drop_old_orders(clean_engine, SETTINGS, NOW)
    [(file_id,)] = query(clean_engine, "select file_id from files")
    outcome = withdraw(clean_engine, [file_id])
    assert (outcome.removed, outcome.frozen_before) == (1, BEFORE)
    counting.rebuild(clean_engine, NOW)
    newest = "select service_on from demand_versions where superseded_at is null and orders > 0"
    assert query(clean_engine, newest) == [(date(2024, 4, 1),)]


def add_orders_anew(connection, order_id, moment):
    connection.execute(
        sa.insert(orders).values(
            order_id=order_id, depot_id="A", file_id=2,
            ordered_local=datetime.fromisoformat(moment),
        )
    )  # fmt: skip
    order_counts.mark_all(connection)


def test_what_is_frozen_stays_so_when_more_days_are_to_be_kept(fleet):
    drop_old_orders(fleet, SETTINGS, NOW)
    before = counted(fleet)
    longer = Settings(keep_orders_days=100)
    assert drop_old_orders(fleet, longer, NOW).before == BEFORE
    assert counted(fleet) == before


def test_a_clock_that_is_ahead_freezes_no_day_of_the_last_weeks(fleet):
    ahead = NOW + timedelta(days=400)
    newest_on = max(row.service_on for row in counted(fleet) if row.orders is not None)
    frozen = drop_old_orders(fleet, SETTINGS, ahead)
    assert frozen.before <= newest_on - timedelta(days=21)
    before = counted(fleet)
    with fleet.begin() as connection:
        add_orders_anew(connection, "new", f"{newest_on}T13:00:00")
    counting.rebuild(fleet, NOW)
    changed = set(counted(fleet)) - set(before)
    assert {row.service_on for row in changed} == {newest_on}


ORDERS = "order_id,depot_id,ordered_at\n"


def load_file(engine, folder, name, *lines):
    """Loads a file of orders and returns its id."""
    path = write(folder / name, ORDERS + "".join(f"{line}\n" for line in lines))
    load_one(engine, path)
    return scalar(engine, "select max(file_id) from files")


def held_ids(engine):
    with engine.connect() as connection:
        return sorted(connection.scalars(sa.select(orders.c.order_id)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-03-01T10:00", "2024-06-21T10:00"),
        ("2024-06-21T10:00", "2024-03-01T10:00"),
    ],
    ids=["moved to a day that is kept", "moved to one that is dropped"],
)
def test_a_withdrawal_does_not_restore_a_dropped_order(
    clean_engine, tmp_path, first, second
):
    load_file(clean_engine, tmp_path, "a.csv", f"1,A,{first}", "2,A,2024-06-20T10:00")
    load_file(clean_engine, tmp_path, "b.csv", f"1,A,{second}")
    drop_old_orders(clean_engine, SETTINGS, NOW)
    assert rows(clean_engine, "superseded_rows") == []
    again = load_file(clean_engine, tmp_path, "c.csv", "1,A,2024-06-22T10:00")
    withdraw(clean_engine, [again - 1, again])
    assert held_ids(clean_engine) == ["2"]


def test_superseded_rows_of_kept_orders_stay(clean_engine, tmp_path):
    load_file(clean_engine, tmp_path, "a.csv", "1,A,2024-06-20T10:00")
    moved = load_file(clean_engine, tmp_path, "b.csv", "1,A,2024-06-21T10:00")
    drop_old_orders(clean_engine, SETTINGS, NOW)
    withdraw(clean_engine, [moved])
    (row,) = rows(clean_engine, "orders")
    assert "2024-06-20 10:00:00" in map(str, row)


@pytest.mark.parametrize(
    ("content", "day"),
    [
        (f"{ORDERS}x,A,2024-05-20T12:00\n", date(2024, 5, 20)),
        ("depot_id,date,orders\nA,2024-04-01,7\n", date(2024, 4, 1)),
    ],
    ids=["orders of the last frozen day, which are kept", "daily counts"],
)
def test_a_withdrawal_says_that_counts_of_frozen_days_stay(
    clean_engine, tmp_path, content, day
):
    load_one(clean_engine, write(tmp_path / "a.csv", content))
    newer = write(tmp_path / "b.csv", f"{ORDERS}y,A,2024-06-20T12:00\n")
    load_one(clean_engine, newer)
    counting.rebuild(clean_engine, NOW)
    drop_old_orders(clean_engine, SETTINGS, NOW)
    outcome = withdraw(clean_engine, [1])
    counting.rebuild(clean_engine, NOW)
    assert outcome.removed == 1
    assert (day,) in query(
        clean_engine,
        "select service_on from demand_versions where superseded_at is null and orders > 0",
    )
    assert outcome.frozen_before == BEFORE


def test_a_withdrawal_of_newer_days_says_nothing_of_frozen_ones(clean_engine, tmp_path):
    load_one(clean_engine, write(tmp_path / "a.csv", f"{ORDERS}x,A,2024-04-01T12:00\n"))
    load_one(clean_engine, write(tmp_path / "b.csv", f"{ORDERS}y,A,2024-06-20T12:00\n"))
    counting.rebuild(clean_engine, NOW)
    drop_old_orders(clean_engine, SETTINGS, NOW)
    assert withdraw(clean_engine, [2]).frozen_before is None
