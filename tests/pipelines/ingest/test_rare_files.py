"""Rare files: damaged, joined, packed in each other, typed, or replayed after a later one."""

import io
import zipfile
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

from pipelines.demand import counting
from pipelines.ingest.load import FileOptions, ReplayResult, ingest, replay
from pipelines.ingest.load.withdrawal import withdraw, withdraw_event
from pipelines.ingest.sources import inbox as inbox_source
from pipelines.settings.ingest import SourceSettings
from tests.pipelines.ingest.ingesting import (
    DAILY,
    ORDERS,
    SETTINGS,
    TODAY,
    load,
    load_one,
    quarantined,
    query,
    rows,
    write,
    write_parquet,
)
from tests.pipelines.ingest.workbooks import workbook

NOW = datetime(TODAY.year, TODAY.month, TODAY.day, 9, tzinfo=UTC)
SIGNALS = "signal,depot_id,date,value\n"
DEPOTS = "depot_id,name,city,timezone,country,subdivision\n"
REST = ",Delft,Europe/Amsterdam,NL,"


def north(**source):
    """Settings with one source."""
    return SETTINGS.model_copy(update={"sources": {"north": SourceSettings(**source)}})


def zipped(path, **texts):
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in texts.items():
            packed.writestr(name, text)
    return path


def describe(engine, folder, depot):
    text = f"{DEPOTS}{depot},{depot}{REST}\n"
    load_one(engine, write(folder / f"depot-{depot}.csv", text))


def test_an_entry_with_a_long_name_stops_no_other_file(clean_engine, tmp_path):
    zipped(tmp_path / "a.zip", **{"ф" * 130 + ".csv": DAILY + "A,2024-01-02,1\n"})
    write(tmp_path / "b.csv", DAILY + "A,2024-01-01,1\n")
    assert {file.state for file in load(clean_engine, tmp_path).files} == {"loaded"}


def test_orders_that_a_withdrawal_restores_are_counted(clean_engine, tmp_path):
    # The order x moves from A to B; the third file alone still has orders at A.
    for number, row in enumerate(("x,A", "x,B", "y,A")):
        text = f"{ORDERS}{row},2024-01-01T10:00\n"
        load_one(clean_engine, write(tmp_path / f"{number}.csv", text))
    ids = [
        row[0] for row in query(clean_engine, "select file_id from files order by 1")
    ]
    withdraw(clean_engine, [ids[2]])
    withdraw(clean_engine, [ids[1]])
    counting.rebuild(clean_engine, NOW)
    found = "select depot_id, orders from demand_versions where superseded_at is null and orders > 0"
    assert query(clean_engine, found) == [("A", 1)]


def test_a_replayed_signal_stays_below_a_later_files(clean_engine, tmp_path):
    describe(clean_engine, tmp_path, "A")
    day = datetime.now(UTC).date() + timedelta(days=30)

    def put(name, *values):
        text = SIGNALS + "".join(
            f"booked,{d},{day},{v}\n" for d, v in zip("AB", values, strict=False)
        )
        ingest(
            clean_engine, [str(write(tmp_path / name, text))], FileOptions(), SETTINGS
        )

    put("monday.csv", 5, 10)  # B is not known yet.
    describe(clean_engine, tmp_path, "B")
    put("tuesday.csv", 6, 20)
    query(
        clean_engine,
        "update signal_versions set known_from = known_from - 3, "
        "known_at = known_at - interval '3 days'",
    )
    replay(clean_engine, FileOptions(), SETTINGS, datetime.now(UTC))
    seen = (
        "select value from signal_versions where depot_id = 'B' and superseded_at is null "
        "order by known_from desc limit 1"
    )
    assert query(clean_engine, seen) == [(20,)]


