"""Whatever the files hold: repeats change nothing, and order does not matter."""

# ruff: noqa: DTZ001 - wall-clock times, as files have them

from datetime import date, datetime, timedelta

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import empty_tables
from tests.pipelines.ingest.ingesting import (
    counts,
    data,
    load,
    query,
    rows,
    write,
    write_parquet,
)

SMALL = settings(
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# Quotes, separators, line ends and blanks inside: what a CSV can get wrong.
names = st.text(alphabet='ab",;|\n é\\', min_size=1, max_size=5).filter(
    lambda name: name == name.strip()
)
moments = st.datetimes(datetime(1990, 1, 1), datetime(2026, 6, 1))
# Two files of so few rows pass the plausibility check of order ids.
order_rows = st.lists(st.tuples(names, names, moments), min_size=1, max_size=9)
daily_rows = st.lists(
    st.tuples(
        names,
        st.integers(0, 9).map(lambda day: date(2024, 1, 1) + timedelta(days=day)),
        st.none() | st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=12,
)
KINDS = {
    "orders": ("order_id", "depot_id", "ordered_at"),
    "daily": ("depot_id", "date", "orders"),
}
TYPES = {
    "orders": (pa.string(), pa.string(), pa.timestamp("us")),
    "daily": (pa.string(), pa.date32(), pa.int64()),
}


def write_rows(path, kind, found, as_parquet):
    if as_parquet:
        columns = zip(KINDS[kind], zip(*found, strict=True), TYPES[kind], strict=True)
        arrays = {name: pa.array(cells, stored) for name, cells, stored in columns}
        return write_parquet(path.with_suffix(".parquet"), **arrays)
    lines = [",".join(KINDS[kind]), *(",".join(map(quoted, row)) for row in found)]
    return write(path.with_suffix(".csv"), "\n".join(lines) + "\n")


def quoted(cell):
    text = cell.isoformat() if isinstance(cell, date) else str(cell)
    return '""' if cell is None else '"' + text.replace('"', '""') + '"'


@SMALL
@given(order_rows, daily_rows, st.booleans())
def test_a_folder_loaded_three_times_leaves_what_it_left_first(
    clean_engine, tmp_path_factory, orders, daily, as_parquet
):
    empty_tables(clean_engine)
    engine, folder = clean_engine, tmp_path_factory.mktemp("inbox")
    write_rows(folder / "a", "orders", orders, as_parquet)
    write_rows(folder / "b", "daily", daily, not as_parquet)
    first = load(engine, folder)
    kept = data(engine)
    for _ in range(2):
        again = load(engine, folder)
        assert again.is_nothing_new
        assert counts(again, "orders") == (0, len(orders), 0)
        assert data(engine) == kept
    # The tables keep the last row of each key, as a dictionary does.
    last = {order_id: (depot_id, moment) for order_id, depot_id, moment in orders}
    assert counts(first, "orders") == (len(last), len(orders) - len(last), 0)
    assert rows(engine, "orders") == sorted(
        ((order_id, *rest, None) for order_id, rest in last.items()), key=str
    )
    last_count = {(depot_id, day): count for depot_id, day, count in daily}
    assert rows(engine, "daily_counts") == sorted(
        ((*key, count) for key, count in last_count.items()), key=str
    )
    seen = {row[1] for row in orders} | {row[0] for row in daily}
    assert {row[0] for row in kept["depots"]} == seen


@SMALL
@given(order_rows, st.data(), st.booleans(), st.booleans())
def test_two_files_without_conflicts_come_in_either_order(
    clean_engine, tmp_path_factory, orders, drawn, first_parquet, second_parquet
):
    empty_tables(clean_engine)
    engine, folder = clean_engine, tmp_path_factory.mktemp("inbox")
    ids = sorted({row[0] for row in orders})
    ours = drawn.draw(st.sets(st.sampled_from(ids)))
    shared = drawn.draw(st.sets(st.sampled_from(ids)))
    last = {row[0]: row for row in orders}
    parts = (
        [row for row in orders if row[0] in ours] or [last[ids[0]]],
        [row for row in orders if row[0] not in ours] or [last[ids[0]]],
    )
    # An equal row in both files is no conflict.
    both = [last[order_id] for order_id in sorted(shared)]
    one = write_rows(folder / "a", "orders", [*parts[0], *both], first_parquet)
    other = write_rows(folder / "b", "orders", [*parts[1], *both], second_parquet)
    _merge_rows(engine, one, other)
    kept = data(engine)
    empty_tables(engine)
    _merge_rows(engine, other, one)
    assert data(engine) == kept


def _merge_rows(engine, *paths):
    for path in paths:
        # Forced, as drawn rows may repeat ids so often that the file would be refused.
        assert load(engine, path, force=True).files[0].state in ("loaded", "unchanged")


@SMALL
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["A", "B", "", " "]),
            st.sampled_from(["2024-01-01", "2024-02-30", "3000-01-01", ""]),
            st.sampled_from(["1", "", "-1", "x", "2.5"]),
        ),
        min_size=1,
        max_size=10,
    )
)
def test_every_row_that_is_not_blank_is_counted_once(
    clean_engine, tmp_path_factory, found
):
    empty_tables(clean_engine)
    engine, folder = clean_engine, tmp_path_factory.mktemp("inbox")
    (report,) = load(engine, write_rows(folder / "a", "daily", found, False)).files
    blank = sum(not any(cell.strip() for cell in row) for row in found)
    assert report.state == "loaded"
    assert any(f"skipped: {blank:,}." in note for note in report.notes) == (blank > 0)
    assert sum(vars(report.counts).values()) == len(found) - blank
    good = [
        row
        for row in found
        if row[0].strip() and row[1] == "2024-01-01" and row[2] in ("1", "")
    ]
    assert report.counts.accepted == len({row[:2] for row in good})
    ((aside,),) = query(engine, "select count(*) from quarantine")
    assert aside == report.counts.rejected == len(found) - blank - len(good)
