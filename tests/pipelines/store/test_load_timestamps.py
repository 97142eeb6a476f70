"""A load that began before a night counted, and committed after it, is news to it."""

from datetime import UTC, date, datetime
from functools import partial

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from pipelines.demand import counting
from pipelines.ingest.load import FileOptions, replay
from pipelines.ingest.load.withdrawal import withdraw, withdraw_event
from pipelines.runs.ledger import recorded
from pipelines.store import events, ingest, load_timestamps, quarantine, runs
from tests.pipelines.ingest.ingesting import SETTINGS, load, load_one, query, write
from tests.pipelines.make import record_model

DAY = date(2026, 5, 30)
NOW = datetime(2026, 6, 1, 9, tzinfo=UTC)
NONE = {"accepted": 0, "unchanged": 0, "rejected": 0}


def night(engine, meanwhile=lambda: None, before_training=lambda: None):
    """A night that counts demand and trains, while something else goes on."""
    with recorded(engine, "nightly", DAY) as whole:
        with recorded(engine, "demand", DAY, parent=whole) as run:
            meanwhile()
            counting.rebuild_in(run, NOW)
        before_training()
        with recorded(engine, "train", DAY, parent=whole) as run:
            run.metrics |= {"model": "m1", "settings_id": "s1"}
    return whole.run_id


def has_news(engine):
    with engine.connect() as connection:
        of_night = runs.night_without_new_data(connection, DAY) is None
        of_training = runs.same_training(connection, DAY, "s1") is None
    assert of_night == of_training
    return of_night


@pytest.fixture
def home(clean_engine, tmp_path):
    write(tmp_path / "a.csv", f"order_id,depot_id,ordered_at\n1,A,{DAY}T12:00\n")
    load(clean_engine, tmp_path / "a.csv")
    with clean_engine.begin() as connection:
        record_model(connection, "m1", "challenger", trained_through=DAY)
    return clean_engine


def begin_load(connection, name):
    columns = ("path", "sha256", "options_sha256", "kind")
    values = dict(zip(columns, (name, name, "r", "events"), strict=True))
    entry = {"ignored_columns": [], **values, **NONE}
    return ingest.add_file(connection, entry)


def test_a_load_that_began_before_the_night_and_committed_after_it_is_news(home):
    with home.begin() as slow:
        file_id = begin_load(slow, "slow.csv")
        night(home)
        load_timestamps.block_new_runs(slow)
        ingest.finish_loads(slow, {file_id: NONE})
        assert not has_news(home)
    assert has_news(home)
    night(home)
    assert not has_news(home)


def test_a_load_that_commits_while_the_night_counts_is_news(home):
    def meanwhile():
        with home.begin() as other:
            load_timestamps.block_new_runs(other)
            ingest.finish_loads(other, {begin_load(other, "quick.csv"): NONE})

    with home.connect() as connection:
        assert runs.night_without_new_data(connection, DAY) is None
    night(home, meanwhile)
    with home.connect() as connection:
        assert runs.night_without_new_data(connection, DAY) is None


def test_what_is_counted_between_a_nights_count_and_its_training_is_news_to_both(
    home, tmp_path
):
    """The training reads the history as it was after the night's own count."""

    def load_and_count():
        write(tmp_path / "b.csv", f"order_id,depot_id,ordered_at\n2,A,{DAY}T13:00\n")
        load(home, tmp_path / "b.csv")
        with recorded(home, "ingest") as run:
            counting.rebuild_in(run, NOW)

    night(home, before_training=load_and_count)
    assert has_news(home)


def test_a_run_does_not_begin_between_a_loads_mark_and_its_commit(home):
    with home.begin() as loading:
        load_timestamps.block_new_runs(loading)
        ingest.finish_loads(loading, {begin_load(loading, "late.csv"): NONE})
        with home.connect() as hasty:
            hasty.execute(sa.text("set local lock_timeout = '1ms'"))
            with pytest.raises(OperationalError, match="lock timeout"):
                runs.begin_run(hasty, "demand", DAY, None, ("here", 1))
    with home.begin() as patient:
        runs.begin_run(patient, "demand", DAY, None, ("here", 1))


