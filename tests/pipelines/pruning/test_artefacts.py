"""Pruning removes old artefacts that nothing needs, and commands name those removed."""

import os
import time
from datetime import UTC, date, datetime, timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from forecaster.errors import NoModelError
from pipelines import schema
from pipelines.forecasting import forecast
from pipelines.pruning import MIN_ARTEFACT_AGE, PrunedArtefacts, prune_artefacts
from pipelines.settings import Settings
from pipelines.store import artefacts, models
from tests.pipelines.make import add_depot, add_forecast, publish, query, record_model

DAY = date(2026, 3, 1)
NOTHING = PrunedArtefacts([], 0, 0)
KEPT_DAYS = 30
OLD, YOUNG = KEPT_DAYS + 1, KEPT_DAYS - 1


@pytest.fixture
def settings(tmp_path):
    settings = Settings(home=tmp_path, keep_artefacts_days=KEPT_DAYS)
    settings.artefacts.mkdir()
    return settings


@pytest.fixture
def add(clean_engine, settings):
    """Records a model made some days ago, with a file of that age."""

    def added(version, role, days_ago=OLD, promoted_days_ago=None, run_id=None):
        with clean_engine.begin() as connection:
            record_model(
                connection, version, role, trained_through=DAY, run_id=run_id,
                created_at=ago(days_ago),
                promoted_at=promoted_days_ago and ago(promoted_days_ago),
            )  # fmt: skip
        written(settings, version, days_ago)

    return added


def ago(days):
    return datetime.now(UTC) - timedelta(days=days)


def written(settings, version, days_ago):
    path = settings.artefacts / f"{version}.npz"
    path.write_bytes(b"weights")
    then = time.time() - timedelta(days=days_ago).total_seconds()
    os.utime(path, (then, then))


def there(settings):
    return {path.stem for path in settings.artefacts.iterdir()}


def record(engine, version):
    with engine.connect() as connection:
        return models.model(connection, version)


def begin_run(engine):
    new = sa.insert(schema.runs).values(step="train", state="done")
    with engine.begin() as connection:
        return connection.execute(new.returning(schema.runs.c.run_id)).scalar_one()


def forecast_with(engine, version, origin):
    with engine.begin() as connection:
        add_forecast(connection, "A", origin, version, ago(1))
        publish(
            connection, {"origin_on": origin, "model_version": version, "is_live": True}
        )


def test_only_old_artefacts_that_nothing_needs_are_removed(clean_engine, settings, add):
    promoted_run, refused = begin_run(clean_engine), begin_run(clean_engine)
    with clean_engine.begin() as connection:
        add_depot(connection)
    add("champion", "champion", promoted_days_ago=400, run_id=promoted_run)
    add("its evaluation", "evaluation", run_id=promoted_run)
    add("waiting", "challenger", days_ago=YOUNG)
    # Its training was killed before it was judged.
    add("never judged", "challenger")
    add("before", "retired", days_ago=500, promoted_days_ago=450)
    add("long before", "retired", days_ago=600, promoted_days_ago=500)
    add("refused", "rejected", run_id=refused)
    add("evaluation of refused", "evaluation", run_id=refused)
    add("young", "rejected", days_ago=YOUNG)
    add("shown", "rejected")
    add("shown before", "rejected")
    forecast_with(clean_engine, "shown before", DAY - timedelta(days=1))
    forecast_with(clean_engine, "shown", DAY)
    (settings.artefacts / "of nobody.npz").write_bytes(b"weights")
    pruned = prune_artefacts(clean_engine, settings)
    gone = ["evaluation of refused", "long before", "never judged", "refused"]
    gone += ["shown before"]
    assert pruned.models == gone
    assert (pruned.files, pruned.size_bytes) == (5, 5 * len(b"weights"))
    assert there(settings) == {
        "champion", "its evaluation", "waiting", "before", "young", "shown", "of nobody",
    }  # fmt: skip
    assert prune_artefacts(clean_engine, settings) == NOTHING


def test_a_challenger_whose_file_was_pruned_is_not_judged(clean_engine, settings, add):
    add("never judged", "challenger")
    prune_artefacts(clean_engine, settings)
    with clean_engine.connect() as connection:
        assert models.newest_challenger(connection, DAY) is None


def test_the_age_of_a_former_champion_counts_from_its_replacement(
    clean_engine, settings, add
):
    """Two promotions in a row, and nothing is lost of what served before."""
    run = begin_run(clean_engine)
    add("champion", "champion", promoted_days_ago=1)
    add("before", "retired", days_ago=YOUNG, promoted_days_ago=YOUNG)
    add("of a year", "retired", days_ago=400, promoted_days_ago=400, run_id=run)
    add("its evaluation", "evaluation", days_ago=400, run_id=run)
    assert prune_artefacts(clean_engine, settings) == NOTHING
    assert len(there(settings)) == 4


