"""Files of the inbox that are half-written are left until they settle."""

import os

import pytest

from pipelines.ingest import FileOptions, ingest
from pipelines.ingest.sources import inbox
from pipelines.settings import Settings
from tests.pipelines.ingest.ingesting import TODAY, rows, write

pytestmark = pytest.mark.db

DAILY = "depot_id,date,orders\n"


@pytest.fixture
def settings(tmp_path):
    made = Settings(home=tmp_path, settle_seconds=10)
    made.inbox.mkdir()
    return made


@pytest.fixture
def naps(monkeypatch):
    """Seconds slept; what happens meanwhile may be put in."""
    slept = []

    class Naps(list):
        meanwhile = staticmethod(lambda: None)

    slept = Naps()

    def sleep(seconds):
        slept.append(seconds)
        slept.meanwhile()

    monkeypatch.setattr(inbox.time, "sleep", sleep)
    return slept


def states(engine, settings, path):
    report = ingest(engine, [str(path)], FileOptions(), settings, today=TODAY)
    return {file.path.rsplit("/", 1)[-1]: file.state for file in report.files}


def age(path, seconds):
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_a_file_that_grows_is_left_and_taken_once_it_has_settled(
    clean_engine, settings, naps
):
    whole = write(settings.inbox / "a.csv", DAILY + "A,2024-01-01,1\n")
    half = write(settings.inbox / "b.csv", DAILY + "A,2024-01-02,1\n")
    age(whole, 60)
    naps.meanwhile = lambda: write(half, half.read_bytes() + b"A,2024-01-03,1\n")
    assert states(clean_engine, settings, settings.inbox) == {
        "a.csv": "loaded",
        "b.csv": "waiting",
    }
    assert naps == [10]
    assert len(rows(clean_engine, "daily_counts")) == 1

    naps.meanwhile = lambda: None
    assert states(clean_engine, settings, settings.inbox)["b.csv"] == "loaded"
    assert len(rows(clean_engine, "daily_counts")) == 3


def test_files_that_have_settled_or_were_named_elsewhere_are_not_waited_for(
    clean_engine, settings, naps, tmp_path
):
    age(write(settings.inbox / "a.csv", DAILY + "A,2024-01-01,1\n"), 11)
    new = write(tmp_path / "b.csv", DAILY + "A,2024-01-02,1\n")
    assert states(clean_engine, settings, settings.inbox) == {"a.csv": "loaded"}
    assert states(clean_engine, settings, new) == {"b.csv": "loaded"}
    assert naps == []


def test_a_file_that_is_gone_after_the_wait_is_left(clean_engine, settings, naps):
    """An upload under another name, for instance, that is renamed at its end."""
    path = write(settings.inbox / "a.csv", DAILY)
    naps.meanwhile = path.unlink
    assert states(clean_engine, settings, settings.inbox) == {"a.csv": "waiting"}
