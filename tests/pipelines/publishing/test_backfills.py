"""What a backfill does to a forecast that is shown and published."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from forecaster.errors import NothingToDoError
from pipelines.backfill import BackfillRequest, run_backfill
from pipelines.publishing.destination import Destination
from pipelines.publishing.files import publish_files
from pipelines.settings import Settings
from tests.pipelines.make import UTC_ZONE, add_event, forecast_from
from tests.pipelines.publishing.conftest import LAST


def test_a_backfill_that_replaces_a_published_hindcast_is_published(fleet, tmp_path):
    folder, now = tmp_path / "published", datetime.now(UTC)
    place = Destination.at(str(folder))
    fleet.count(LAST, 80)
    # Loaded history, as in 'harbor forecast' without a night: shown, but not live.
    forecast_from(fleet.engine, fleet.home / "artefacts", LAST, now, UTC_ZONE)
    publish_files(fleet.engine, place)
    with fleet.engine.begin() as connection:
        add_event(connection, "closed", LAST + timedelta(days=2), depot_id="A0")
    settings = Settings(home=fleet.home, settle_seconds=0)
    request = BackfillRequest(LAST, LAST)
    assert (
        run_backfill(fleet.engine, settings, request, datetime.now(UTC)).n_forecast == 1
    )
    publish_files(fleet.engine, place)
    columns = ["depot_id", "target_on", "p50"]
    view = fleet.read(
        "select depot_id, target_on, p50 from latest_forecasts order by 1, 2"
    )
    for path in ("latest/forecasts", f"forecasts/origin_on={LAST}"):
        file = pd.read_parquet(folder / path / "part-0.parquet")
        rows = file.sort_values(["depot_id", "target_on"])[columns]
        assert rows.to_dict("records") == view


def test_a_backfill_of_some_depots_leaves_the_shown_forecast(fleet):
    now, later = datetime.now(UTC), LAST + timedelta(days=1)
    settings = Settings(home=fleet.home, settle_seconds=0)
    fleet.count(LAST, 80)
    forecast_from(fleet.engine, fleet.home / "artefacts", LAST, now, UTC_ZONE)
    # The next day is loaded, and all are hindcast from it; the forecast of LAST is still shown.
    fleet.count(later, 80)
    run_backfill(fleet.engine, settings, BackfillRequest(later, later), now)
    assert fleet.read("select origin_on from shown_forecast") == [{"origin_on": LAST}]
    rows = (
        "select depot_id, target_on, p50, made_at from latest_forecasts order by 1, 2"
    )
    before = fleet.read(rows)
    with fleet.engine.begin() as connection:
        add_event(connection, "closed", LAST + timedelta(days=3), depot_id="A0")
    of_one = BackfillRequest(LAST, LAST, depots=("A0",))
    with pytest.raises(NothingToDoError):
        run_backfill(fleet.engine, settings, of_one, datetime.now(UTC))
    assert fleet.read(rows) == before