def test_a_dry_run_keeps_no_run_waiting(home, tmp_path):
    """Its changes are taken back, so nobody has to know in which order."""
    write(tmp_path / "b.csv", f"order_id,depot_id,ordered_at\n2,A,{DAY}T13:00\n")
    options = {"options": "-c lock_timeout=1s"}
    impatient = sa.create_engine(home.url, connect_args=options)
    with home.begin() as held:
        load_timestamps.await_committing_loads(held)
        load(impatient, tmp_path / "b.csv", dry_run=True)
        with pytest.raises(OperationalError, match="lock timeout"):
            load(impatient, tmp_path / "b.csv")
    impatient.dispose()


def test_a_withdrawn_file_of_signals_is_news(home, tmp_path):
    path = write(tmp_path / "s.csv", f"signal,depot_id,date,value\nbooked,A,{DAY},5\n")
    load(home, path)
    night(home)
    assert not has_news(home)
    ((file_id,),) = query(home, "select file_id from files where kind = 'signals'")
    withdraw(home, [file_id])
    assert has_news(home)
    night(home)
    assert not has_news(home)


@pytest.fixture
def withdraw_once(home, tmp_path):
    """Loads an event, and returns the call that withdraws it."""
    row = f"kind,starts_on,ends_on\nclosed,{DAY},{DAY}\n"
    load(home, write(tmp_path / "e.csv", row))
    return partial(withdraw_event, home, f"closed/{DAY}", "a test")


def test_an_event_that_was_withdrawn_by_hand_is_news(home, withdraw_once):
    night(home)
    assert not has_news(home)
    withdraw_once()
    assert has_news(home)
    night(home)
    assert not has_news(home)


def test_an_event_is_withdrawn_at_the_time_of_its_commit(
    home, withdraw_once, monkeypatch
):
    """The command waits for a load, and a night ends before it has its turn."""

    def wait(connection, event_id):
        night(home)
        return newest_locked(connection, event_id)

    newest_locked = events.newest_locked
    monkeypatch.setattr(events, "newest_locked", wait)
    withdraw_once()
    assert has_news(home)


@pytest.mark.parametrize(
    ("columns", "row", "bad", "mended"),
    [
        ("kind,starts_on,ends_on,value", "fair,{day},{day},", "many", "5"),
        ("signal,depot_id,date,value", "booked,A,{day},", "many", "5"),
    ],
    ids=["events", "signals"],
)
def test_rows_replayed_from_quarantine_are_news(
    home, tmp_path, columns, row, bad, mended
):
    good = row.format(day=DAY) + mended
    other_day = row.format(day="2026-05-29") + bad
    path = write(tmp_path / "q.csv", f"{columns}\n{good}\n{other_day}\n")
    assert load_one(home, path).counts.rejected == 1
    night(home)
    query(home, """update quarantine set raw = raw || '{"value": "5"}'""")
    assert not has_news(home)
    assert replay(home, FileOptions(), SETTINGS, NOW).accepted == 1
    assert has_news(home)
    night(home)
    assert not has_news(home)


def test_a_replay_that_began_before_the_night_and_committed_after_it_is_news(
    home, tmp_path, monkeypatch
):
    columns = "kind,starts_on,ends_on,value"
    path = write(tmp_path / "q.csv", f"{columns}\nfair,{DAY},{DAY},many\n")
    assert load_one(home, path).counts.rejected == 1
    query(home, """update quarantine set raw = raw || '{"value": "5"}'""")

    def wait(connection, file_id):
        night(home)
        return rejected_of(connection, file_id)

    rejected_of = quarantine.rejected_of
    monkeypatch.setattr(quarantine, "rejected_of", wait)
    assert replay(home, FileOptions(), SETTINGS, NOW).accepted == 1
    assert has_news(home)
