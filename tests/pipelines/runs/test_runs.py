"""Runs can be listed, shown with their log lines, and followed in progress."""

import json
from contextlib import suppress
from datetime import date

import pytest
import structlog
from structlog.testing import capture_logs

from forecaster.errors import NoDataError, NothingToDoError
from pipelines.cli.logs import configure_logs
from pipelines.cli.train import fit_progress
from pipelines.runs import tail
from pipelines.runs.ledger import recorded
from pipelines.store import run_lines, runs

DAY = date(2026, 6, 9)


@pytest.fixture
def logs():
    """Logs as the commands for people write them."""
    configure_logs()
    yield structlog.get_logger()
    structlog.reset_defaults()


def lines(engine, run_id):
    with engine.connect() as connection:
        lines = run_lines.lines_of(connection, run_id)
    return [
        (line["run_id"], line["level"], line["event"], line["fields"]) for line in lines
    ]


def test_what_a_run_and_its_steps_log_stands_beside_them(clean_engine, logs, capsys):
    with recorded(clean_engine, "nightly", DAY) as whole:
        logs.info("began", depots=3, share=0.5)
        with recorded(clean_engine, "train", DAY, parent=whole) as step:
            logs.warning("slow", because=ValueError("x"), nothing=float("nan"))
        logs.info("went on")
    logs.info("of no run")
    ours = [
        line for line in lines(clean_engine, 1) if line[2] not in {"started", "done"}
    ]
    assert ours == [
        (whole.run_id, "info", "began", {"depots": 3, "share": 0.5}),
        (step.run_id, "warning", "slow", {"because": "x", "nothing": "nan"}),
        (whole.run_id, "info", "went on", {}),
    ]
    assert lines(clean_engine, 1)[-1][2] == "done"
    # People are told of warnings only.
    printed = capsys.readouterr().err
    assert "began" not in printed
    assert "slow" in printed


def test_warnings_are_the_last_lines_to_be_left_out(clean_engine, logs):
    with recorded(clean_engine, "ingest", DAY) as run:
        logs.warning("file", state="refused")
        for number in range(3):
            logs.info("file", number=number)
    with clean_engine.connect() as connection:
        lines = run_lines.lines_of(connection, run.run_id, limit=2)
    assert [(line["level"], line["event"]) for line in lines] == [
        ("warning", "file"),
        ("info", "done"),
    ]


def test_a_line_that_cannot_be_stored_is_shown_and_stops_nobody(
    clean_engine, logs, capsys
):
    with recorded(clean_engine, "nightly") as run:
        logs.warning("of a run that is not there", run_id=77)
    assert "of a run that is not there" in capsys.readouterr().err
    assert {line[0] for line in lines(clean_engine, run.run_id)} == {run.run_id}


def test_following_tells_each_line_and_state_once_until_the_end(clean_engine, logs):
    started = recorded(clean_engine, "nightly", DAY)
    whole = started.__enter__()

    def a_step(_):
        with recorded(clean_engine, "demand", DAY, parent=whole) as step:
            step.metrics["new"] = 4
            logs.info("counted")

    def the_end(_):
        started.__exit__(None, None, None)

    happens = iter([a_step, the_end])

    def wait(seconds):
        next(happens)(seconds)

    updates = list(tail.follow(clean_engine, whole.run_id, wait))
    assert [
        [(row["step"], row["state"]) for row in news.changed] for news in updates
    ] == [
        [("nightly", "running")],
        [("demand", "done")],
        [("nightly", "done")],
    ]
    events = [line["event"] for news in updates for line in news.lines]
    assert events.count("counted") == 1
    assert events[0] == "started"


def test_what_is_followed_runs_now_or_ran_last(clean_engine):
    with pytest.raises(NoDataError, match="Nothing has run yet"):
        tail.newest_run(clean_engine)
    with recorded(clean_engine, "backfill") as old:
        with recorded(clean_engine, "train", parent=old), recorded(clean_engine, "x"):
            pass
        assert tail.newest_run(clean_engine) == old.run_id
    with recorded(clean_engine, "nightly") as last:
        pass
    assert tail.newest_run(clean_engine) == last.run_id


