"""Files to tables: rows loaded, rejected and repeated, and files refused."""

# ruff: noqa: DTZ001 - wall-clock times, as files have them

import gzip
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from structlog.testing import capture_logs

from pipelines.ingest.load import Counts, loading
from pipelines.ingest.rows import parquet, parser, text_blocks
from tests.pipelines.ingest.ingesting import (
    DAILY,
    ORDERS,
    SETTINGS,
    counts,
    data,
    load,
    load_one,
    quarantined,
    query,
    rows,
    write,
    write_parquet,
)

DEPOTS = "depot_id,name,city,timezone,country,subdivision"
EVENTS = "kind,starts_on,ends_on"


def test_orders_go_in_as_they_came(clean_engine, tmp_path):
    path = write(
        tmp_path / "orders.csv",
        "order_id,depot_id,ordered_at,weather\n"
        "1,A,2024-03-31T02:30:00,sun\n2,A,2024-03-31T23:30:00-05:00,rain\n",
    )
    report = load_one(clean_engine, path)
    assert (report.kind, report.state) == ("orders", "loaded")
    assert vars(report.counts) == {"accepted": 2, "unchanged": 0, "rejected": 0}
    assert report.notes == ("Columns not read: weather.",)
    assert rows(clean_engine, "orders") == [
        ("1", "A", datetime(2024, 3, 31, 2, 30), None),
        ("2", "A", datetime(2024, 3, 31, 23, 30), -300),
    ]
    found = "select path, accepted, ignored_columns from files"
    assert query(clean_engine, found) == [(str(path), 2, ["weather"])]


def test_numbers_and_timestamps_of_parquet_go_in_as_text_would(clean_engine, tmp_path):
    moments = pa.array([datetime(2024, 1, 1, 9), datetime(2024, 1, 2, 9)])
    columns = {"order_id": pa.array([7, 8]), "depot_id": pa.array([3, 3], pa.int32())}
    naive = write_parquet(tmp_path / "a.parquet", **columns, ordered_at=moments)
    zoned = moments.cast(pa.timestamp("us", "Asia/Tokyo"))
    columns |= {"order_id": pa.array(["x", "y"]).dictionary_encode()}
    aware = write_parquet(tmp_path / "b.parquet", **columns, ordered_at=zoned)
    assert counts(load(clean_engine, naive, aware), "orders") == (4, 0, 0)
    assert rows(clean_engine, "orders") == [
        ("7", "3", datetime(2024, 1, 1, 9), None),
        ("8", "3", datetime(2024, 1, 2, 9), None),
        ("x", "3", datetime(2024, 1, 1, 9), 0),
        ("y", "3", datetime(2024, 1, 2, 9), 0),
    ]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "+05:30"])
def test_a_day_of_parquet_is_that_of_its_zone(clean_engine, tmp_path, zone):
    """In UTC, local midnight lies on another day, or at another hour."""
    winter, summer = datetime(2024, 1, 1), datetime(2024, 7, 1)
    midnights = pc.assume_timezone(pa.array([winter, summer]), zone)
    columns = {"depot_id": ["A", "A"], "date": midnights, "orders": [5, 6]}
    load(clean_engine, write_parquet(tmp_path / "a.parquet", **columns))
    assert rows(clean_engine, "daily_counts") == [
        ("A", winter.date(), 5),
        ("A", summer.date(), 6),
    ]


def test_a_count_that_is_not_there_is_not_observed(clean_engine, tmp_path):
    text = write(tmp_path / "a.csv", DAILY + 'A,2024-01-01,\nA,2024-01-02,"1,137"\n')
    typed = write_parquet(
        tmp_path / "b.parquet",
        depot_id=["B", "B", "B"],
        date=pa.array([date(2024, 1, day) for day in (1, 2, 3)]),
        orders=[5.0, float("nan"), None],
    )
    assert counts(load(clean_engine, text, typed), "daily") == (5, 0, 0)
    assert rows(clean_engine, "daily_counts") == [
        ("A", date(2024, 1, 1), None),
        ("A", date(2024, 1, 2), 1137),
        ("B", date(2024, 1, 1), 5),
        ("B", date(2024, 1, 2), None),
        ("B", date(2024, 1, 3), None),
    ]


