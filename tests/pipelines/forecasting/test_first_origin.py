"""An origin before all data is told so, and not to train what cannot be trained."""

from datetime import timedelta

import pytest

from forecaster.errors import NoDataError
from pipelines.demand.panels import shared_panels
from pipelines.forecasting.forecast import forecast_from
from pipelines.runs.ledger import recorded
from pipelines.settings import Settings
from tests.pipelines.make import START, count_fleet, midnight_after


def test_an_origin_before_all_orders_is_not_told_to_train(clean_engine, tmp_path):
    count_fleet(clean_engine, n_days=20)
    settings = Settings(home=tmp_path)
    origin = START - timedelta(days=400)
    panels = shared_panels(clean_engine, origin, settings.zone)
    now = midnight_after(START + timedelta(days=20))
    with (
        pytest.raises(NoDataError, match="no demand up to"),
        recorded(clean_engine, "forecast", origin) as run,
    ):
        forecast_from(run, settings, origin, now, panels)
