"""A file that is withdrawn leaves the database as if it had never been loaded."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forecaster.errors import BadInputError, NoDataError, NothingToDoError
from pipelines.demand import counting
from pipelines.ingest.load import FileOptions, replay
from pipelines.ingest.load.withdrawal import withdraw
from pipelines.store import files as files_store
from tests.conftest import empty_tables
from tests.pipelines.ingest.ingesting import (
    DAILY,
    ORDERS,
    SETTINGS,
    TODAY,
    load_one,
    query,
    rows,
    write,
)

NOW = datetime(TODAY.year, TODAY.month, TODAY.day, 9, tzinfo=UTC)


def file_id_of(engine, name):
    with engine.connect() as connection:
        (found,), _ = files_store.newest_files(connection, 9, f"/{name}")
    return found.file_id


def counted(engine):
    """Current known demand by depot and day."""
    counting.rebuild(engine, NOW)
    found = query(
        engine,
        "select depot_id, service_on, orders from demand_versions "
        "join depots using (depot_id) where superseded_at is null and orders is not null",
    )
    return {(depot, str(day)): orders for depot, day, orders in found}


def state(engine):
    return rows(engine, "orders"), rows(engine, "daily_counts"), counted(engine)


DESCRIBED = "depot_id,name,city,timezone,country,subdivision\nA,A,X,UTC,BE,\n"
THREE = {
    "a.csv": "1,A,2024-01-01T10:00\n2,A,2024-01-01T11:00\n3,A,2024-01-02T10:00\n",
    "b.csv": "2,B,2024-01-01T11:00\n3,A,2024-01-03T10:00\n4,B,2024-01-02T10:00\n",
    "c.csv": "3,B,2024-01-03T12:00\n4,B,2024-01-04T10:00\n5,C,2024-01-02T10:00\n",
}
THREE = {name: ORDERS + text for name, text in THREE.items()}


def load_all(engine, folder, texts):
    for name, text in texts.items():
        load_one(engine, write(folder / name, text))


@pytest.mark.parametrize("gone", ["a.csv", "b.csv", "c.csv"])
def test_first_middle_and_last_of_three_files_can_be_withdrawn(
    clean_engine, tmp_path, gone
):
    load_all(clean_engine, tmp_path, {n: t for n, t in THREE.items() if n != gone})
    wanted, named = state(clean_engine), rows(clean_engine, "depots")
    empty_tables(clean_engine)
    load_all(clean_engine, tmp_path, THREE)
    counted(clean_engine)
    done = withdraw(clean_engine, [file_id_of(clean_engine, gone)])
    assert done.removed == (3 if gone == "c.csv" else 1)
    assert state(clean_engine) == wanted
    # Depots that only this file named are removed, too.
    assert rows(clean_engine, "depots") == named


def test_a_withdrawn_file_can_be_loaded_once_more_and_is_then_the_newest(
    clean_engine, tmp_path
):
    load_all(clean_engine, tmp_path, THREE)
    withdraw(clean_engine, [file_id_of(clean_engine, "b.csv")])
    again = load_one(clean_engine, tmp_path / "b.csv")
    assert (again.state, again.counts.accepted) == ("loaded", 3)
    placed = {row[0]: (row[1], str(row[2])) for row in rows(clean_engine, "orders")}
    assert placed["3"] == ("A", "2024-01-03 10:00:00")
    assert load_one(clean_engine, tmp_path / "b.csv").state == "unchanged"


def test_a_file_is_withdrawn_once(clean_engine, tmp_path):
    load_all(clean_engine, tmp_path, THREE)
    file_id = file_id_of(clean_engine, "c.csv")
    withdraw(clean_engine, [file_id])
    before = state(clean_engine)
    with pytest.raises(NothingToDoError, match=f"File {file_id} was withdrawn at 20"):
        withdraw(clean_engine, [file_id])
    assert state(clean_engine) == before
    with pytest.raises(NoDataError, match=r"There is no file 999\."):
        withdraw(clean_engine, [999])


def test_a_file_whose_rows_a_later_one_repeats_is_withdrawn_only_with_it(
    clean_engine, tmp_path
):
    load_all(clean_engine, tmp_path, THREE)
    load_one(
        clean_engine, write(tmp_path / "d.csv", THREE["a.csv"] + THREE["c.csv"][28:])
    )
    repeated, repeats = (file_id_of(clean_engine, f"{name}.csv") for name in "cd")
    before = state(clean_engine)
    with pytest.raises(
        BadInputError, match=rf"later files repeat: {repeats} \(d\.csv\)"
    ):
        withdraw(clean_engine, [repeated])
    assert state(clean_engine) == before
    withdraw(clean_engine, [repeats, repeated])
    load_one(clean_engine, tmp_path / "d.csv")
    assert ("5", "C") in {row[:2] for row in rows(clean_engine, "orders")}


def test_rows_out_of_quarantine_go_with_their_file_and_stay_below_later_ones(
    clean_engine, tmp_path
):
    early = write(tmp_path / "early.csv", DAILY + "A,2024-01-01,1\nA,02.01.2024,2\n")
    load_one(clean_engine, early)
    later = write(tmp_path / "later.csv", DAILY + "A,2024-01-02,9\n")
    load_one(clean_engine, later)
    replay(clean_engine, FileOptions(date_format="%d.%m.%Y"), SETTINGS, NOW)
    assert counted(clean_engine)["A", "2024-01-02"] == 9
    withdraw(clean_engine, [file_id_of(clean_engine, "later.csv")])
    assert counted(clean_engine) == {("A", "2024-01-01"): 1, ("A", "2024-01-02"): 2}
    withdraw(clean_engine, [file_id_of(clean_engine, "early.csv")])
    assert counted(clean_engine) == {}
    assert rows(clean_engine, "quarantine") == []
    assert rows(clean_engine, "superseded_rows") == []


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        (DESCRIBED, "holds depots.*load another depots file"),
        (
            "kind,starts_on,ends_on\nfair,2024-01-01,2024-01-02\n",
            "holds events.*'harbor events withdraw'",
        ),
    ],
    ids=["depots", "events"],
)
def test_files_of_other_kinds_are_refused_with_what_to_do(
    clean_engine, tmp_path, text, instead
):
    load_one(clean_engine, write(tmp_path / "x.csv", text))
    with pytest.raises(BadInputError, match=instead):
        withdraw(clean_engine, [file_id_of(clean_engine, "x.csv")])


def test_a_described_depot_stays(clean_engine, tmp_path):
    load_one(clean_engine, write(tmp_path / "d.csv", DESCRIBED))
    load_all(clean_engine, tmp_path, THREE)
    withdraw(clean_engine, [file_id_of(clean_engine, f"{name}.csv") for name in "abc"])
    assert [row[0] for row in rows(clean_engine, "depots")] == ["A"]
    assert rows(clean_engine, "orders") == []


values = st.dictionaries(
    st.sampled_from([f"{depot},2024-01-0{day}" for depot in "AB" for day in (1, 2, 3)]),
    st.sampled_from(["", "1", "2"]),
    min_size=1,
)


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(values, min_size=1, max_size=3), st.data())
def test_withdrawing_is_as_if_the_file_had_never_come(
    clean_engine, tmp_path_factory, contents, data
):
    folder = tmp_path_factory.mktemp("files")
    texts = {
        f"{at}.csv": DAILY
        + "".join(f"{k},{v}\n" for k, v in content.items())
        + "\n" * at
        for at, content in enumerate(contents)
    }
    empty_tables(clean_engine)
    load_all(clean_engine, folder, texts)
    ids = {file_id_of(clean_engine, name): name for name in texts}
    gone = {data.draw(st.sampled_from(sorted(ids)))}
    with clean_engine.connect() as connection:
        while more := files_store.repeats_of(connection, sorted(gone)):
            gone |= {each.file_id for each in more}
    withdraw(clean_engine, sorted(gone))
    found = rows(clean_engine, "daily_counts")
    empty_tables(clean_engine)
    load_all(
        clean_engine, folder,
        {name: texts[name] for file_id, name in ids.items() if file_id not in gone},
    )  # fmt: skip
    assert found == rows(clean_engine, "daily_counts")


def test_the_command_lists_withdraws_and_counts_again(harbor, clean_engine, tmp_path):
    load_all(clean_engine, tmp_path, THREE)
    file_id = file_id_of(clean_engine, "b.csv")
    before = state(clean_engine)
    said = json.loads(
        harbor("files", "withdraw", str(file_id), "--dry-run", "--json").stdout
    )
    assert (said["removed"], said["restored"], said["depots"]) == (1, 1, 0)
    assert state(clean_engine) == before
    assert harbor("files", "withdraw", str(file_id)).returncode == 0
    found = (
        "select orders from demand_versions where superseded_at is null "
        "and depot_id = 'A' and service_on = '2024-01-01'"
    )
    assert query(clean_engine, found) == [(2,)]
    listed = json.loads(harbor("files", "list", "--json").stdout)
    withdrawn = [each["withdrawn_at"] is not None for each in listed]
    assert withdrawn == [False, True, False]
    shown = harbor("files", "list")
    assert "withdrawn" in shown.stdout
    assert "show more" not in shown.stderr
    assert "2 of 3 files; show more" in harbor("files", "list", "--limit", "2").stderr
    of_b = harbor("files", "list", "--limit", "1", "--file", "b.csv")
    assert "show more" not in of_b.stderr
    assert harbor("files", "withdraw", str(file_id)).returncode == 3


@pytest.mark.parametrize(
    ("head", "before", "after", "shown"),
    [
        (DAILY, "A,2024-01-01,40\n", "A,2024-01-01,50\n", "orders from daily_counts"),
        (
            ORDERS,
            "1,A,2024-01-01T10:00\n",
            "1,A,2024-01-01T11:00\n",
            "ordered_local from orders",
        ),
        (
            "signal,city,date,value\n",
            "rain,X,2024-01-01,3\n",
            "rain,X,2024-01-01,5\n",
            "value from signal_versions where superseded_at is null",
        ),
        (
            "depot_id,name,city,timezone,country,subdivision\n",
            "A,A,X,UTC,BE,\n",
            "A,A,X,Asia/Tokyo,BE,\n",
            "timezone from depots",
        ),
    ],
    ids=["daily", "orders", "signals", "depots"],
)
def test_a_file_that_a_later_one_replaced_says_how_it_becomes_the_newest(
    clean_engine, tmp_path, head, before, after, shown
):
    load_one(clean_engine, write(tmp_path / "d.csv", DESCRIBED))
    first = write(tmp_path / "first.csv", head + before + "\n")
    load_one(clean_engine, first)
    wanted = query(clean_engine, f"select {shown}")
    assert not load_one(clean_engine, first).notes, "it is the newest"
    load_one(clean_engine, write(tmp_path / "second.csv", head + after))
    assert query(clean_engine, f"select {shown}") != wanted
    again = load_one(clean_engine, first)
    assert again.state == "unchanged"
    [note] = again.notes
    assert "what later files replaced stays replaced" in note
    if shown.endswith("depots"):
        assert "change a byte" in note
        write(first, head + before + "\n\n")
    else:
        file_id = file_id_of(clean_engine, "first.csv")
        assert f"'harbor files withdraw {file_id}'" in note
        withdraw(clean_engine, [file_id])
    load_one(clean_engine, first)
    assert query(clean_engine, f"select {shown}") == wanted