def test_bad_rows_are_put_aside_with_their_line_and_the_rest_goes_in(
    clean_engine, tmp_path
):
    path = write(
        tmp_path / "orders.csv",
        "order_id,depot_id,ordered_at,note\n\n"
        '1,A,2024-01-01T10:00:00,"two\nlines"\n'
        "2,A,soon,x\n"
        "3,,2024-01-01T10:00:00,x\n"
        "4,A,3000-01-01T10:00:00,x\n"
        "5,A\n"
        ",,,\n"
        "6,A,2024-01-01T11:00:00,x\n",
    )
    (trial,) = load(clean_engine, path, dry_run=True).files
    assert "4 rows would be put in quarantine." in trial.notes
    report = load_one(clean_engine, path)
    assert vars(report.counts) == {"accepted": 2, "unchanged": 0, "rejected": 4}
    assert "Blank rows skipped: 1." in report.notes
    assert "4 rows are in quarantine; see 'harbor quarantine list'." in report.notes
    assert [row[0] for row in rows(clean_engine, "orders")] == ["1", "6"]
    far = "3000-01-01T10:00:00"
    assert quarantined(clean_engine) == [
        (5, "ordered_at", "soon", "does not match the format ISO 8601"),
        (6, "depot_id", "", "is empty"),
        (7, "ordered_at", far, "lies outside 1990-01-01 to 2026-06-03"),
        (8, None, None, "has 2 cells, and the header 4"),
    ]
    raw = query(clean_engine, "select raw from quarantine order by line")
    assert raw[::3] == [
        ({"order_id": "2", "depot_id": "A", "ordered_at": "soon", "note": "x"},),
        (["5", "A"],),
    ]


def test_bad_rows_of_parquet_are_told_by_their_number(
    clean_engine, tmp_path, monkeypatch
):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 2)
    path = write_parquet(
        tmp_path / "a.parquet",
        depot_id=["A", "A", None, None, "A"],
        date=["2024-01-01", "2024-01-02", None, "2024-01-03", "2024-01-04"],
        orders=[1.0, 2.5, None, 4.0, -1.0],
    )
    report = load_one(clean_engine, path)
    assert vars(report.counts) == {"accepted": 1, "unchanged": 0, "rejected": 3}
    assert "Blank rows skipped: 1." in report.notes
    assert quarantined(clean_engine) == [
        (2, "orders", "2.5", "is not a whole number"),
        (4, "depot_id", "", "is empty"),
        (5, "orders", "-1", "is negative"),
    ]


def test_what_no_database_can_store_is_put_aside(clean_engine, tmp_path):
    body = "B,2024-01-01,1\n" * 500 + "A\0,2024-01-01,1\n"
    report = load_one(clean_engine, write(tmp_path / "a.csv", DAILY + body))
    assert vars(report.counts) == {"accepted": 1, "unchanged": 499, "rejected": 1}
    assert quarantined(clean_engine) == [
        (502, "depot_id", "A\\x00", "holds a NUL character")
    ]


