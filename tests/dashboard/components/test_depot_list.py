"""What the list of depots shows of its first day."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.components import depot_list
from dashboard.tables import html_grids
from pipelines import schema
from tests.dashboard.seed import seed

pytestmark = pytest.mark.db


def test_a_depot_whose_first_day_is_over_is_not_closed_on_it(
    dashboard, clean_engine, yesterday, write
):
    seed(clean_engine, yesterday - timedelta(days=1), dashboard)
    depots, forecasts = schema.depots, schema.forecasts
    write(sa.update(depots).values(timezone="Etc/GMT+12"))
    east = ZoneInfo("Pacific/Kiritimati")
    write(
        sa.update(depots)
        .where(depots.c.depot_id == "LON-01")
        .values(timezone=str(east))
    )
    today = datetime.now(UTC).astimezone(east).date()
    write(
        sa.update(forecasts)
        .where(forecasts.c.depot_id == "LON-01", forecasts.c.target_on == today)
        .values(basis="closed", p10=0, p50=0, p90=0, point=0)
    )
    freshness = queries.freshness()
    first = queries.fleet_week(freshness).groupby("depot_id")["target_on"].min()
    assert first["LON-01"] > first.min()
    numbers = depot_list._numbers(freshness, today)
    first_day = html_grids.heads_of(numbers)[0]
    assert html_grids._listed_texts(numbers)["LON-01"][first_day] != "closed"
