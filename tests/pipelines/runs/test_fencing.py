"""A run that has lost its place publishes nothing more."""

import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from pipelines.nightly import steps
from pipelines.nightly.run import NIGHTLY_LOCK, run_nightly
from pipelines.nightly.steps import NightlyRun
from pipelines.runs.fencing import LostRunError, take_over
from pipelines.runs.ledger import recorded
from pipelines.schema import forecasts, models, runs, scores
from pipelines.settings import Settings
from pipelines.store import models as model_store
from pipelines.store import runs as run_store
from pipelines.store.forecasts import copy_rows, replace_forecasts
from pipelines.store.locks import try_lock
from tests.pipelines.make import START, add_depot, forecast_table

pytestmark = pytest.mark.db

ORIGIN = START + timedelta(days=30)
NOW = datetime(2024, 2, 1, 4, 30, tzinfo=UTC)
PATIENCE_S = 30


@pytest.fixture
def fleet(clean_engine):
    """A depot, a champion, a challenger, and one forecast whose day is known."""
    with clean_engine.begin() as connection:
        add_depot(connection)
        for version, role in (("old", "champion"), ("new", "challenger")):
            model_store.add_model(
                connection, version=version, trained_through=START, data_watermark="",
                seed=0, filename="o.npz", sha256="", role=role, scores={},
            )  # fmt: skip
    return clean_engine


def kill_holder(engine, key=NIGHTLY_LOCK):
    """Ends the session that holds a lock, as an administrator would."""
    with engine.connect() as connection:
        killed = connection.scalar(
            sa.text(
                "select count(pg_terminate_backend(pid)) from pg_locks "
                "where locktype = 'advisory' and objid = :key"
            ),
            {"key": key},
        )
        assert killed == 1
        while connection.scalar(
            sa.text("select count(*) from pg_locks where objid = :key"), {"key": key}
        ):
            time.sleep(0.01)


def promote(engine):
    with engine.begin() as connection:
        model_store.promote(connection, "new", "It should not.")


def write_forecast(engine):
    row = ("A", ORIGIN, ORIGIN + timedelta(days=1), "old", 1.0, 2.0, 3.0, "model",
           True, NOW, None)  # fmt: skip
    with engine.begin() as connection:
        replace_forecasts(
            connection, ORIGIN, "old", forecast_table([row]), live=True, made_at=NOW
        )


def write_score(engine):
    row = ("A", ORIGIN, ORIGIN + timedelta(days=1), "old", 9.0, 1.0, 2.0, 3.0, True)
    names = ("depot_id", "origin_on", "target_on", "model_version", "actual", "p10",
             "p50", "p90", "is_live")  # fmt: skip
    with engine.begin() as connection:
        copy_rows(connection, "scores", names, [row])


def give_up(engine, run):
    with engine.begin() as connection:
        run_store.end_lost(connection, run.run_id, "Its heartbeat stopped.")


def published(engine):
    with engine.connect() as connection:
        champion = model_store.champion(connection)["version"]
        rows = [
            connection.scalar(sa.select(sa.func.count()).select_from(table))
            for table in (forecasts, scores, models)
        ]
    return champion, rows


@contextmanager
def night_under_way(engine):
    with (
        try_lock(engine, NIGHTLY_LOCK) as lock,
        recorded(engine, "nightly", ORIGIN, lock=lock) as night,
        recorded(engine, "forecast", ORIGIN, parent=night) as step,
    ):
        yield step


PUBLISHING = pytest.mark.parametrize("publish", [promote, write_forecast, write_score])


@PUBLISHING
def test_a_run_that_has_its_place_publishes(fleet, publish):
    before = published(fleet)
    with night_under_way(fleet) as step:
        publish(step.engine)
    assert published(fleet) != before


@PUBLISHING
def test_a_run_whose_lock_session_was_killed_publishes_nothing(fleet, publish):
    before = published(fleet)

    def work():
        with night_under_way(fleet) as step:
            kill_holder(fleet)
            publish(step.engine)

    with pytest.raises(
        LostRunError, match=r"lost the database session.*Start it again"
    ):
        work()
    assert published(fleet) == before


@PUBLISHING
def test_a_run_that_was_given_up_publishes_nothing(fleet, publish):
    before = published(fleet)

    def work():
        with recorded(fleet, "train") as run:
            give_up(fleet, run)
            publish(run.engine)

    with pytest.raises(
        LostRunError, match=r"was declared dead while it was still working"
    ):
        work()
    assert published(fleet) == before
    with fleet.connect() as connection:
        said = connection.execute(sa.select(runs.c.state, runs.c.error)).one()
    assert said == ("failed", "Its heartbeat stopped.")


def test_a_run_that_was_given_up_does_not_end_as_done(fleet):
    with pytest.raises(LostRunError), recorded(fleet, "train") as run:
        give_up(fleet, run)


def test_another_holder_of_the_lock_does_not_open_the_fence(fleet):
    def work():
        with night_under_way(fleet) as step:
            kill_holder(fleet)
            with try_lock(fleet, NIGHTLY_LOCK) as another:
                assert another is not None
                promote(step.engine)

    with pytest.raises(LostRunError):
        work()
    assert published(fleet)[0] == "old"


def test_who_takes_over_waits_for_what_is_being_published(fleet):
    """The session dies after the fence was asked: the commit still comes first."""
    heirs = []

    def inherit():
        heirs.append(take_over(fleet, "nightly", "Another night has begun."))

    def work():
        heir = threading.Thread(target=inherit)
        with night_under_way(fleet) as step:
            with fleet.begin() as publishing:
                model_store.promote(publishing, "new", "It was in time.")
                step.fence.check(publishing)
                kill_holder(fleet)
                heir.start()
                _wait_until_somebody_waits(fleet)
                assert not heirs
            heir.join(PATIENCE_S)
            assert heirs == [[step.run_id - 1, step.run_id]]
            write_forecast(step.engine)

    with pytest.raises(LostRunError):
        work()
    assert published(fleet) == ("new", [0, 0, 2])


def _wait_until_somebody_waits(engine):
    waiting = sa.text(
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        " and datname = current_database()"
    )
    deadline = time.monotonic() + PATIENCE_S
    with engine.connect() as connection:
        while not connection.scalar(waiting):
            assert time.monotonic() < deadline, "nobody waits"
            connection.rollback()
            time.sleep(0.01)


def test_a_night_that_loses_its_lock_ends_there_and_the_next_one_goes_on(
    fleet, tmp_path, monkeypatch
):
    asked = []

    def train(_, run):
        if not asked:
            kill_holder(fleet)
        promote(run.engine)

    def forecast(_, run):
        asked.append(run.run_id)
        write_forecast(run.engine)

    monkeypatch.setattr(steps, "STEPS", {"train": train, "forecast": forecast})
    settings = Settings(home=tmp_path)
    night = NightlyRun(fleet, settings, NOW, ORIGIN, lambda _: lambda *_: None)
    with pytest.raises(LostRunError):
        run_nightly(night)
    # Training is forgiven otherwise; after this nothing may be.
    assert asked == []
    assert published(fleet) == ("old", [0, 0, 2])

    asked.append("the lock is left alone now")
    run_nightly(night)
    assert published(fleet) == ("new", [1, 0, 2])
    with fleet.connect() as connection:
        found = sa.select(runs.c.step, runs.c.state).order_by(runs.c.run_id)
        states = [tuple(row) for row in connection.execute(found)]
    assert states == [
        ("nightly", "failed"), ("train", "failed"),
        ("nightly", "done"), ("train", "done"), ("forecast", "done"),
    ]  # fmt: skip