def test_line_numbers_hold_over_blocks(clean_engine, tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 64)
    body = [f"A,2024-01-{day:02},{day if day % 7 else 'x'}" for day in range(1, 32)]
    path = write(tmp_path / "a.csv", DAILY + "\r\n".join(body))
    assert load_one(clean_engine, path).counts.accepted == 27
    assert [row[0] for row in quarantined(clean_engine)] == [8, 15, 22, 29]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"depot_id,date\nA,2024-01-01\n", "a.csv has no column 'orders'"),
        (
            "a.csv",
            (DAILY + "A,2024-01-01,1\nA,2024-0").encode(),
            "a.csv ends in the middle of line 3",
        ),
        ("a.csv", (DAILY + "A,03/04/2024,1\n").encode(), "--date-format %m/%d/%Y"),
        ("a.parquet", b"", "a.parquet is empty"),
        ("a.parquet", b"PAR1 and no end", "a.parquet cannot be read as Parquet"),
        ("a.txt", b"x", "ends in none of .csv"),
        ("a.csv.gz", b"x", "a.csv.gz cannot be read"),
    ],
)
def test_a_refused_file_changes_nothing_and_the_others_go_in(
    clean_engine, tmp_path, name, content, says
):
    before = write(tmp_path / "0.csv", DAILY + "X,2024-01-01,1\n")
    after = write(tmp_path / "z.csv", DAILY + "Z,2024-01-01,1\n")
    report = load(clean_engine, before, write(tmp_path / name, content), after)
    assert [file.state for file in report.files] == ["loaded", "refused", "loaded"]
    (refused,) = report.refused
    assert says in refused.error
    assert "\n" not in refused.error
    assert [row[0] for row in rows(clean_engine, "daily_counts")] == ["X", "Z"]
    assert [row[0] for row in rows(clean_engine, "depots")] == ["X", "Z"]
    assert len(rows(clean_engine, "files")) == 2
    assert quarantined(clean_engine) == []


def test_a_file_of_mostly_bad_rows_is_refused_whole(
    clean_engine, tmp_path, monkeypatch
):
    strict = SETTINGS.model_copy(update={"max_rejected_ratio": 0.25})
    bad = "A,2024-01-02,x\n"
    for name, body, state in (
        ("quarter.csv", 3 * "A,2024-01-01,1\n" + bad, "loaded"),
        ("more.csv", 2 * "A,2024-01-01,1\n" + bad, "refused"),
    ):
        path = write(tmp_path / name, DAILY + body)
        file = load_one(clean_engine, path, settings=strict)
        assert file.state == state
    assert file.error.startswith(
        "more.csv has 1 bad row of 3, more than the 25% that may be rejected "
        "(HARBOR_MAX_REJECTED_RATIO). The first is line 4: orders 'x' is not a number"
    )
    assert len(quarantined(clean_engine)) == 1
    # A file with too many bad rows need not be read to its end.
    monkeypatch.setattr(loading, "MAX_REJECTED_ROWS", 1)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 64)
    path = write(tmp_path / "long.csv", DAILY + 100 * bad)
    file = load_one(clean_engine, path, settings=strict)
    assert re.match(r"long.csv has \d bad rows? of \d, more", file.error)


def test_a_cell_of_a_million_characters_is_put_aside_or_refused_in_a_sentence(
    clean_engine, tmp_path
):
    long = "x" * 1_000_000
    good = "A,2024-01-01,1\n"
    plain = write(tmp_path / "a.csv", DAILY + good + f"{long},2024-01-01,1\n")
    assert "field larger than field limit" in load_one(clean_engine, plain).error
    columns = {"depot_id": ["A", long], "date": ["2024-01-01"] * 2, "orders": [1, 1]}
    report = load_one(clean_engine, write_parquet(tmp_path / "b.parquet", **columns))
    assert vars(report.counts) == {"accepted": 1, "unchanged": 0, "rejected": 1}
    assert quarantined(clean_engine) == [
        (2, "depot_id", long[:500], "is longer than 200 characters")
    ]


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    clean_engine, tmp_path, monkeypatch
):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(text_blocks, "MAX_UNFINISHED_ROW_BYTES", 1 << 20)
    path = write(tmp_path / "a.csv", DAILY + "x" * (3 << 20) + "\n")
    assert "a.csv has a line of more than 1 MiB" in load_one(clean_engine, path).error


def test_a_header_without_rows_is_loaded_and_says_of_no_day_that_it_had_none(
    clean_engine, tmp_path
):
    none = pa.array([], pa.string())
    for path in (
        write_parquet(tmp_path / "a.parquet", depot_id=none, date=none, orders=none),
        write(tmp_path / "b.csv", ORDERS),
        write(tmp_path / "c.csv", DAILY + ",,\n"),
    ):
        file = load_one(clean_engine, path)
        assert (file.state, file.counts) == ("loaded", Counts())
        assert "That is not read as days without orders" in file.notes[-1]
    assert len(rows(clean_engine, "files")) == 3


