"""Every line of a run names the run, in words or as JSON."""

import io
import json
import logging
from threading import Event

import pytest
import sqlalchemy as sa
import structlog
from sqlalchemy.exc import OperationalError

from pipelines.cli.logs import OfLibraries, configure_logs
from pipelines.heartbeat import Heart
from pipelines.ledger import recorded
from pipelines.run_log import LOG
from pipelines.store import runs


@pytest.fixture
def told(monkeypatch):
    """What is written, as JSON lines."""
    monkeypatch.setenv("HARBOR_LOG_JSON", "1")
    LOG.take()
    out = io.StringIO()
    configure_logs(logging.INFO, out)
    yield out
    structlog.reset_defaults()
    LOG.take()


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


@pytest.mark.db
def test_a_heartbeat_that_is_missed_names_its_run(clean_engine, told, monkeypatch):
    missed = Event()

    def away(*_):
        missed.set()
        raise OperationalError("", {}, Exception("gone"))

    monkeypatch.setattr(runs, "beat", away)
    heart = Heart(clean_engine, 0.01)
    heart.take(8)
    heart.take(7)
    heart.start()
    assert missed.wait(30)
    heart.stop()
    named = {
        line["run_id"] for line in lines(told) if line["event"] == "heartbeat_missed"
    }
    assert named == {7}


def test_lines_are_words_unless_json_is_asked_for(monkeypatch):
    monkeypatch.delenv("HARBOR_LOG_JSON", raising=False)
    out = io.StringIO()
    configure_logs(logging.INFO, out)
    structlog.get_logger().info("here", number=3)
    structlog.reset_defaults()
    assert "event='here' number=3" in out.getvalue()


def test_what_json_does_not_know_is_written_as_words(told):
    url = sa.URL.create("postgresql", "me", "s3cret", "db")
    structlog.get_logger().info("here", url=url)
    (line,) = lines(told)
    assert line["url"] == "postgresql://me:***@db"
