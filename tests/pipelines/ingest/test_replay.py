"""Rows leave the quarantine once they are valid, as if loaded with their file."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from pipelines.ingest.load import FileOptions, ReplayResult, replay
from pipelines.store import load_timestamps
from tests.pipelines.ingest.ingesting import (
    DAILY,
    SETTINGS,
    TODAY,
    load_one,
    quarantined,
    query,
    rows,
    write,
    write_parquet,
)

NOW = datetime(TODAY.year, TODAY.month, TODAY.day, 9, tzinfo=UTC)


def let_out(engine, now=NOW, path=None, **options):
    return replay(engine, FileOptions(**options), SETTINGS, now, path)


def counted(engine):
    return {
        (depot, str(day)): orders for depot, day, orders in rows(engine, "daily_counts")
    }


def test_a_row_whose_cause_is_mended_goes_in_and_the_others_stay(
    clean_engine, tmp_path
):
    path = write(
        tmp_path / "a.csv",
        DAILY + "A,2024-01-01,1\nA,2026-06-09,2\nA,2024-01-02,x\nB,2026-06-08,3\n",
    )
    assert load_one(clean_engine, path).counts.rejected == 3
    assert let_out(clean_engine) == ReplayResult(left=3)
    # A week later, two of the days are no longer in the future.
    later = NOW + timedelta(days=8)
    assert let_out(clean_engine, later) == ReplayResult(accepted=2, left=1)
    assert counted(clean_engine) == {
        ("A", "2024-01-01"): 1,
        ("A", "2026-06-09"): 2,
        ("B", "2026-06-08"): 3,
    }
    assert [row[0] for row in rows(clean_engine, "depots")] == ["A", "B"]
    # Replayed rows stay in quarantine with a time, and are not replayed twice.
    marks = "select replayed_at is null from quarantine order by line"
    assert query(clean_engine, marks) == [(False,), (True,), (False,)]
    assert let_out(clean_engine, later) == ReplayResult(left=1)


def test_a_row_of_a_later_file_stays(clean_engine, tmp_path):
    early = write(tmp_path / "a.csv", DAILY + "A,2026-06-09,1\nB,2026-06-09,1\n")
    assert load_one(clean_engine, early).counts.rejected == 2
    query(clean_engine, "insert into daily_counts values ('A', '2026-06-09', 99, 1000)")
    done = let_out(clean_engine, NOW + timedelta(days=9))
    assert done == ReplayResult(accepted=1, unchanged=1)
    assert counted(clean_engine) == {("A", "2026-06-09"): 99, ("B", "2026-06-09"): 1}


def test_what_a_row_says_now_is_written_down(clean_engine, tmp_path):
    load_one(clean_engine, write(tmp_path / "a.csv", DAILY + "A,2026-06-09,-1\n"))
    before = quarantined(clean_engine)
    assert before[0][1] == "date"
    let_out(clean_engine, NOW + timedelta(days=9))
    assert quarantined(clean_engine) == [(2, "orders", "-1", "is negative")]


def test_a_try_with_options_that_lets_nothing_in_leaves_the_reasons(
    clean_engine, tmp_path
):
    path = write(tmp_path / "a.csv", DAILY + "A,2033-01-02,1\n")
    load_one(clean_engine, path)
    before = quarantined(clean_engine)
    done = let_out(clean_engine, date_format="%d/%m/%Y")
    (told,) = done.reasons
    assert "no row of a.csv can be loaded: date '2033-01-02'" in told
    assert done.left == 1
    assert quarantined(clean_engine) == before


def test_how_a_file_is_written_may_be_said_afterwards(clean_engine, tmp_path):
    path = write(
        tmp_path / "mixed.csv",
        "Base,date,orders\nA,2024-01-01,1\nA,2024-01-02,1\nA,03/04/2024,7\n",
    )
    load_one(clean_engine, path, columns={"depot_id": "Base"})
    (told,) = let_out(clean_engine).reasons
    assert "mixed.csv has no column 'depot_id'" in told
    mapped = {"columns": {"depot_id": "Base"}}
    (told,) = let_out(clean_engine, **mapped).reasons
    assert "--date-format" in told
    done = let_out(clean_engine, date_format="%d/%m/%Y", **mapped)
    assert done == ReplayResult(accepted=1)
    assert counted(clean_engine)["A", "2024-04-03"] == 7


def test_a_row_that_was_not_kept_whole_stays(clean_engine, tmp_path):
    path = write(
        tmp_path / "a.csv",
        "note," + DAILY + f"{'n' * 600},A,2026-06-09,1\nn,A\n",
    )
    assert load_one(clean_engine, path).counts.rejected == 2
    assert let_out(clean_engine, NOW + timedelta(days=9)) == ReplayResult(left=2)


def test_rows_of_parquet_and_of_depots_are_replayed_too(clean_engine, tmp_path):
    columns = {"depot_id": ["A"], "date": ["2026-06-09"], "orders": [4]}
    load_one(clean_engine, write_parquet(tmp_path / "a.parquet", **columns))
    header = "depot_id,name,city,timezone,country,subdivision,opened_on\n"
    rest = ",Delft,Europe/Amsterdam,NL,"
    load_one(
        clean_engine, write(tmp_path / "d.csv", header + f"A,Early{rest},2033-01-01\n")
    )
    load_one(
        clean_engine, write(tmp_path / "e.csv", header + f"B,Late{rest},2033-01-01\n")
    )
    load_one(clean_engine, write(tmp_path / "f.csv", header + f"B,Described{rest},\n"))
    only = let_out(clean_engine, NOW + timedelta(days=9), path="a.parquet")
    assert only == ReplayResult(accepted=1)
    done = let_out(clean_engine, NOW + timedelta(days=9 * 365))
    # B has been described since by another file.
    assert done == ReplayResult(accepted=1, unchanged=1)
    names = {row[0]: row[1] for row in rows(clean_engine, "depots")}
    assert names == {"A": "Early", "B": "Described"}


def test_the_command_tells_machines_and_counts_demand(clean_engine, harbor, tmp_path):
    text = DAILY + "A,2024-01-01,1\nA,03/04/2024,7\nA,x,1\n"
    load_one(clean_engine, write(tmp_path / "a.csv", text))
    nothing = harbor("quarantine", "replay", "--file", "other")
    assert nothing.returncode == 3
    assert "still there: 0" in nothing.stderr
    done = harbor("quarantine", "replay", "--date-format", "%d/%m/%Y", "--json")
    assert json.loads(done.stdout) == {
        "accepted": 1, "unchanged": 0, "left": 1, "reasons": [],
    }  # fmt: skip
    found = "select service_on::text from demand_versions where orders = 7"
    assert query(clean_engine, found) == [("2024-04-03",)]
    (left,) = json.loads(harbor("quarantine", "list", "--json").stdout)
    assert left["line"] == 4


def test_an_event_is_replayed_in_the_order_of_commits(clean_engine, tmp_path):
    """A run that begins meanwhile either sees the event or finds it newer."""
    text = "kind,starts_on,ends_on\nclosed,2026-08-02,2026-08-01\n"
    load_one(clean_engine, write(tmp_path / "a.csv", text))
    mended = """update quarantine set raw = raw || '{"ends_on": "2026-08-02"}'"""
    query(clean_engine, mended)
    options = {"options": "-c lock_timeout=1s"}
    impatient = sa.create_engine(clean_engine.url, connect_args=options)
    with clean_engine.begin() as held:
        load_timestamps.await_committing_loads(held)
        with pytest.raises(OperationalError, match="lock timeout"):
            let_out(impatient)
    impatient.dispose()
    assert let_out(clean_engine) == ReplayResult(accepted=1)