@pytest.mark.parametrize("memory_mib", [0, 768])
def test_a_file_that_breaks_its_parser_is_refused_and_the_others_go_in(
    clean_engine, tmp_path, monkeypatch, memory_mib
):
    """A bug in the program, here in the Parquet reader, must not stop the night."""
    broken = write_parquet(
        tmp_path / "b.parquet", depot_id=["A"], date=["2024-01-01"], orders=[1]
    )
    others = [
        write(tmp_path / f"{name}.csv", f"{DAILY}{name},2024-01-01,1\n")
        for name in "ac"
    ]
    settings = SETTINGS.model_copy(update={"parser_memory_mib": memory_mib})
    breaks = "from pipelines.ingest.rows import parquet; parquet._normalise = None"
    monkeypatch.setattr(parquet, "_normalise", None)
    monkeypatch.setattr(parser, "PROGRAM", f"{breaks}; {parser.PROGRAM}")
    with capture_logs() as logged:
        report = load(clean_engine, broken, *others, settings=settings)
    assert [file.state for file in report.files] == ["loaded", "refused", "loaded"]
    (refused,) = report.refused
    assert "TypeError: 'NoneType' object is not callable." in refused.error
    assert "\n" not in refused.error
    (traceback,) = [line for line in logged if line["event"] == "traceback"]
    assert "_normalise" in "".join(traceback["lines"])
    assert [row[0] for row in rows(clean_engine, "daily_counts")] == ["a", "c"]


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("orders", [[1]], "'orders' as list<.*: int64>"),
        ("depot_id", [{"id": 1}], "'depot_id' as struct<id: int64>"),
        ("depot_id", [1.5], "'depot_id' as double, which cannot be read as depot_id"),
        ("date", [20240101], "'date' as int64.*Write it as a date or ISO 8601 text"),
        ("orders", [b"1"], "'orders' as binary.*Write it as a number"),
    ],
)
def test_a_column_of_a_type_that_says_nothing_is_refused(
    clean_engine, tmp_path, column, values, says
):
    columns = {"depot_id": ["A"], "date": ["2024-01-01"], "orders": [1]}
    path = write_parquet(tmp_path / "a.parquet", **columns | {column: values})
    assert re.search(says, load_one(clean_engine, path).error)


@pytest.mark.parametrize(
    ("zone", "state"),
    [("Mars/Base", "refused"), ("Z", "refused"), ("+01:00", "loaded")],
)
def test_a_time_zone_that_nobody_knows_is_named(clean_engine, tmp_path, zone, state):
    moments = pa.array([1704103200000000], pa.timestamp("us", zone))
    columns = {"order_id": ["o1"], "depot_id": ["A"], "ordered_at": moments}
    path = write_parquet(tmp_path / "a.parquet", **columns)
    loaded = load_one(clean_engine, path)
    assert loaded.state == state
    if state == "refused":
        assert f"the time zone '{zone}'" in loaded.error


def test_a_file_as_published_goes_in_with_its_columns_mapped(clean_engine, tmp_path):
    text = (
        ",,,\r\rBase Report,,,\r,Base Number,Pick Up Date,Number of Trips\r"
        ',B1,01/02/2015, 26 \r,b1,01/13/2015,"1,137"\r,,,'
    )
    columns = {"depot_id": "Base Number", "date": "pick up date"}
    columns |= {"orders": "Number of Trips "}
    path = write(tmp_path / "fhv.csv", text)
    report = load_one(clean_engine, path, columns=columns)
    assert vars(report.counts) == {"accepted": 2, "unchanged": 0, "rejected": 0}
    assert rows(clean_engine, "daily_counts") == [
        ("B1", date(2015, 1, 2), 26),
        ("b1", date(2015, 1, 13), 1137),
    ]
    assert report.notes == (
        "Dates were read as %m/%d/%Y, which 01/13/2015 proves.",
        "Blank rows skipped: 1.",
        "Depots whose ids differ only in letter case, and are kept apart: B1/b1.",
    )