@pytest.mark.parametrize(
    ("with_steps", "wanted", "expected"),
    [
        pytest.param(False, {}, [3, 1], id="without steps"),
        pytest.param(True, {}, [3, 2, 1], id="steps too"),
        pytest.param(True, {"step": "train"}, [2], id="one step"),
        pytest.param(False, {"state": "skipped"}, [3], id="one state"),
        pytest.param(False, {"origin_on": DAY}, [1], id="one day"),
    ],
)
def test_runs_are_listed_as_wanted(clean_engine, with_steps, wanted, expected):
    with (
        recorded(clean_engine, "nightly", DAY) as night,
        recorded(clean_engine, "train", parent=night),
    ):
        pass
    with suppress(NothingToDoError), recorded(clean_engine, "backfill"):
        raise NothingToDoError("Nothing is left.")
    with clean_engine.connect() as connection:
        rows = runs.recent_runs(connection, 20, with_steps, wanted)
        assert [row["run_id"] for row in rows] == expected
        assert len(runs.recent_runs(connection, 1, with_steps, wanted)) == 1


def test_what_a_run_cost_is_shown_as_far_as_it_is_known(clean_engine, harbor):
    with recorded(clean_engine, "train", DAY) as run:
        run.metrics |= {"device_memory_peak_bytes": None, "compilations": 7}
        run.metrics |= {"host_memory_peak_bytes": 1536 * 2**20}
    printed = harbor("runs", "show", str(run.run_id)).stdout
    assert "7 compilations, host memory peak 1,536 MiB" in printed
    assert "device memory" not in printed


def test_the_list_says_how_it_ended_and_leaves_measurements_to_the_steps(
    clean_engine, harbor
):
    with recorded(clean_engine, "promote", DAY) as run:
        run.metrics |= {"canary": {"passed": True, "checks": [{"name": "range"}]}}
        run.metrics |= {"promoted": False, "step_seconds": 0.25, "late": {"Ghent": 2}}
    printed = harbor("runs", "list").stdout
    for words in ("not promoted", "canary passed", "late Ghent 2"):
        assert words in printed
    assert "step seconds" not in printed
    assert "{" not in printed
    assert "step seconds 0.25" in harbor("runs", "list", "--steps").stdout


def test_the_commands_show_a_failed_run_and_end_with_1(clean_engine, logs, harbor):
    with suppress(NoDataError), recorded(clean_engine, "nightly", DAY):
        logs.info("looked", files=0)
        raise NoDataError("There is no demand. Load some.")
    printed = harbor("runs", "show", "1")
    assert "There is no demand. Load some." in printed.stdout
    assert "looked files=0 run_id=1 step=nightly" in " ".join(printed.stderr.split())
    answer = json.loads(harbor("runs", "show", "1", "--json").stdout)
    assert answer["run"]["state"] == "failed"
    events = [line["event"] for line in answer["lines"]]
    assert events == ["started", "looked", "failed"]
    followed = harbor("runs", "follow")
    assert followed.returncode == 1
    assert f"nightly of {DAY} (run 1) failed. There is no" in followed.stderr
    assert (
        "There is no run that matches" in harbor("runs", "list", "--step", "no").stderr
    )
    wrong = harbor("runs", "list", "--state", "broken")
    assert wrong.returncode == 2
    assert "'broken', but must be one of running" in " ".join(wrong.stderr.split())


@pytest.mark.parametrize(("epochs", "expected"), [(200, 10), (10, 10), (3, 3)])
def test_a_training_that_is_followed_tells_of_itself_now_and_then(epochs, expected):
    with capture_logs() as logs, fit_progress() as report:
        note = report("evaluation")
        for epoch in range(1, epochs + 1):
            note(epoch, epochs)
    assert len(logs) == expected
    assert [logs[-1][name] for name in ("event", "epoch", "most")] == [
        "fit",
        epochs,
        epochs,
    ]
