"""A run publishes on the session that holds its lock, and nothing without it."""

import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from pipelines.nightly import steps
from pipelines.nightly.run import NIGHTLY_LOCK, run_nightly
from pipelines.nightly.steps import NightlyContext
from pipelines.runs.ledger import recorded
from pipelines.runs.locks import LostRunError, own_session, try_lock
from pipelines.schema import forecasts, models, runs, scores
from pipelines.settings import Settings
from pipelines.store import models as model_store
from tests.pipelines.make import (
    START,
    add_depot,
    add_forecast,
    count,
    query,
    record_model,
    scalar,
)

ORIGIN = START + timedelta(days=30)
NOW = datetime(2024, 2, 1, 4, 30, tzinfo=UTC)


@pytest.fixture
def fleet(clean_engine):
    """A depot, a champion, a challenger, and one forecast whose day is known."""
    with clean_engine.begin() as connection:
        add_depot(connection)
        for version, role in (("old", "champion"), ("new", "challenger")):
            record_model(connection, version, role=role)
    return clean_engine


def kill_holder(engine, key=NIGHTLY_LOCK):
    """Ends the session that holds a lock, as an administrator would."""
    ended = scalar(
        engine,
        "select bool_and(pg_terminate_backend(pid, 10000)) from pg_locks "
        "where locktype = 'advisory' and classid = 0 and objid = :key",
        key=key,
    )
    assert ended


def end_session(engine, pid):
    query(engine, "select pg_terminate_backend(:pid, 10000)", pid=pid)


def promote(engine):
    with engine.begin() as connection:
        model_store.promote(connection, "new", "It should not.")


def write_forecast(engine):
    with engine.begin() as connection:
        add_forecast(connection, "A", ORIGIN, "old", NOW)


def published(engine):
    with engine.connect() as connection:
        champion = model_store.champion(connection)["version"]
    return champion, [count(engine, table) for table in (forecasts, scores, models)]


@contextmanager
def night_under_way(engine):
    with (
        try_lock(engine, NIGHTLY_LOCK) as lock,
        recorded(engine, "nightly", ORIGIN, lock=lock) as night,
        recorded(engine, "forecast", ORIGIN, parent=night) as step,
    ):
        yield step


def test_a_run_without_a_lock_publishes_on_its_own_session_alone(fleet):
    before = published(fleet)

    def work():
        with recorded(fleet, "train") as run:
            with run.engine.connect() as connection:
                pid = connection.scalar(sa.select(sa.func.pg_backend_pid()))
            end_session(fleet, pid)
            write_forecast(run.engine)

    with pytest.raises(LostRunError):
        work()
    assert published(fleet) == before
    with fleet.connect() as connection:
        state, error = connection.execute(sa.select(runs.c.state, runs.c.error)).one()
    assert state == "failed"
    assert "lost the database session" in error


def test_what_was_not_committed_is_gone_before_the_lock_is_free(fleet):
    """Whoever gets the lock next sees all that its last holder stored."""

    def work():
        with night_under_way(fleet) as step, step.engine.begin() as publishing:
            model_store.promote(publishing, "new", "It should not.")
            kill_holder(fleet)
            with (
                try_lock(fleet, NIGHTLY_LOCK) as another,
                another.begin() as connection,
            ):
                connection.execute(sa.text("set local lock_timeout = 1000"))
                model_store.promote(connection, "new", "It is next.")

    with pytest.raises(LostRunError):
        work()
    with fleet.connect() as connection:
        assert model_store.champion(connection)["decision_reason"] == "It is next."


def test_a_session_is_never_replaced_and_its_locks_end_with_it(fleet):
    with own_session(fleet) as session:
        for _ in range(2):
            with session.connect() as connection:
                pid = connection.scalar(sa.select(sa.func.pg_backend_pid()))
        end_session(fleet, pid)
        for _ in range(2):
            with pytest.raises(LostRunError), session.connect() as connection:
                connection.execute(sa.select(1))
    with try_lock(fleet, NIGHTLY_LOCK) as lock, try_lock(fleet, NIGHTLY_LOCK) as second:
        assert lock is not None
        assert second is None
    with try_lock(fleet, NIGHTLY_LOCK) as lock:
        assert lock is not None


def test_a_session_may_be_idle_for_hours(database_url):
    engine = sa.create_engine(
        database_url, connect_args={"options": "-c idle_session_timeout=500"}
    )
    with own_session(engine) as session:
        time.sleep(1)
        with session.connect() as connection:
            timeout = connection.scalar(sa.text("show idle_session_timeout"))
    engine.dispose()
    assert timeout == "0"


def test_a_night_that_loses_its_lock_ends_there_and_the_next_one_goes_on(
    fleet, tmp_path, monkeypatch
):
    attempts = []

    def train(_, run):
        if not attempts:
            kill_holder(fleet)
        promote(run.engine)

    def forecast(_, run):
        attempts.append(run.run_id)
        write_forecast(run.engine)

    works = {"train": train, "forecast": forecast}
    every = {name: replace(steps.STEPS[name], work=works[name]) for name in works}
    monkeypatch.setattr(steps, "STEPS", every)
    settings = Settings(home=tmp_path)
    night = NightlyContext(fleet, settings, NOW, ORIGIN)
    message = r"lost the database session.*Start it again"
    with pytest.raises(LostRunError, match=message):
        run_nightly(night)
    # Training is forgiven otherwise; after this nothing may be.
    assert attempts == []
    assert published(fleet) == ("old", [0, 0, 2])

    attempts.append("the lock is left alone now")
    run_nightly(night)
    assert published(fleet) == ("new", [1, 0, 2])
    with fleet.connect() as connection:
        query = sa.select(runs.c.step, runs.c.state).order_by(runs.c.run_id)
        states = [tuple(row) for row in connection.execute(query)]
    assert states == [
        ("nightly", "failed"), ("train", "failed"),
        ("nightly", "done"), ("train", "done"), ("forecast", "done"),
    ]  # fmt: skip