def test_a_new_spelling_of_a_depot_of_the_fleet_is_told_once(clean_engine, tmp_path):
    head = "depot_id,date,orders\n"
    notes = [
        load_one(
            clean_engine,
            write(tmp_path / f"{day}.csv", f"{head}{depot_id},2024-03-0{day},5\n"),
        ).notes
        for day, depot_id in enumerate(["NYC", "nyc", "nyc"], 1)
    ]
    told = "Depots whose ids differ only in letter case, and are kept apart: NYC/nyc."
    assert [told in each for each in notes] == [False, True, False]


def test_an_event_of_a_place_that_no_depot_has_is_told(clean_engine, tmp_path):
    """For instance a city in another letter case, or one that a later file has renamed."""
    depots = f"{DEPOTS}\nA,Alpha,Ghent,Europe/Brussels,BE,\n"
    events = (
        "kind,starts_on,ends_on,city,depot_id\nclosed,2024-05-01,2024-05-01,ghent,\n"
        "closed,2024-05-02,2024-05-02,Ghent,\nclosed,2024-05-03,2024-05-03,,A\n"
        "closed,2024-05-04,2024-05-04,,X\nclosed,2024-05-05,2024-05-05,,\n"
    )
    load(clean_engine, write(tmp_path / "a.csv", depots))
    (note,) = load(clean_engine, write(tmp_path / "b.csv", events)).notes
    assert note.startswith(
        "Events name depots or cities that are not in the fleet: X, ghent."
    )
    renamed = write(tmp_path / "c.csv", depots.replace("Ghent", "ghent"))
    (note,) = load(clean_engine, renamed).notes
    assert "fleet: Ghent, X." in note


def test_a_depot_first_seen_is_incomplete_until_a_file_describes_it(
    clean_engine, tmp_path
):
    orders = write(tmp_path / "a.csv", ORDERS + "1,A,2024-01-01\n")
    depots = write(
        tmp_path / "b.csv",
        f"{DEPOTS},vans,opened_on,closed_weekdays\n"
        'A,Alpha,Ghent,Europe/Brussels,be,,3,2020-01-01,"sun,sat"\n',
    )
    report = load(clean_engine, orders)
    assert "1 depot is known from orders or counts only" in report.notes[0]
    assert rows(clean_engine, "depots") == [
        ("A", "A", "Unassigned", "Europe/Brussels", "BE", *[None] * 4, [], False)
    ]
    described = ("A", "Alpha", "Ghent", "Europe/Brussels", "BE", None, 3)
    described += (date(2020, 1, 1), None, [6, 7], True)
    assert load(clean_engine, depots).notes == ()
    assert rows(clean_engine, "depots") == [described]
    load(clean_engine, write(tmp_path / "c.csv", ORDERS + "2,A,2024-01-01\n"))
    assert rows(clean_engine, "depots") == [described]


def test_columns_that_a_later_file_does_not_have_are_left_alone(clean_engine, tmp_path):
    line = "A,Alpha,Ghent,Europe/Brussels,BE,"
    load(clean_engine, write(tmp_path / "a.csv", f"{DEPOTS},vans\n{line},3\n"))
    renamed = f"{DEPOTS}\n{line.replace('Alpha', 'Aleph')}\n"
    load(clean_engine, write(tmp_path / "b.csv", renamed))
    assert rows(clean_engine, "depots")[0][1:7:5] == ("Aleph", 3)
    load(clean_engine, write(tmp_path / "c.csv", f"{DEPOTS},vans\n{line},\n"))
    assert rows(clean_engine, "depots")[0][1:7:5] == ("Alpha", None)


