"""A backfill is idempotent: whatever ends it, the same command goes on and ends the same."""

import random
from datetime import timedelta
from unittest.mock import Mock

import pytest
import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.backfill import ProgressCallbacks, hindcast, run
from pipelines.backfill.run import BackfillError
from pipelines.nightly.run import NIGHTLY_LOCK
from pipelines.runs.locks import LostRunError
from pipelines.schema import forecast_totals, forecasts, runs, scores
from pipelines.store import models
from pipelines.store.backfill import BACKFILL_LOCK
from tests.pipelines.backfill.conftest import (
    NOW,
    backfill,
    days_before,
    stored,
)
from tests.pipelines.make import count, query


@pytest.fixture
def model(add_model, monkeypatch):
    """A model for every origin; groups have three of them."""
    monkeypatch.setattr(hindcast, "MAX_ORIGINS", 3)
    return add_model(days_before(30))


def ledger(engine):
    asked = sa.select(runs.c.step, runs.c.state, runs.c.metrics)
    return query(engine, asked.order_by(runs.c.run_id))


def calling(function, after=1):
    """Callbacks that call a function once so many origins have been forecast."""

    def on_progress(n_forecast, _):
        if n_forecast == after:
            function()

    return ProgressCallbacks(on_progress=on_progress)


def test_it_forecasts_and_scores_and_the_ledger_has_each_step(fleet, settings, model):
    seen = []
    callbacks = ProgressCallbacks(on_progress=lambda *counts: seen.append(counts))
    done = backfill(fleet, settings, 12, 5, callbacks=callbacks)
    assert (done.n_forecast, done.n_waiting, done.rows) == (8, 0, 8 * 21)
    assert {each.model_version for each in done.origins} == {model}
    assert seen == [(n, 8) for n in range(1, 9)]
    assert count(fleet, forecasts, sa.not_(forecasts.c.is_live)) == 8 * 21
    assert count(fleet, forecast_totals, forecast_totals.c.city == "") == 8 * 7
    # Forecasts from five days before the end: five of their seven days are known.
    assert count(fleet, scores, scores.c.origin_on == days_before(5)) == 5 * 3
    steps = ledger(fleet)
    assert [row[:2] for row in steps] == [
        ("backfill", "done"), *3 * [("hindcast", "done")], ("score", "done"),
    ]  # fmt: skip
    assert steps[0].metrics == {"origins": 8, "rows": 8 * 21}
    assert steps[1].metrics == {"origins": 3, "rows": 3 * 21, "model": model}
    assert steps[-1].metrics["scored"] == done.scored


def test_a_second_run_changes_nothing_and_says_why(fleet, settings, model):
    backfill(fleet, settings, 12, 5)
    before = stored(fleet)
    with pytest.raises(NothingToDoError) as error:
        backfill(fleet, settings, 12, 5)
    assert str(error.value) == (
        "No origin is due. 8 of 8: already there, with the same model and data. --again "
        "forecasts them again."
    )
    assert stored(fleet) == before
    assert ledger(fleet)[-2][:2] == ("backfill", "skipped")
    later = NOW + timedelta(hours=1)
    assert backfill(fleet, settings, 12, 5, now=later, again=True).n_forecast == 8
    assert stored(fleet) == before
    assert count(fleet, forecasts, forecasts.c.made_at == later) == 8 * 21


def test_interrupted_at_random_it_ends_with_the_same_tables(fleet, settings, model):
    draw = random.Random(0)
    backfill(fleet, settings, 16, 5)
    whole = stored(fleet)
    with fleet.begin() as connection:
        for table in (scores, forecast_totals, forecasts):
            connection.execute(sa.delete(table))
    while True:

        def interrupt():
            raise draw.choice([KeyboardInterrupt, SystemExit])

        try:
            callbacks = calling(interrupt, draw.randrange(1, 9))
            backfill(fleet, settings, 16, 5, callbacks=callbacks)
            break
        except (KeyboardInterrupt, SystemExit):
            assert set(stored(fleet)["forecasts"]) <= set(whole["forecasts"])
    assert stored(fleet) == whole


def test_a_group_that_fails_does_not_stop_the_others_and_is_tried_again(
    fleet, settings, add_model
):
    early, late = add_model(days_before(30)), add_model(days_before(8))
    path = settings.artefacts / f"{late}.npz"
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(BackfillError) as error:
        backfill(fleet, settings, 10, 7)
    said = str(error.value)
    assert f"Forecasting from {days_before(8)}, {days_before(7)} failed: " in said
    assert f"{late}.npz is not there" in said
    assert said.endswith(
        "All other work is done; the same command tries the rest again."
    )
    assert count(fleet, forecasts, forecasts.c.model_version == early) == 2 * 21
    assert [row[:2] for row in ledger(fleet)] == [
        ("backfill", "failed"), ("hindcast", "done"), ("hindcast", "failed"),
        ("score", "done"),
    ]  # fmt: skip
    path.write_bytes(whole)
    assert backfill(fleet, settings, 10, 7).n_forecast == 2


def test_a_failure_before_a_stop_does_not_say_that_the_rest_is_done(
    fleet, settings, model
):
    (settings.artefacts / f"{model}.npz").unlink()
    looks = iter([False, True, True, True])
    callbacks = ProgressCallbacks(must_stop=lambda: next(looks))
    with pytest.raises(BackfillError, match="It was stopped; the same command tries"):
        backfill(fleet, settings, 12, 5, callbacks=callbacks)


