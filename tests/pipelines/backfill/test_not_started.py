"""A backfill of a depot that had not started."""

import pytest

from forecaster.errors import NothingToDoError
from pipelines.demand import counting
from pipelines.demand.panels import read_panel
from tests.make import make_artefact
from tests.pipelines.backfill.conftest import NOW, backfill, days_before
from tests.pipelines.make import add_counts, add_depot, save_model


def test_a_depot_that_had_not_started_is_left_and_not_forecast_again_and_again(
    fleet, settings
):
    with fleet.begin() as connection:
        add_depot(connection, "Z")
        add_counts(connection, ["Z"], [days_before(n) for n in range(10)], 30)
    counting.rebuild(fleet, NOW)
    made = make_artefact(read_panel(fleet, days_before(60)))
    save_model(fleet, made, settings.artefacts, role="champion", version="v")
    backfill(fleet, settings, 0, 0)
    with pytest.raises(NothingToDoError, match="none of the chosen depots had orders"):
        backfill(fleet, settings, 30, 20, depots=("Z",))
    done = backfill(fleet, settings, 30, 5, depots=("Z",))
    assert (done.n_forecast, done.rows) == (5, 5 * 7)
    with pytest.raises(NothingToDoError):
        backfill(fleet, settings, 30, 5, depots=("Z",))
