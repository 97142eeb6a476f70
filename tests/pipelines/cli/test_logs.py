"""Every line of a run names the run, in words or as JSON."""

import io
import json
import logging
import re
from contextlib import suppress
from datetime import date

import pytest
import sqlalchemy as sa
import structlog

from forecaster.errors import NoDataError
from pipelines.cli import log_words
from pipelines.cli.logs import OfLibraries, configure_logs
from pipelines.runs.ledger import recorded


@pytest.fixture
def told(monkeypatch):
    """What is written, as JSON lines."""
    monkeypatch.setenv("HARBOR_LOG_JSON", "1")
    out = io.StringIO()
    configure_logs(logging.INFO, out)
    yield out
    structlog.reset_defaults()


@pytest.fixture
def library():
    """A library that logs as the standard library has it."""
    logger = logging.getLogger("some.library")
    logger.propagate = False
    handler = OfLibraries()
    logger.addHandler(handler)
    yield logger
    logger.removeHandler(handler)
    logger.propagate = True


def lines(out):
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.db
def test_every_line_of_a_run_names_it(clean_engine, told, library):
    with recorded(clean_engine, "nightly") as whole:
        structlog.get_logger().warning("ours", share=0.5)
        library.warning("of a %s", "library")
        with recorded(clean_engine, "train", parent=whole) as step:
            library.error("broke", exc_info=ValueError("x"))
    found = [(line["run_id"], line["event"]) for line in lines(told)]
    assert found == [
        (whole.run_id, "started"),
        (whole.run_id, "ours"),
        (whole.run_id, "library"),
        (step.run_id, "started"),
        (step.run_id, "library"),
        (step.run_id, "done"),
        (whole.run_id, "done"),
    ]
    broke = lines(told)[4]
    assert (broke["library"], broke["says"]) == ("some.library", "broke")
    assert (broke["error"], broke["level"]) == ("ValueError('x')", "error")


@pytest.fixture
def words(monkeypatch):
    """What is written, as lines for people."""
    monkeypatch.delenv("HARBOR_LOG_JSON", raising=False)
    out = io.StringIO()
    configure_logs(logging.INFO, out)
    yield out
    structlog.reset_defaults()


@pytest.mark.db
def test_people_read_when_which_run_which_step_what_and_how_long(clean_engine, words):
    with (
        suppress(NoDataError),
        recorded(clean_engine, "nightly", date(2026, 3, 31)) as whole,
    ):
        with recorded(clean_engine, "ingest", parent=whole) as step:
            step.metrics |= {"files": 2, "refused": None, "load_seconds": 0.3}
            structlog.get_logger().warning("feed_late", says="3 depots are late.")
        raise NoDataError("There is no demand. Load some.")
    shape = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  ")
    found = words.getvalue().splitlines()
    assert all(shape.match(line) for line in found)
    said = [re.sub(r"\d+\.\d s", "SECONDS", shape.sub("", line)) for line in found]
    assert said == [
        "run 1  nightly   begins, for 2026-03-31",
        "run 2  ingest    begins",
        "run 2  ingest    warning: feed late: 3 depots are late.",
        "run 2  ingest    done in SECONDS: files 2",
        # The command itself says why, once.
        "run 1  nightly   failed after SECONDS",
    ]


@pytest.mark.parametrize(
    ("event", "fields", "said"),
    [
        ("fit", {"fit": "evaluation", "epoch": 4, "most": 40, "best_mape": 0.0931},
         "evaluation fit, epoch 4 of 40, best MAPE 9.31 %"),
        ("fit", {"fit": "production", "epoch": 4, "most": 9},
         "production fit, epoch 4 of 9"),
        ("file", {"path": "a.csv", "state": "refused", "reason": "It is empty."},
         "a.csv: refused: It is empty."),
        ("file", {"path": "a.csv", "state": "loaded", "accepted": 3, "rejected": 0},
         "a.csv: loaded, accepted 3, rejected 0"),
        ("database_unavailable", {"reason": "it is gone", "waiting_s": 9},
         "database unavailable, waiting 9 s: it is gone"),
        ("skipped", {"error": "Nothing new."}, "skipped: Nothing new."),
        ("done", {"took_seconds": 2.0, "canary": {"passed": True, "checks": []}},
         "done in 2.0 s: canary passed"),
    ],
)  # fmt: skip
def test_what_is_logged_is_told_in_words(event, fields, said):
    assert log_words.in_words(event, fields) == said


def test_a_line_of_no_run_names_none(words):
    structlog.get_logger().info("here", number=3, nobody=None)
    assert words.getvalue().endswith("Z  here, number 3\n")


def test_what_json_does_not_know_is_written_as_words(told):
    url = sa.URL.create("postgresql", "me", "s3cret", "db")
    structlog.get_logger().info("here", url=url, many=[{"url": url, "n": 1}])
    (line,) = lines(told)
    assert line["url"] == "postgresql://me:***@db"
    assert line["many"] == [{"url": "postgresql://me:***@db", "n": 1}]
