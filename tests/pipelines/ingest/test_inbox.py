"""The inbox: made early, emptied of loaded files, left alone while a file is being written."""

import os
import re

import pytest
from structlog.testing import capture_logs

from pipelines.cli import db, doctor_findings
from pipelines.cli.context import make_inbox, open_context
from pipelines.ingest.load import FileOptions, ingest
from pipelines.ingest.sources import inbox as inbox_source
from pipelines.ingest.sources.files import find_sources
from pipelines.ingest.sources.inbox import move_to_done
from pipelines.ingest.sources.spool import Spool
from pipelines.settings import Settings
from tests.pipelines.ingest import ingesting
from tests.pipelines.ingest.ingesting import DAILY, rows, write


@pytest.fixture
def home(engine, database_url, tmp_path, monkeypatch):
    monkeypatch.setenv("HARBOR_DATABASE_URL", database_url)
    monkeypatch.setenv("HARBOR_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_any_command_that_opens_the_database_makes_it(home):
    with open_context():
        assert (home / "inbox").is_dir()


def test_so_does_making_the_tables(home):
    db.upgrade()
    assert (home / "inbox").is_dir()


def test_who_may_not_make_it_goes_without_and_doctor_says_so(tmp_path):
    settings = Settings(home=tmp_path)
    settings.inbox.write_text("no folder")
    make_inbox(settings)
    found = doctor_findings._inbox(settings)
    assert not found.ok
    assert f"{settings.inbox} cannot be read (Not a directory)" in found.message


def test_doctor_says_where_it_is_and_what_it_holds(tmp_path):
    settings = Settings(home=tmp_path)
    found = doctor_findings._inbox(settings)
    assert found.ok
    assert f"{tmp_path}/inbox is empty" in found.message
    (settings.inbox / "orders.csv").write_text("")
    assert "holds 1 file;" in doctor_findings._inbox(settings).message


@pytest.fixture
def inbox(tmp_path):
    settings = Settings(home=tmp_path, max_rejected_ratio=1)
    settings.inbox.mkdir()
    return settings


def load(engine, settings, *paths, **options):
    paths = paths or [settings.inbox]
    report = ingesting.load(engine, *paths, settings=settings, **options)
    return {file.path.rsplit("/", 1)[-1]: file.state for file in report.files}


def lying(settings):
    found = (path for path in settings.inbox.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(settings.inbox)) for path in found)


def test_a_loaded_file_moves_to_done_and_a_refused_one_stays(clean_engine, inbox):
    partner = inbox.inbox / "north"
    partner.mkdir()
    write(partner / "a.csv", DAILY + "A,2024-01-01,1\n")
    write(inbox.inbox / "broken.csv", "what,is,this\n1,2,3\n")
    assert load(clean_engine, inbox, dry_run=True)["a.csv"] == "loaded"
    assert lying(inbox) == ["broken.csv", "north/a.csv"]
    load(clean_engine, inbox)
    assert lying(inbox) == ["broken.csv", "done/north/a.csv"]
    # The next night does not look into `done`.
    assert load(clean_engine, inbox) == {"broken.csv": "refused"}


def test_a_file_of_the_same_name_moves_beside_the_one_before(clean_engine, inbox):
    for orders in (1, 2):
        write(inbox.inbox / "orders.csv", DAILY + f"A,2024-01-0{orders},{orders}\n")
        load(clean_engine, inbox)
    # A file with the same bytes is unchanged, and moved to `done`, too.
    write(inbox.inbox / "again.csv", DAILY + "A,2024-01-01,1\n")
    assert load(clean_engine, inbox) == {"again.csv": "unchanged"}
    stamped, *others = lying(inbox)
    assert others == ["done/again.csv", "done/orders.csv"]
    assert re.fullmatch(r"done/\d{8}T\d+-orders\.csv", stamped)


def test_a_file_that_was_written_anew_since_stays(clean_engine, inbox):
    path = write(inbox.inbox / "a.csv", DAILY + "A,2024-01-01,1\n")
    (source,) = find_sources([str(path)])
    write(path, DAILY + "A,2024-01-01,1\nA,2024-01-02,2\n")
    move_to_done(source, inbox.inbox)
    assert lying(inbox) == ["a.csv"]


def test_a_file_elsewhere_stays_and_one_of_done_may_be_named(clean_engine, inbox):
    path = write(inbox.home / "own.csv", DAILY + "A,2024-01-01,1\n")
    assert load(clean_engine, inbox, path) == {"own.csv": "loaded"}
    assert path.is_file()
    done = inbox.inbox / "done"
    done.mkdir()
    named = write(done / "b.csv", DAILY + "A,2024-01-02,1\n")
    assert load(clean_engine, inbox, done) == {"b.csv": "loaded"}
    assert named.is_file()