def test_a_replay_does_not_prove_the_other_date_order(clean_engine, tmp_path):
    describe(clean_engine, tmp_path, "A")
    text = SIGNALS + "b,A,02/03/2026,1\nb,B,02/03/2026,2\nb,A,13/05/2026,1\n"
    load_one(clean_engine, write(tmp_path / "s.csv", text), date_format="%m/%d/%Y")
    describe(clean_engine, tmp_path, "B")
    replay(clean_engine, FileOptions(), SETTINGS, NOW)
    assert (date(2026, 3, 2),) not in query(
        clean_engine, "select day_on from signal_versions"
    )
    done = replay(clean_engine, FileOptions(date_format="%m/%d/%Y"), SETTINGS, NOW)
    assert done == ReplayResult(accepted=1, left=1)
    days = query(clean_engine, "select distinct day_on from signal_versions")
    assert days == [(date(2026, 2, 3),)]


def test_a_replay_reads_a_parquet_number_as_it_is(clean_engine, tmp_path):
    describe(clean_engine, tmp_path, "A")
    path = write_parquet(
        tmp_path / "north.parquet", signal=["rain"] * 2, depot_id=["A", "B"],
        date=["2026-06-05"] * 2, value=[1.5, 1.234],
    )  # fmt: skip
    settings = north(pattern="north*", decimal=",")
    assert load_one(clean_engine, path, settings=settings).counts.rejected == 1
    describe(clean_engine, tmp_path, "B")
    values = "select value from signal_versions where depot_id = 'B'"
    replay(clean_engine, FileOptions(), settings, NOW)
    assert query(clean_engine, values) == []
    replay(clean_engine, FileOptions(decimal="."), settings, NOW)
    assert query(clean_engine, values) == [(1.234,)]


def test_rows_above_a_second_header_are_not_lost(clean_engine, tmp_path):
    old = DAILY + "A,2024-01-01,1\nA,2024-01-02,2\n"
    new = "depot_id,date,orders,note\nA,2024-01-03,3,x\n"
    report = load_one(clean_engine, write(tmp_path / "a.csv", old + new))
    assert [row[1].day for row in rows(clean_engine, "daily_counts")] == [1, 2]
    assert [row[0] for row in quarantined(clean_engine)] == [4, 5]
    assert (report.counts.accepted, report.counts.rejected) == (2, 2)


def test_a_replayed_row_describes_a_depot_that_was_described_before(
    clean_engine, tmp_path
):
    header = DEPOTS.rstrip() + ",closed_on\n"
    first = "".join(f"{d},{d}{REST},\n" for d in "ABC")
    load_one(clean_engine, write(tmp_path / "a.csv", header + first))
    then = f"A,A{REST},03/05/2026\nB,B{REST},2026-01-01\nC,C{REST},2026-01-01\n"
    load_one(clean_engine, write(tmp_path / "b.csv", header + then))
    done = replay(clean_engine, FileOptions(date_format="%d/%m/%Y"), SETTINGS, NOW)
    closed = query(clean_engine, "select closed_on from depots where depot_id = 'A'")
    assert (done, closed) == (ReplayResult(accepted=1), [(date(2026, 5, 3),)])


def test_an_archive_that_is_still_being_written_is_waited_for(
    clean_engine, tmp_path, monkeypatch
):
    settings = SETTINGS.model_copy(update={"home": tmp_path, "settle_seconds": 10})
    settings.inbox.mkdir()
    path = zipped(settings.inbox / "a.zip", **{"b.csv": DAILY + "A,2024-01-02,1\n"})
    whole = path.read_bytes()
    path.write_bytes(whole[:40])
    monkeypatch.setattr(inbox_source.time, "sleep", lambda _: path.write_bytes(whole))
    assert load_one(clean_engine, settings.inbox, settings=settings).state == "waiting"
    monkeypatch.setattr(inbox_source.time, "sleep", lambda _: None)
    assert load_one(clean_engine, settings.inbox, settings=settings).state == "loaded"


