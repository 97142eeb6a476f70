"""The rows that a dry run announces are the rows that the backfill writes."""

from pipelines.backfill.decisions import decide
from tests.pipelines.backfill.conftest import backfill, days_before, request
from tests.pipelines.make import add_depot


def test_a_dry_run_announces_the_rows_that_are_written(fleet, settings, add_model):
    add_model(days_before(30))
    with fleet.begin() as connection:
        add_depot(connection, "NEVER")
    asked = decide(fleet, settings, request(6, 6)).origins
    done = backfill(fleet, settings, 6, 6)
    assert sum(each.rows for each in asked) == done.rows


def test_a_dry_run_announces_the_horizon_of_the_model(fleet, settings, add_model):
    add_model(days_before(30))
    longer = settings.model_copy(update={"horizon": 9})
    asked = decide(fleet, longer, request(6, 6)).origins
    done = backfill(fleet, longer, 6, 6)
    assert sum(each.rows for each in asked) == done.rows
