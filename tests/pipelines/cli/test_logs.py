"""Every line of a run names the run, in words or as JSON."""

import json
import logging
import re
from contextlib import suppress
from datetime import date

import pytest
import sqlalchemy as sa
import structlog

from forecaster.errors import NoDataError
from pipelines.cli.logs import LibraryHandler, configure_logs
from pipelines.runs.ledger import recorded


@pytest.fixture(autouse=True)
def logs():
    """Logs as a nightly run writes them."""
    configure_logs(logging.INFO)
    yield
    structlog.reset_defaults()


@pytest.fixture
def lines(monkeypatch, capsys):
    """Returns what has been logged since the last call, as JSON lines."""
    monkeypatch.setenv("HARBOR_LOG_JSON", "1")
    configure_logs(logging.INFO)
    return lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]


@pytest.fixture
def library():
    """A library that logs as the standard library has it."""
    logger = logging.getLogger("some.library")
    logger.propagate = False
    handler = LibraryHandler()
    logger.addHandler(handler)
    yield logger
    logger.removeHandler(handler)
    logger.propagate = True


def test_every_line_of_a_run_names_it(clean_engine, lines, library):
    with recorded(clean_engine, "nightly") as whole:
        structlog.get_logger().warning("ours", share=0.5)
        library.warning("of a %s", "library")
        with recorded(clean_engine, "train", parent=whole) as step:
            library.error("broke", exc_info=ValueError("x"))
    logged = lines()
    assert [(line["run_id"], line["event"]) for line in logged] == [
        (whole.run_id, "started"),
        (whole.run_id, "ours"),
        (whole.run_id, "library"),
        (step.run_id, "started"),
        (step.run_id, "library"),
        (step.run_id, "done"),
        (whole.run_id, "done"),
    ]
    broke = logged[4]
    assert (broke["library"], broke["message"]) == ("some.library", "broke")
    assert (broke["error"], broke["level"]) == ("ValueError('x')", "error")


def test_a_line_says_when_what_and_of_which_run(clean_engine, capsys):
    with (
        suppress(NoDataError),
        recorded(clean_engine, "nightly", date(2026, 3, 31)) as whole,
    ):
        with recorded(clean_engine, "ingest", parent=whole) as step:
            step.metrics |= {"files": 2, "refused": None}
            structlog.get_logger().warning("feed_late", reason="3 depots are late.")
        raise NoDataError("No demand.")
    lines = capsys.readouterr().err.splitlines()
    timestamp = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ")
    assert all(timestamp.match(line) for line in lines)
    events = [" ".join(timestamp.sub("", line).split()) for line in lines]
    assert [re.sub(r"\d+\.\d", "SECONDS", line) for line in events] == [
        "[info ] started origin=2026-03-31 run_id=1 step=nightly",
        "[info ] started run_id=2 step=ingest",
        "[warning ] feed_late reason='3 depots are late.' run_id=2 step=ingest",
        "[info ] done files=2 run_id=2 step=ingest took_seconds=SECONDS",
        # The command itself says why, once.
        "[info ] failed run_id=1 step=nightly took_seconds=SECONDS",
    ]


def test_what_json_does_not_know_is_written_as_words(lines):
    url = sa.URL.create("postgresql", "me", "s3cret", "db")
    structlog.get_logger().info("here", url=url, many=[{"url": url, "n": 1}])
    (line,) = lines()
    assert line["url"] == "postgresql://me:***@db"
    assert line["many"] == [{"url": "postgresql://me:***@db", "n": 1}]