def test_a_training_comes_first_and_its_model_serves_every_later_origin(
    fleet, settings, add_model, monkeypatch
):
    add_model(days_before(6))
    add_model(days_before(1), role="champion")
    trained = []

    def train(_run, _settings, through, *_):
        trained.append(through)
        version = add_model(through, seed=7, role="challenger")
        return type("Trained", (), {"version": version})

    monkeypatch.setattr(run.train, "train", train)
    done = backfill(fleet, settings, 8, 5, train=True)
    assert trained == [days_before(8)]
    with fleet.connect() as connection:
        model = models.model(connection, done.trained)
    # The champion has seen later days, so the model cannot take its place.
    assert model["role"] == "hindcast"
    assert "serves hindcasts" in model["decision_reason"]
    versions = [each.model_version for each in done.origins]
    assert versions[:2] == [done.trained] * 2
    assert done.trained not in versions[2:]


def test_a_training_that_fails_leaves_the_other_origins_done(
    fleet, settings, add_model, monkeypatch
):
    add_model(days_before(6))
    broken = Mock(side_effect=RuntimeError("nothing gives way"))
    monkeypatch.setattr(run.train, "train", broken)
    with pytest.raises(
        BackfillError, match=r"RuntimeError: nothing gives way\. This is"
    ):
        backfill(fleet, settings, 8, 5, train=True)
    assert count(fleet, forecasts) == 2 * 21


def test_some_depots_are_written_and_the_others_left_as_they_were(
    fleet, settings, model
):
    backfill(fleet, settings, 6, 5)
    totals = stored(fleet)["forecast_totals"]
    later = NOW + timedelta(hours=1)
    one = backfill(fleet, settings, 6, 6, now=later, depots=("A1",), again=True)
    assert [each.replaced_rows for each in one.origins] == [7]
    assert count(fleet, forecasts) == 2 * 21
    again = forecasts.c.made_at == later
    assert count(fleet, forecasts, again) == 7
    assert count(fleet, forecasts, again, forecasts.c.depot_id == "A1") == 7
    assert stored(fleet)["forecast_totals"] == totals


def hold_nightly_lock(night):
    night.execute(sa.select(sa.func.pg_advisory_lock(NIGHTLY_LOCK)))


def release(night):
    night.execute(sa.select(sa.func.pg_advisory_unlock_all()))


def test_the_night_goes_first(fleet, settings, model, monkeypatch):
    """A night begins while a group is forecast, and ends at the second look."""
    said, looks = [], []
    with fleet.connect() as night:

        def look(_):
            looks.append(count(fleet, forecasts))
            if len(looks) == 2:
                release(night)

        monkeypatch.setattr(run.time, "sleep", look)
        begin = calling(lambda: hold_nightly_lock(night))
        callbacks = ProgressCallbacks(begin.on_progress, said.append)
        done = backfill(fleet, settings, 12, 5, callbacks=callbacks)
    assert looks == [3 * 21] * 2
    assert "goes first" in said[0]
    assert done.n_forecast == 8
    # It decides anew after the night, in a run of its own.
    states = [row[:2] for row in ledger(fleet) if row.step == "backfill"]
    assert states == 2 * [("backfill", "done")]


def test_again_makes_each_origin_once_also_beside_a_night(
    fleet, settings, model, monkeypatch
):
    backfill(fleet, settings, 12, 5)
    with fleet.connect() as night:
        monkeypatch.setattr(run.time, "sleep", lambda _: release(night))
        callbacks = calling(lambda: hold_nightly_lock(night))
        backfill(fleet, settings, 12, 5, callbacks=callbacks, again=True)
    hindcasts = [row.metrics for row in ledger(fleet) if row.step == "hindcast"]
    assert sum(each["origins"] for each in hindcasts) == 2 * 8


def test_a_backfill_that_waits_for_the_night_can_be_stopped(fleet, settings, model):
    with fleet.connect() as night:
        hold_nightly_lock(night)
        callbacks = ProgressCallbacks(must_stop=lambda: True)
        stopped = backfill(fleet, settings, 12, 5, callbacks=callbacks)
        release(night)
    assert (stopped.n_forecast, stopped.n_waiting) == (0, 8)


def test_a_backfill_that_lost_its_lock_writes_nothing_more(fleet, settings, model):
    def cut():
        query(
            fleet,
            "select pg_terminate_backend(pid) from pg_locks "
            "where locktype = 'advisory' and classid = 0 and objid = :key",
            key=BACKFILL_LOCK,
        )

    with pytest.raises(LostRunError, match="lost the database session"):
        backfill(fleet, settings, 12, 5, callbacks=calling(cut, 2))
    assert count(fleet, forecasts) == 2 * 21
    assert backfill(fleet, settings, 12, 5).n_forecast == 6


def test_two_backfills_at_once_are_one(fleet, settings, model):
    with fleet.connect() as other:
        other.execute(sa.select(sa.func.pg_advisory_lock(BACKFILL_LOCK)))
        with pytest.raises(NothingToDoError, match="Another backfill"):
            backfill(fleet, settings, 12, 5)
        release(other)


def test_a_failed_training_is_told_though_a_night_came_between(
    fleet, settings, add_model, monkeypatch
):
    add_model(days_before(6))
    monkeypatch.setattr(hindcast, "MAX_ORIGINS", 1)
    broken = Mock(side_effect=RuntimeError("nothing gives way"))
    monkeypatch.setattr(run.train, "train", broken)
    with fleet.connect() as night:
        monkeypatch.setattr(run.time, "sleep", lambda _: release(night))
        callbacks = calling(lambda: hold_nightly_lock(night))
        with pytest.raises(BackfillError, match="nothing gives way"):
            backfill(fleet, settings, 8, 5, train=True, callbacks=callbacks)
    assert broken.call_count == 1