def test_two_prunings_at_once_do_not_fail(clean_engine, settings, add, monkeypatch):
    add("old", "rejected")
    add("older", "rejected")

    def taken_meanwhile(connection, filenames):
        (settings.artefacts / "old.npz").unlink()
        return sorted(filenames)

    monkeypatch.setattr(artefacts, "pruned_files", taken_meanwhile)
    pruned = prune_artefacts(clean_engine, settings)
    assert (pruned.files, pruned.size_bytes) == (1, len(b"weights"))


def test_an_interrupted_pruning_is_completed_by_the_next(clean_engine, settings, add):
    add("old", "rejected")
    with clean_engine.begin() as connection:
        assert artefacts.prune(connection, KEPT_DAYS) == ["old"]
    assert there(settings) == {"old"}
    pruned = prune_artefacts(clean_engine, settings)
    assert (pruned.models, pruned.files) == ([], 1)
    assert there(settings) == set()


def test_a_file_that_was_just_written_again_is_kept(clean_engine, settings, add):
    add("old", "rejected")
    prune_artefacts(clean_engine, settings)
    written(settings, "old", 0)
    assert prune_artefacts(clean_engine, settings) == NOTHING
    assert there(settings) == {"old"}
    # Its training never came to record it.
    written(settings, "old", MIN_ARTEFACT_AGE / timedelta(days=1) + 0.01)
    assert prune_artefacts(clean_engine, settings).files == 1


def test_a_pruned_model_that_is_trained_again_is_kept_again(
    clean_engine, settings, add
):
    add("old", "rejected")
    prune_artefacts(clean_engine, settings)
    add("old", "challenger", days_ago=0)
    assert record(clean_engine, "old")["pruned_at"] is None
    assert prune_artefacts(clean_engine, settings) == NOTHING
    assert there(settings) == {"old"}


def test_a_model_that_was_pruned_meanwhile_is_not_promoted(clean_engine, settings, add):
    add("champion", "champion", promoted_days_ago=1)
    add("old", "rejected")
    prune_artefacts(clean_engine, settings)
    with clean_engine.begin() as connection:
        assert not models.promote(connection, "old", "Why not")
    assert record(clean_engine, "champion")["role"] == "champion"


def test_a_past_origin_gets_the_newest_kept_model(clean_engine, settings, add):
    add("kept", "evaluation", days_ago=YOUNG)
    add("pruned", "evaluation")
    prune_artefacts(clean_engine, settings)
    with clean_engine.begin() as connection:
        connection.execute(
            sa.text("update models set trained_through = :day where version = 'kept'"),
            {"day": DAY - timedelta(days=9)},
        )
        assert forecast.model_for(connection, DAY)["version"] == "kept"
        # The champion has seen later days, and the pruned one would do.
        connection.execute(
            sa.text(
                "update models set role = 'champion', trained_through = trained_through + 99 "
                "where version = 'kept'"
            )
        )
        with pytest.raises(NoModelError, match="whose artefact is kept"):
            forecast.model_for(connection, DAY)


@pytest.fixture
def harbor(harbor):
    """Runs a command that keeps artefacts for so many days."""
    return partial(harbor, HARBOR_KEEP_ARTEFACTS_DAYS=str(KEPT_DAYS))


def test_the_commands_name_what_was_pruned_and_what_to_do(harbor, settings, add):
    add("champion", "champion", promoted_days_ago=1)
    add("old", "rejected")
    add("before", "retired", promoted_days_ago=OLD)
    harbor("db", "prune")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert f"Artefact pruned on {today}." in harbor("models", "list").stdout
    assert f"artefact: pruned on {today}" in harbor("models", "show", "old").stderr
    refused = harbor("models", "promote", "old")
    assert f"The artefact of old was pruned on {today}" in refused.stderr
    assert f"'harbor train --through {DAY}'" in refused.stderr
    assert refused.returncode == 1
    # Not by way of its canary either, nor if who rolls back meets one.
    assert harbor("models", "promote", "old", "--unchecked") == refused


def test_a_rollback_onto_a_pruned_model_is_refused(harbor, clean_engine, add):
    add("champion", "champion", promoted_days_ago=1)
    add("before", "retired", promoted_days_ago=OLD)
    query(clean_engine, "update models set pruned_at = now() where version = 'before'")
    refused = harbor("models", "rollback")
    assert "The artefact of before was pruned on" in refused.stderr
    assert refused.returncode == 1
    assert record(clean_engine, "champion")["role"] == "champion"
