"""`harbor ingest` and `harbor quarantine`: what is printed, and the exit codes."""

import json
import os
import subprocess
import sys

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs
from typer.testing import CliRunner

from forecaster.errors import NoDataError, NothingToDoError, RefusedFileError
from pipelines.cli import app
from tests.pipelines.ingest.ingesting import rows, write

pytestmark = pytest.mark.db

DAILY = "depot_id,date,orders\n"


@pytest.fixture
def harbor(clean_engine, database_url, tmp_path, monkeypatch):
    """Runs a command, and gives what it printed and what it ended with."""
    monkeypatch.setenv("HARBOR_DATABASE_URL", database_url)
    monkeypatch.setenv("HARBOR_HOME", str(tmp_path / "home"))

    def run(*arguments):
        # `main` sends the log to stderr; here it is kept from the output.
        with capture_logs():
            done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        foreseen = (SystemExit, NoDataError, NothingToDoError, RefusedFileError)
        if done.exception is not None and not isinstance(done.exception, foreseen):
            raise done.exception
        return done

    return run


def test_a_load_prints_one_object_and_counts_demand(harbor, clean_engine, tmp_path):
    path = write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\nA,2024-01-02,x\n")
    gone = tmp_path / "gone.csv"
    done = harbor("ingest", path, gone, "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    error = f"{gone} does not exist. Check the path."
    assert told["files"] == [
        {"path": str(path), "kind": "daily", "state": "loaded"} | told["daily"],
        {"path": str(gone), "kind": None, "state": "refused", "error": error}
        | told["orders"],
    ]
    assert told["daily"] == {"accepted": 1, "unchanged": 0, "rejected": 1}
    assert told["orders"] == {"accepted": 0, "unchanged": 0, "rejected": 0}
    assert list(told) == ["files", "orders", "daily", "depots", "events", "signals"]
    with clean_engine.connect() as connection:
        demand = connection.execute(sa.text("select orders from demand_versions"))
        assert [row[0] for row in demand] == [1]
        run = connection.execute(sa.text("select step, state, metrics from runs")).one()
    assert run[:2] == ("ingest", "done")
    assert run[2]["accepted"] == run[2]["rejected"] == run[2]["refused"] == 1


def test_nothing_new_ends_with_three(harbor, tmp_path):
    path = write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n")
    harbor("ingest", path)
    done = harbor("ingest", path, "--json")
    assert json.loads(done.stdout)["daily"]["unchanged"] == 1
    assert isinstance(done.exception, NothingToDoError)
    assert done.exception.exit_code == 3
    assert "nothing new" in str(done.exception)


def test_a_folder_without_files_ends_with_three(harbor, tmp_path):
    done = harbor("ingest", tmp_path)
    assert isinstance(done.exception, NothingToDoError)
    assert "There is nothing to load in" in str(done.exception)


def test_a_refused_file_ends_with_one_and_says_that_others_went_in(
    harbor, clean_engine, tmp_path
):
    good = write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n")
    done = harbor("ingest", good, tmp_path / "gone.csv")
    assert isinstance(done.exception, RefusedFileError)
    assert done.exception.exit_code == 1
    assert str(done.exception) == (
        f"{tmp_path}/gone.csv does not exist. Check the path. Other files loaded: 1 of 1."
    )
    assert len(rows(clean_engine, "daily_counts")) == 1
    alone = harbor("ingest", tmp_path / "gone.csv")
    assert str(alone.exception).endswith("Nothing was changed.")


def test_refused_files_are_told_on_a_line_each_and_the_rest_counted(harbor, tmp_path):
    done = harbor("ingest", *(tmp_path / f"{number}.csv" for number in range(7)))
    told = str(done.exception).splitlines()
    assert len(told) == 6
    assert all("does not exist" in line for line in told[:5])
    assert told[5] == "And 2 more. Nothing was changed."


def test_a_load_that_corrects_days_says_how_many(harbor, clean_engine, tmp_path):
    harbor("ingest", write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n"))
    later = write(tmp_path / "b.csv", DAILY + "A,2024-01-01,2\nA,2024-01-02,3\n")
    harbor("ingest", later)
    with clean_engine.connect() as connection:
        found = sa.text(
            "select metrics from runs where step = 'ingest' order by run_id"
        )
        metrics = list(connection.scalars(found))
    assert [(each["new"], each["corrected"]) for each in metrics] == [(1, 0), (1, 1)]


def test_a_dry_run_does_not_say_that_anything_went_in(harbor, tmp_path):
    good = write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n")
    done = harbor("ingest", good, tmp_path / "gone.csv", "--dry-run")
    assert str(done.exception).endswith("Other files that would be loaded: 1 of 1.")


def test_a_dry_run_leaves_no_trace(harbor, clean_engine, tmp_path):
    path = write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n")
    done = harbor("ingest", path, "--dry-run")
    assert done.exit_code == 0
    assert "Nothing was changed; this was a dry run." in done.stderr
    for table in ("files", "daily_counts", "depots", "runs", "demand_versions"):
        assert rows(clean_engine, table) == []


def test_columns_are_mapped_on_the_command_line(harbor, clean_engine, tmp_path):
    path = write(tmp_path / "a.csv", "Base Number,When,Trips\nA,03/04/2024,7\n")
    done = harbor(
        *("ingest", path, "--column", "depot_id=Base Number", "--column", "date=When"),
        *("--column", "orders=Trips", "--date-format", "%d/%m/%Y"),
    )
    assert done.exit_code == 0
    assert [str(cell) for cell in rows(clean_engine, "daily_counts")[0]] == [
        "A",
        "2024-04-03",
        "7",
    ]


@pytest.mark.parametrize(
    "options",
    [
        ("--column", "depot_id"),
        ("--column", "depot=Base"),
        ("--kind", "trips"),
        ("--date-format", "US"),
        ("--encoding", "utf-9"),
    ],
)
def test_wrong_usage_ends_with_two(harbor, tmp_path, options):
    assert harbor("ingest", tmp_path, *options).exit_code == 2


def test_an_empty_path_is_wrong_usage_and_loads_nothing(
    harbor, clean_engine, tmp_path, monkeypatch
):
    write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n")
    monkeypatch.chdir(tmp_path)
    assert harbor("ingest", "").exit_code == 2
    assert rows(clean_engine, "daily_counts") == []


def test_an_unknown_source_is_wrong_usage_and_leaves_no_run(
    harbor, clean_engine, tmp_path
):
    done = harbor("ingest", tmp_path, "--source", "north")
    assert done.exit_code == 2
    assert "harbor.toml has no sources" in " ".join(done.stderr.split())
    assert rows(clean_engine, "runs") == []


def test_a_source_of_harbor_toml_is_read_by_its_name_or_its_pattern(
    harbor, clean_engine, tmp_path, monkeypatch
):
    text = '[sources.north]\npattern = "n*.csv"\ndate_format = "%d/%m/%Y"\n'
    write(tmp_path / "harbor.toml", text)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "n1.csv", DAILY + "A,05/11/2025,1\n")
    write(tmp_path / "x.csv", DAILY + "A,06/11/2025,1\n")
    assert harbor("ingest", "n1.csv").exit_code == 0
    assert harbor("ingest", "x.csv", "--source", "north").exit_code == 0
    days = [str(row[1]) for row in rows(clean_engine, "daily_counts")]
    assert days == ["2025-11-05", "2025-11-06"]


def test_the_log_of_a_refusal_is_no_second_message_to_a_person(
    clean_engine, database_url, tmp_path
):
    environment = {
        **os.environ,
        "HARBOR_DATABASE_URL": database_url,
        "HARBOR_HOME": str(tmp_path / "home"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pipelines", "ingest", str(tmp_path / "gone.csv")],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("does not exist") == 1


def test_quarantine_lists_and_shows_what_was_put_aside(harbor, tmp_path):
    path = write(
        tmp_path / "late.csv",
        "note,depot_id,date,orders\nx,A,soon,1\n,A,2024-01-01,-1\n"
        ",A,2024-01-01,1\n,B,2024-01-01,1\n",
    )
    harbor("ingest", path)
    listed = json.loads(harbor("quarantine", "list", "--json").stdout)
    assert [(row["line"], row["column"], row["value"]) for row in listed] == [
        (3, "orders", "-1"),
        (2, "date", "soon"),
    ]
    some = harbor("quarantine", "list", "--file", "late", "--limit", "1", "--json")
    assert json.loads(some.stdout) == listed[:1]
    assert (
        json.loads(harbor("quarantine", "list", "--file", "a%", "--json").stdout) == []
    )
    shown = harbor("quarantine", "show", listed[1]["quarantine_id"], "--json")
    assert json.loads(shown.stdout)["raw"] == {
        "note": "x",
        "depot_id": "A",
        "date": "soon",
        "orders": "1",
    }
    assert "does not match the format ISO 8601" in harbor("quarantine", "list").stdout
    gone = harbor("quarantine", "show", "99")
    assert isinstance(gone.exception, NoDataError)
