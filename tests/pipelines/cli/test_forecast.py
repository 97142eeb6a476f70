"""Output of `harbor forecast` for people."""

from datetime import date, timedelta

import pyarrow as pa
import pytest
import sqlalchemy as sa

from pipelines.cli import forecast
from pipelines.cli.hours import show_hours
from pipelines.demand import counting
from pipelines.forecasting.hours import HOUR_SCHEMA
from pipelines.schema import daily_counts
from tests.pipelines.make import DAYS, LAST, NOW, add_champion, add_depot, add_fleet

TOTAL = {"city": "", "target_on": date(2026, 11, 27), "p10": 90.0, "p90": 120.0}


@pytest.mark.parametrize(
    ("point", "planned", "expected"),
    [
        pytest.param(100.0, 100.0, "100 (90–120)", id="the model's"),
        pytest.param(100.0, 200.0, "200 (model 100) (180–240)", id="a planner's"),
        pytest.param(0.0, 50.0, "50 (model 0) (50–50)", id="of nothing"),
    ],
)
def test_the_interval_of_a_total_is_that_of_the_planned_number(
    capsys, point, planned, expected
):
    forecast.show_totals([TOTAL | {"point": point, "planned": planned}])
    printed = capsys.readouterr()
    assert expected in printed.out + printed.err


def test_the_hour_that_a_clock_change_skips_is_no_number(capsys):
    before, change = date(2024, 3, 30), date(2024, 3, 31)
    rows = [
        {"depot_id": "A", "city": "Delft", "target_on": day, "starts_at": NOW, "hour": hour,
         "p10": 1.0, "p50": 1.0, "p90": 1.0, "point": 1.0, "planned": 1.0}
        for day in (before, change) for hour in range(4) if (day, hour) != (change, 2)
    ]  # fmt: skip
    show_hours(pa.Table.from_pylist(rows, schema=HOUR_SCHEMA))
    assert "nan" not in capsys.readouterr().out


def test_a_hindcast_names_the_depots_that_had_not_started_yet(
    clean_engine, harbor, tmp_path
):
    origin = LAST - timedelta(days=10)
    newest = [
        {"service_on": LAST - timedelta(days=n), "orders": 5, "file_id": 1}
        for n in range(5)
    ]
    with clean_engine.begin() as connection:
        add_fleet(connection, 2, DAYS)
        add_depot(connection, "NEW")
        counts = sa.insert(daily_counts)
        connection.execute(counts, [{"depot_id": "NEW", **row} for row in newest])
    counting.rebuild(clean_engine, NOW)
    add_champion(clean_engine, origin, tmp_path / "artefacts")
    said = harbor("forecast", "--origin", str(origin)).stderr
    assert f"Without orders up to {origin}, and left out: NEW" in said
