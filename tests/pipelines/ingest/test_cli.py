"""`harbor ingest` and `harbor quarantine`: what is printed, and the exit codes."""

import json
from datetime import UTC, datetime

import pytest

from tests.pipelines.ingest.ingesting import DAILY, query, rows, write
from tests.pipelines.make import add_file

pytestmark = pytest.mark.usefixtures("clean_engine")


@pytest.fixture
def path(tmp_path):
    """Path of a file with one daily count."""
    return str(write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n"))


@pytest.fixture
def gone(tmp_path):
    return str(tmp_path / "gone.csv")


def test_a_load_prints_one_object_and_counts_demand(
    harbor, clean_engine, tmp_path, gone
):
    path = write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\nA,2024-01-02,x\n")
    done = harbor("ingest", str(path), gone, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    error = f"{gone} does not exist. Check the path."
    assert told["files"] == [
        {"path": str(path), "kind": "daily", "state": "loaded"} | told["daily"],
        {"path": gone, "kind": None, "state": "refused", "error": error}
        | told["orders"],
    ]
    assert told["daily"] == {"accepted": 1, "unchanged": 0, "rejected": 1}
    assert told["orders"] == {"accepted": 0, "unchanged": 0, "rejected": 0}
    assert list(told) == ["files", "orders", "daily", "depots", "events", "signals"]
    assert query(clean_engine, "select orders from demand_versions") == [(1,)]
    ((step, state, metrics),) = query(
        clean_engine, "select step, state, metrics from runs"
    )
    assert (step, state) == ("ingest", "done")
    assert metrics["accepted"] == metrics["rejected"] == metrics["refused"] == 1


def test_nothing_new_ends_with_three(harbor, path):
    harbor("ingest", path)
    done = harbor("ingest", path, "--json")
    assert json.loads(done.stdout)["daily"]["unchanged"] == 1
    assert done.returncode == 3
    assert "nothing new" in done.stderr


def test_a_folder_without_files_ends_with_three(harbor, tmp_path):
    done = harbor("ingest", str(tmp_path))
    assert done.returncode == 3
    assert "There is nothing to load in" in done.stderr


def test_a_refused_file_ends_with_one_and_says_once_that_others_went_in(
    harbor, clean_engine, path, gone
):
    done = harbor("ingest", path, gone)
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"harbor: {gone} does not exist. Check the path. Other files loaded: 1 of 1.\n"
    )
    # The refusal is not printed a second time as a log line.
    assert done.stderr.count("does not exist") == 1
    assert len(rows(clean_engine, "daily_counts")) == 1
    assert harbor("ingest", gone).stderr.endswith("Nothing was changed.\n")


def test_refused_files_are_told_on_a_line_each_and_the_rest_counted(harbor, tmp_path):
    done = harbor("ingest", *(str(tmp_path / f"{number}.csv") for number in range(7)))
    *told, last = done.stderr.splitlines()
    assert len(told) == 5
    assert all("does not exist" in line for line in told)
    assert last == "And 2 more. Nothing was changed."


def test_a_load_that_corrects_days_says_how_many(harbor, clean_engine, path, tmp_path):
    harbor("ingest", path)
    later = write(tmp_path / "b.csv", DAILY + "A,2024-01-01,2\nA,2024-01-02,3\n")
    harbor("ingest", str(later))
    metrics = query(clean_engine, "select metrics from runs order by run_id")
    assert [(each["new"], each["corrected"]) for (each,) in metrics] == [(1, 0), (1, 1)]


def test_a_dry_run_leaves_no_trace_and_does_not_say_that_anything_went_in(
    harbor, clean_engine, path, gone
):
    done = harbor("ingest", path, "--dry-run")
    assert done.returncode == 0
    assert "Nothing was changed; this was a dry run." in done.stderr
    for table in ("files", "daily_counts", "depots", "runs", "demand_versions"):
        assert rows(clean_engine, table) == []
    done = harbor("ingest", path, gone, "--dry-run")
    assert done.stderr.endswith("Other files that would be loaded: 1 of 1.\n")


def test_columns_are_mapped_on_the_command_line(harbor, clean_engine, tmp_path):
    path = write(tmp_path / "a.csv", "Base Number,When,Trips\nA,03/04/2024,7\n")
    done = harbor(
        *("ingest", str(path), "--column", "depot_id=Base Number"),
        *("--column", "date=When", "--column", "orders=Trips"),
        *("--date-format", "%d/%m/%Y"),
    )
    assert done.returncode == 0
    (row,) = rows(clean_engine, "daily_counts")
    assert [str(cell) for cell in row] == ["A", "2024-04-03", "7"]


@pytest.mark.parametrize(
    "options",
    [("--column", "depot_id"), ("--kind", "trips"), ("--source", "north"), ("",)],
    ids=["no pair", "no kind", "no source", "an empty path"],
)
def test_wrong_usage_ends_with_two_and_leaves_no_run(
    harbor, clean_engine, path, options
):
    assert harbor("ingest", path, *options).returncode == 2
    assert rows(clean_engine, "runs") == rows(clean_engine, "daily_counts") == []


def test_quarantine_lists_and_shows_what_was_put_aside(harbor, tmp_path):
    path = write(
        tmp_path / "late.csv",
        "note,depot_id,date,orders\nx,A,soon,1\n,A,2024-01-01,-1\n"
        ",A,2024-01-01,1\n,B,2024-01-01,1\n",
    )
    harbor("ingest", str(path))

    def listed(*words):
        return json.loads(harbor("quarantine", "list", *words, "--json").stdout)

    second, first = listed()
    assert (first["line"], first["column"], first["value"]) == (2, "date", "soon")
    assert (second["line"], second["column"], second["value"]) == (3, "orders", "-1")
    assert listed("--file", "late", "--limit", "1") == [second]
    assert listed("--file", "a%") == []
    shown = harbor("quarantine", "show", str(first["quarantine_id"]), "--json")
    assert json.loads(shown.stdout) == first
    assert first["raw"] == {
        "note": "x", "depot_id": "A", "date": "soon", "orders": "1",
    }  # fmt: skip
    assert "does not match the format ISO 8601" in harbor("quarantine", "list").stdout
    assert harbor("quarantine", "show", "99").returncode == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("files", "No loaded file has that in its path."),
        ("quarantine", "in their path"),
    ],
)
def test_a_list_that_a_filter_empties_says_so(clean_engine, harbor, name, expected):
    with clean_engine.begin() as connection:
        add_file(connection)
    assert expected in harbor(name, "list", "--file", "x-2026").stderr


def test_files_are_listed_in_utc_wherever_the_server_is(
    clean_engine, harbor, database_url
):
    with clean_engine.begin() as connection:
        add_file(connection, loaded_at=datetime(2024, 3, 1, 12, tzinfo=UTC))
    url = f"{database_url}&options=-c%20timezone%3DAmerica/Santiago"
    assert "2024-03-01 12:00" in harbor("files", "list", HARBOR_DATABASE_URL=url).stdout
