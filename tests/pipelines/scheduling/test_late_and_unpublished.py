"""A night that is late, and was not published."""

import os
import time
from datetime import UTC, date, datetime
from functools import partial

import pytest
import sqlalchemy as sa

from pipelines.runs.ledger import recorded
from pipelines.scheduling import late_nights
from pipelines.schema import runs
from tests.pipelines.scheduling.test_schedule import Fleet


@pytest.fixture
def fleet_of(clean_engine):
    return partial(Fleet, clean_engine)


def test_a_late_file_is_looked_for_even_if_publishing_was_given_up(fleet_of, tmp_path):
    fleet = fleet_of(home=tmp_path)
    fleet.settings.inbox.mkdir()
    fleet.now = datetime.now(UTC)

    def finish_night():
        """The newest night is done, late, and was not published."""
        with fleet.engine.begin() as connection:
            night_id = connection.scalar(
                sa.select(sa.func.max(runs.c.run_id)).where(runs.c.step == "nightly")
            )
            metrics = {"late_depots": 2, "unpublished": "A webhook did not get it."}
            connection.execute(
                sa.update(runs).where(runs.c.run_id == night_id).values(metrics=metrics)
            )
            connection.execute(
                sa.insert(runs).values(
                    step="demand",
                    parent_id=night_id,
                    state="done",
                    finished_at=sa.func.now(),
                )
            )

    fleet.jobs.start_night()
    (origin,) = fleet.ran
    finish_night()
    for _ in range(4):
        fleet.jobs.catch_up()
        finish_night()
    assert fleet.ran == [origin] * 3  # given up
    late = fleet.settings.inbox / "late.csv"
    late.write_text("depot_id,date,orders\n")
    os.utime(late, (time.time() + 5,) * 2)
    fleet.jobs.catch_up()
    assert fleet.ran == [origin] * 4


def test_a_night_of_an_earlier_day_by_hand_does_not_end_the_wait_for_a_late_feed(
    clean_engine, tmp_path
):
    now = datetime.now(UTC)
    late, earlier = date(2026, 6, 9), date(2026, 6, 8)

    def night(origin, **metrics):
        with recorded(clean_engine, "nightly", origin) as run:
            run.metrics |= metrics
            with recorded(clean_engine, "demand", origin, parent=run):
                pass

    night(late, late_depots=2)
    night(earlier)
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "late.csv").write_text("depot_id,date,orders\n")
    found = late_nights.late_origin_with_new_files(clean_engine, inbox, now)
    assert found == late