def test_events_are_everywhere_or_in_a_city_or_at_a_depot(clean_engine, tmp_path):
    path = write(
        tmp_path / "events.csv",
        f"{EVENTS},city,depot_id,value,known_from\n"
        "Closed,2026-12-25,2026-12-26,,,,\n"
        "promotion,2024-05-01,2024-05-07,Ghent,,0.2,2024-04-01\n"
        "promotion,2024-05-01,2024-05-07,,A,0.3,\n"
        "promotion,2024-05-01,2024-05-07,Ghent,A,0.3,\n"
        "game,2024-05-07,2024-05-01,,,,\n"
        "promotion,2024-05-01,2024-05-07,,A,0.4,\n",
    )
    report = load_one(clean_engine, path)
    assert vars(report.counts) == {"accepted": 3, "unchanged": 1, "rejected": 2}
    week = (date(2024, 5, 1), date(2024, 5, 7))
    assert [row[:9] for row in rows(clean_engine, "events")] == [
        ("closed/2026-12-25", 1, "closed", date(2026, 12, 25), date(2026, 12, 26),
         *[None] * 4),
        ("promotion/2024-05-01/city/Ghent", 1, "promotion", *week, "Ghent", None, 0.2,
         date(2024, 4, 1)),
        ("promotion/2024-05-01/depot/A", 1, "promotion", *week, None, "A", 0.4, None),
    ]  # fmt: skip
    two = "is given together with a depot_id; give one of the two, or neither for everywhere"
    assert [row[0::3] for row in quarantined(clean_engine)] == [
        (5, two),
        (6, "lies before starts_on"),
    ]


def test_the_last_row_of_a_key_wins_and_the_others_count_as_unchanged(
    clean_engine, tmp_path, monkeypatch
):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 32)
    body = "A,2024-01-01,1\nB,2024-01-01,5\nA,2024-01-01,2\nA,2024-01-01,3\n"
    report = load_one(clean_engine, write(tmp_path / "a.csv", DAILY + body))
    assert vars(report.counts) == {"accepted": 2, "unchanged": 2, "rejected": 0}
    assert [row[2] for row in rows(clean_engine, "daily_counts")] == [3, 5]


def test_the_later_file_wins_whatever_order_they_are_named_in(clean_engine, tmp_path):
    first = write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n")
    second = write(tmp_path / "b.csv", DAILY + "A,2024-01-01,2\nB,2024-01-01,7\n")
    assert counts(load(clean_engine, second, first), "daily") == (3, 0, 0)
    assert [row[2] for row in rows(clean_engine, "daily_counts")] == [2, 7]


def test_a_file_loaded_again_is_no_change_even_where_another_came_between(
    clean_engine, tmp_path
):
    first = write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\nA,2024-01-02,x\n")
    second = write(tmp_path / "b.csv", DAILY + "A,2024-01-01,2\n")
    load(clean_engine, first)
    load(clean_engine, second)
    before = data(clean_engine)
    report = load(clean_engine, first)
    assert report.is_nothing_new
    assert counts(report, "daily") == (0, 1, 1)
    assert data(clean_engine) == before
    assert len(quarantined(clean_engine)) == 1


