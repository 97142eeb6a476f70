"""A failed step is one of the newest night, or of a backup."""

from contextlib import suppress
from datetime import date

import pytest

from pipelines.runs.ledger import recorded
from pipelines.store import monitoring

NIGHT = date(2026, 6, 9)


def run(engine, step, parent=None, error=None):
    with (
        suppress(OSError, KeyboardInterrupt),
        recorded(engine, step, NIGHT, parent=parent),
    ):
        if error is not None:
            raise error


def night(engine, failing=(), steps=("ingest", "train", "forecast")):
    with suppress(OSError), recorded(engine, "nightly", NIGHT) as nightly:
        for step in steps:
            run(engine, step, nightly, OSError("no") if step in failing else None)
        if failing:
            raise OSError("no")


def failed_steps(engine):
    with engine.connect() as connection:
        samples = monitoring.read_samples(connection, monitoring.STEPS)
        return {
            s.labels["step"] for s in samples if s.name == "step_failed" and s.value
        }


@pytest.mark.parametrize("step", ["backtest", "ingest", "withdraw", "backfill"])
def test_a_command_that_was_stopped_by_hand_is_no_failed_step_of_the_night(
    clean_engine, step
):
    night(clean_engine)
    run(clean_engine, step, error=KeyboardInterrupt())
    assert failed_steps(clean_engine) == set()


def test_a_step_that_nights_no_longer_have_is_not_failed_for_ever(clean_engine):
    """As `publish` after HARBOR_PUBLISH_URL was unset."""
    night(clean_engine, failing=["publish"], steps=["forecast", "publish"])
    assert failed_steps(clean_engine) == {"nightly", "publish"}
    night(clean_engine)
    assert failed_steps(clean_engine) == set()


def test_a_step_made_good_by_hand_and_a_backup(clean_engine):
    night(clean_engine, failing=["train", "ingest"])
    run(clean_engine, "train")
    assert failed_steps(clean_engine) == {"nightly", "ingest"}
    run(clean_engine, "backup", error=OSError("no"))
    assert failed_steps(clean_engine) == {"nightly", "ingest", "backup"}
