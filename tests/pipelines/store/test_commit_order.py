"""A load that began before a night counted, and committed after it, is news to it."""

from datetime import UTC, date, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from pipelines.demand import counting
from pipelines.runs.ledger import recorded
from pipelines.store import commit_order, ingest, runs
from tests.pipelines.ingest.ingesting import load, write

pytestmark = pytest.mark.db

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
            run.metrics["model"] = "m1"
    return whole.run_id


def has_news(engine):
    with engine.connect() as connection:
        of_night = runs.night_without_news(connection, DAY) is None
        of_training = runs.training_without_news(connection, DAY) is None
    assert of_night == of_training
    return of_night


@pytest.fixture
def home(clean_engine, tmp_path):
    write(tmp_path / "a.csv", f"order_id,depot_id,ordered_at\n1,A,{DAY}T12:00\n")
    load(clean_engine, tmp_path / "a.csv")
    with clean_engine.begin() as connection:
        connection.execute(
            sa.text(
                "insert into models (version, trained_through, data_watermark, filename, "
                "sha256, seed, role) values ('m1', :day, '', 'm1', '', 0, 'challenger')"
            ),
            {"day": DAY},
        )
    return clean_engine


def begin_load(connection, name):
    columns = ("path", "sha256", "options_sha256", "kind")
    values = dict(zip(columns, (name, name, "r", "orders"), strict=True))
    entry = {"size_bytes": 1, "ignored_columns": [], **values, **NONE}
    return ingest.add_files(connection, [entry])[0]


def test_a_night_has_no_news_of_what_it_counted_itself(home):
    night(home)
    assert not has_news(home)


def test_a_load_that_began_before_the_night_and_committed_after_it_is_news(home):
    with home.begin() as slow:
        file_id = begin_load(slow, "slow.csv")
        night(home)
        commit_order.block_new_runs(slow)
        ingest.set_counts(slow, file_id, NONE)
        assert not has_news(home)
    assert has_news(home)
    night(home)
    assert not has_news(home)


def test_a_load_that_commits_while_the_night_counts_is_news(home):
    def meanwhile():
        with home.begin() as other:
            commit_order.block_new_runs(other)
            ingest.set_counts(other, begin_load(other, "quick.csv"), NONE)

    with home.connect() as connection:
        assert runs.night_without_news(connection, DAY) is None
    night(home, meanwhile)
    with home.connect() as connection:
        assert runs.night_without_news(connection, DAY) is None


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
        commit_order.block_new_runs(loading)
        ingest.set_counts(loading, begin_load(loading, "late.csv"), NONE)
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
        commit_order.await_committing_loads(held)
        load(impatient, tmp_path / "b.csv", dry_run=True)
        with pytest.raises(OperationalError, match="lock timeout"):
            load(impatient, tmp_path / "b.csv")
    impatient.dispose()