def test_a_row_that_says_the_same_keeps_the_file_it_came_from(clean_engine, tmp_path):
    load(clean_engine, write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n"))
    again = write(tmp_path / "b.csv", DAILY + "A,2024-01-01,1\nB,2024-01-01,1\n")
    assert counts(load(clean_engine, again), "daily") == (1, 1, 0)
    found = (
        "select depot_id, right(path, 5) from daily_counts join files using (file_id)"
    )
    assert sorted(query(clean_engine, found)) == [("A", "a.csv"), ("B", "b.csv")]


def test_a_dry_run_says_what_the_real_one_does_and_changes_nothing(
    clean_engine, tmp_path
):
    write(tmp_path / "a.csv", ORDERS + "1,A,2024-01-01\n2,A,soon\n")
    write(tmp_path / "b.csv", ORDERS + "1,B,2024-01-01\n3,A,2024-01-01\n")
    write(tmp_path / "c.csv", "")
    write(tmp_path / "d.csv", DAILY + "A,2024-01-01,1\n")
    before = data(clean_engine)
    said = load(clean_engine, tmp_path, dry_run=True)
    assert data(clean_engine) == before
    assert rows(clean_engine, "files") == quarantined(clean_engine) == []
    done = load(clean_engine, tmp_path)
    assert said.as_json() == done.as_json()
    assert said.notes == done.notes
    assert counts(done, "orders") == (3, 0, 1)


def test_loads_at_the_same_time_wait_for_each_other(clean_engine, tmp_path):
    body = "".join(f"{number},D{number % 7},2024-01-01\n" for number in range(2000))
    upwards = write(tmp_path / "up.csv", ORDERS + body)
    downwards = "".join(reversed(body.splitlines(keepends=True)))
    downwards = write(tmp_path / "down.csv", ORDERS + downwards)
    counted = "".join(f"D{depot},2024-01-01,1\n" for depot in range(9, -1, -1))
    daily = write(tmp_path / "daily.csv", DAILY + counted)
    named = [upwards, downwards, daily, upwards, downwards]
    with ThreadPoolExecutor(len(named)) as pool:
        reports = list(pool.map(lambda path: load(clean_engine, path), named))
    assert sorted(counts(report, "orders") for report in reports) == [
        (0, 0, 0), *[(0, 2000, 0)] * 3, (2000, 0, 0),
    ]  # fmt: skip
    assert len(rows(clean_engine, "depots")) == 10
    assert len(rows(clean_engine, "files")) == 3


def test_subdivisions_without_a_calendar_are_loaded_with_one_note_a_country(
    clean_engine, tmp_path
):
    body = (
        "A,A,X,Europe/Brussels,BE,VLG\nB,B,X,Europe/Brussels,BE,VLG\n"
        "C,C,X,Europe/Paris,FR,75\nD,D,X,Europe/Paris,FR,69\nE,E,X,Europe/Paris,FR,\n"
        "F,F,X,America/New_York,US,NY\nG,G,X,America/New_York,US,Nowhere\n"
    )
    path = write(tmp_path / "a.csv", f"{DEPOTS}\n{body}")
    report = load(clean_engine, path)
    assert counts(report, "depots") == (6, 0, 1)
    [(line, column, value, reason)] = quarantined(clean_engine)
    assert (line, column, value) == (8, "subdivision", "Nowhere")
    assert reason.startswith("is not the code of a subdivision")
    calendar = "in the calendar; those of"
    assert report.notes == (
        f"Subdivision 'VLG' of BE has no holidays of its own {calendar} BE are used.",
        f"Subdivisions '69', '75' of FR have no holidays of their own {calendar} FR are used.",
    )


def small_gz(path):
    text = "".join(f"{at:0>150},A,2024-01-01T10:00\n" for at in range(20_000))
    return write(path / "a.csv.gz", gzip.compress((ORDERS + text).encode()))


def small_parquet(path):
    """A small file whose one long dictionary value is repeated in 20,000 rows."""
    keys = pa.array([0] * 20_000, pa.int32())
    columns = {"order_id": "x" * 150, "depot_id": "A", "ordered_at": "2024-01-01"}
    return write_parquet(
        path / "a.parquet",
        **{
            name: pa.DictionaryArray.from_arrays(keys, [value])
            for name, value in columns.items()
        },
    )


@pytest.mark.parametrize("make", [small_gz, small_parquet])
def test_a_small_file_that_unpacks_to_much_is_refused(clean_engine, tmp_path, make):
    path = make(tmp_path)
    assert path.stat().st_size < 200_000
    before = data(clean_engine)
    small = SETTINGS.model_copy(update={"max_file_mib": 1})
    refused = load_one(clean_engine, path, settings=small)
    assert f"{path.name} holds more than 1 MiB once unpacked" in refused.error
    assert data(clean_engine) == before
