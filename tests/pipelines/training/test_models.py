"""Statements on models: the champion, the one before it, and its evaluation fit."""

from datetime import date, timedelta

import sqlalchemy as sa

from pipelines.schema import models as models_table
from pipelines.schema import runs
from pipelines.store import models
from tests.pipelines.make import record_model

DAY = date(2026, 3, 1)
ONE = timedelta(days=1)


def add(connection, version, role="challenger", days=0, run_id=None):
    through = DAY + timedelta(days=days)
    record_model(connection, version, role, trained_through=through, run_id=run_id)


def champion_and_before(connection):
    found = models.champion(connection), models.rollback_target(connection)
    return tuple(None if each is None else each["version"] for each in found)


def test_rolling_back_twice_restores_the_first_champion(clean_engine):
    with clean_engine.begin() as connection:
        for number, version in enumerate(("a", "b", "c")):
            add(connection, version, days=number)
        assert champion_and_before(connection) == (None, None)
        models.promote(connection, "a", "first")
        assert champion_and_before(connection) == ("a", None)
        models.promote(connection, "b", "better")
        models.promote(connection, "c", "better still")
        assert champion_and_before(connection) == ("c", "b")
        models.promote(connection, "b", "rolled back")
        assert champion_and_before(connection) == ("b", "c")
        add(connection, "d", role="retired")
        assert champion_and_before(connection) == ("b", "c")


def test_a_promotion_by_a_clock_that_was_ahead_is_no_later_than_those_after_it(
    clean_engine,
):
    with clean_engine.begin() as connection:
        for number, version in enumerate(("a", "b", "c")):
            add(connection, version, days=number)
        models.promote(connection, "a", "first")
        ahead = sa.func.now() + timedelta(days=40)
        connection.execute(sa.update(models_table).values(promoted_at=ahead))
        models.promote(connection, "b", "better")
        assert champion_and_before(connection) == ("b", "a")
        models.promote(connection, "c", "better still")
        assert champion_and_before(connection) == ("c", "b")


def test_the_earlier_champion_is_the_last_that_saw_nothing_later(clean_engine):
    with clean_engine.begin() as connection:
        for number, version in enumerate(("a", "b", "rejected", "pruned", "later")):
            add(connection, version, days=number)
        assert models.last_champion_trained_through(connection, DAY) is None
        for version in ("a", "b", "pruned", "later"):
            models.promote(connection, version, "better")
        of_pruned = models_table.c.version == "pruned"
        connection.execute(
            sa.update(models_table).where(of_pruned).values(pruned_at=sa.func.now())
        )
        found = [
            models.last_champion_trained_through(connection, DAY + timedelta(days=n))
            for n in range(5)
        ]
    assert [each["version"] for each in found] == ["a", "b", "b", "b", "later"]


def test_the_earlier_champion_is_no_model_that_was_rolled_back_from(clean_engine):
    with clean_engine.begin() as connection:
        for number, version in enumerate(("a", "b", "c")):
            add(connection, version, days=number)
        for version in ("a", "b", "a", "c"):
            models.promote(connection, version, "better")
            # Several moments of one transaction.
            connection.execute(sa.select(sa.func.pg_sleep(0.001)))
        choices = {
            n: [each["version"] for each in models.servable(connection, DAY + n * ONE)]
            for n in range(3)
        }
        # b was rolled back from, and may be at fault.
        models.promote(connection, "a", "c is bad, too")
        rolled_back = models.servable(connection, DAY + 2 * ONE)
        # As a second training through the same day is, which was rolled back from.
        add(connection, "again")
        for version in ("again", "a"):
            models.promote(connection, version, "bad")
        assert [each["version"] for each in models.servable(connection, DAY)] == ["a"]
    assert choices == {0: ["a"], 1: ["a", "b"], 2: ["c", "a", "b"]}
    assert [each["version"] for each in rolled_back] == ["a"]


def test_the_evaluation_of_a_model_is_of_its_own_run(clean_engine):
    with clean_engine.begin() as connection:
        new = (
            sa.insert(runs).values(step="train", state="done").returning(runs.c.run_id)
        )
        one, other = (connection.execute(new).scalar_one() for _ in range(2))
        add(connection, "a", run_id=one)
        add(connection, "evaluation of a", role="evaluation", run_id=one)
        add(connection, "evaluation of b", role="evaluation", days=1, run_id=other)
        assert models.evaluation_of(connection, one)["version"] == "evaluation of a"
        assert models.evaluation_of(connection, other + 1) is None