def test_a_blank_cell_does_not_bring_a_withdrawn_event_back(clean_engine, tmp_path):
    header = "kind,starts_on,ends_on,withdrawn\nclosed,2026-08-01,2026-08-01,\n"
    load_one(clean_engine, write(tmp_path / "a.csv", header))
    withdraw_event(clean_engine, "closed/2026-08-01", "works moved")
    more = "game,2026-08-02,2026-08-02,\n"
    load_one(clean_engine, write(tmp_path / "b.csv", header + more))
    assert query(clean_engine, "select event_id from events") == [("game/2026-08-02",)]


def test_a_pattern_with_a_folder_fits_a_file_in_an_archive(clean_engine, tmp_path):
    text = ORDERS + "1,A,2024-01-02T10:00\n"
    path = zipped(tmp_path / "a.zip", **{"north/o.csv": text})
    load_one(clean_engine, path, settings=north(pattern="north/*.csv"))
    assert query(clean_engine, "select source from files") == [("north",)]


def test_a_parquet_row_of_mapped_columns_is_replayed(clean_engine, tmp_path):
    settings = north(pattern="north*", columns={"depot_id": "Base"})
    columns = {
        "Base": ["A", "A"],
        "date": ["2024-01-01", "2026-06-09"],
        "orders": [1, 4],
    }
    path = write_parquet(tmp_path / "north.parquet", **columns)
    assert load_one(clean_engine, path, settings=settings).counts.rejected == 1
    done = replay(clean_engine, FileOptions(), settings, NOW + timedelta(days=9))
    assert done == ReplayResult(accepted=1)


def test_a_parquet_column_may_end_in_a_space(clean_engine, tmp_path):
    columns = {"depot_id": ["A"], "date ": ["2024-01-01"], "orders": [1]}
    file = load_one(clean_engine, write_parquet(tmp_path / "a.parquet", **columns))
    assert (file.state, file.error) == ("loaded", None)


@pytest.mark.parametrize("date_format", ["%d.%m.%y", "%Y/%m/%d"])
@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_real_dates_need_no_format(clean_engine, tmp_path, kind, date_format):
    path = tmp_path / f"a.{kind}"
    if kind == "xlsx":
        workbook(
            path, {"S": [["depot_id", "date", "orders"], ["A", ("date", 45292), 1]]}
        )
    else:
        write_parquet(
            path, depot_id=["A"], date=pa.array([date(2024, 1, 1)]), orders=[1]
        )
    assert load_one(clean_engine, path, date_format=date_format).counts.accepted == 1


def test_an_archive_of_which_a_part_was_left_out_stays(clean_engine, tmp_path):
    settings = SETTINGS.model_copy(update={"home": tmp_path})
    settings.inbox.mkdir()
    inner = io.BytesIO()
    zipped(inner, **{"n.csv": DAILY + "A,2024-01-03,1\n"})
    text = DAILY + "A,2024-01-02,1\n"
    path = zipped(
        settings.inbox / "a.zip",
        **{"b.csv": text, "c.zip": inner.getvalue(), "../d.csv": text},
    )
    report = load(clean_engine, settings.inbox, settings=settings)
    assert len(report.refused) == 2
    assert path.exists()


@pytest.mark.parametrize("damage", ["lzma", "cut"])
def test_a_damaged_archive_is_not_called_a_fault_of_the_program(
    clean_engine, tmp_path, damage
):
    path = tmp_path / "a.zip"
    text = DAILY + "".join(f"A,2024-01-{day:02},1\n" for day in range(1, 30))
    with zipfile.ZipFile(
        path, "w", zipfile.ZIP_LZMA if damage == "lzma" else 0
    ) as packed:
        packed.writestr("b.csv", text)
    data = bytearray(path.read_bytes())
    if damage == "lzma":
        data[60:70] = b"\xff" * 10
    else:  # The directory promises more bytes than there are.
        at = data.rfind(b"PK\x01\x02")
        data[at + 20 : at + 28] = (100_000).to_bytes(4, "little") * 2
    error = load_one(clean_engine, write(path, bytes(data))).error
    assert "cannot be unpacked" in error
    assert "unexpected" not in error