def test_a_file_that_may_not_be_moved_stays_and_the_log_says_so(inbox, monkeypatch):
    path = write(inbox.inbox / "a.csv", DAILY)
    (source,) = find_sources([str(path)])
    (inbox.inbox / "done").write_text("no folder")
    with capture_logs() as log:
        move_to_done(source, inbox.inbox)
    assert [line["event"] for line in log] == ["move_to_done_failed"]
    assert path.is_file()


@pytest.fixture
def naps(monkeypatch):
    """Recorded sleeps in seconds; each one calls `meanwhile`, which a test may set."""

    class Naps(list):
        meanwhile = staticmethod(lambda: None)

    slept = Naps()

    def sleep(seconds):
        slept.append(seconds)
        slept.meanwhile()

    monkeypatch.setattr(inbox_source.time, "sleep", sleep)
    return slept


@pytest.fixture
def patient(inbox):
    """Settings that wait for files that have just been written."""
    return inbox.model_copy(update={"settle_seconds": 10})


def age(path, seconds):
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_a_file_that_grows_is_left_and_taken_once_it_has_settled(
    clean_engine, patient, naps
):
    whole = write(patient.inbox / "a.csv", DAILY + "A,2024-01-01,1\n")
    half = write(patient.inbox / "b.csv", DAILY + "A,2024-01-02,1\n")
    age(whole, 60)
    naps.meanwhile = lambda: write(half, half.read_bytes() + b"A,2024-01-03,1\n")
    assert load(clean_engine, patient) == {
        "a.csv": "loaded",
        "b.csv": "waiting",
    }
    assert naps == [10]
    assert len(rows(clean_engine, "daily_counts")) == 1

    naps.meanwhile = lambda: None
    assert load(clean_engine, patient)["b.csv"] == "loaded"
    assert len(rows(clean_engine, "daily_counts")) == 3


def test_files_that_have_settled_or_were_named_elsewhere_are_not_waited_for(
    clean_engine, patient, naps, tmp_path
):
    age(write(patient.inbox / "a.csv", DAILY + "A,2024-01-01,1\n"), 11)
    new = write(tmp_path / "b.csv", DAILY + "A,2024-01-02,1\n")
    assert load(clean_engine, patient) == {"a.csv": "loaded"}
    assert load(clean_engine, patient, new) == {"b.csv": "loaded"}
    assert naps == []


def test_a_file_that_is_gone_after_the_wait_is_left(clean_engine, patient, naps):
    """For instance the temporary file of an upload, which is renamed at its end."""
    path = write(patient.inbox / "a.csv", DAILY)
    naps.meanwhile = path.unlink
    assert load(clean_engine, patient) == {"a.csv": "waiting"}


@pytest.fixture
def linked(settings, tmp_path):
    (tmp_path / "disk").mkdir()
    (settings.home / "inbox").symlink_to(tmp_path / "disk")
    return tmp_path / "disk"


def test_a_loaded_file_of_a_linked_inbox_is_moved(clean_engine, settings, linked):
    (linked / "a.csv").write_text("depot_id,date,orders\nA,2026-01-01,5\n")
    report = ingest(clean_engine, [str(settings.inbox)], FileOptions(), settings)
    assert [file.state for file in report.files] == ["loaded"]
    assert (linked / "done" / "a.csv").exists()
    assert not ingest(
        clean_engine, [str(settings.inbox)], FileOptions(), settings
    ).files


def test_a_file_still_written_in_a_linked_inbox_is_left(
    clean_engine, settings, linked, monkeypatch
):
    path = linked / "a.csv"
    path.write_text("depot_id,date,orders\nA,2026-01-01,5\n")

    def write_on(_):
        with path.open("a") as file:
            file.write("A,2026-01-02,6\n")

    monkeypatch.setattr("pipelines.ingest.sources.inbox.time.sleep", write_on)
    settings = settings.model_copy(update={"settle_seconds": 10})
    report = ingest(clean_engine, [str(settings.inbox)], FileOptions(), settings)
    assert [file.state for file in report.files] == ["waiting"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.zip"])
def test_a_file_that_another_load_has_moved_is_not_refused(
    clean_engine, settings, monkeypatch, name
):
    settings.inbox.mkdir()
    path = settings.inbox / name
    path.write_text("depot_id,date,orders\nA,2026-01-01,5\n")
    find = Spool.find

    def find_then_another_load_moves_it(*arguments):
        found = find(*arguments)
        (settings.inbox / "done").mkdir()
        path.rename(settings.inbox / "done" / name)
        return found

    monkeypatch.setattr(Spool, "find", find_then_another_load_moves_it)
    report = ingest(clean_engine, [str(settings.inbox)], FileOptions(), settings)
    assert report.files == []
