"""Paths of a stored forecast: a file that another program can count chances in."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import sqlalchemy as sa

from pipelines.database.engine import snapshot
from pipelines.forecasting.paths import write_paths
from pipelines.schema import depots
from pipelines.store.forecasts import read_forecasts, read_totals
from tests.pipelines.make import LAST, NOW, add_champion, count_fleet, forecast_from


def test_the_paths_of_a_forecast_have_its_quantiles_and_the_bands_of_its_totals(
    clean_engine, tmp_path
):
    count_fleet(clean_engine, n_depots=3)
    artefacts = tmp_path / "artefacts"
    add_champion(clean_engine, LAST, artefacts)
    version = forecast_from(clean_engine, artefacts, LAST, NOW, ZoneInfo("UTC"))
    path = write_paths(
        clean_engine, artefacts, tmp_path / "paths", LAST, version, n_paths=2000
    )
    assert [each.name for each in path.parent.iterdir()] == [
        f"{LAST}-{version}.parquet"
    ]
    drawn = pd.read_parquet(path)
    assert len(drawn) == 2000 * 3 * 7
    assert set(drawn["origin_on"]) == {LAST}
    with snapshot(clean_engine) as connection:
        stored = pd.DataFrame(read_forecasts(connection, LAST, version))
        totals = pd.DataFrame(read_totals(connection, LAST, version))
    of_day = drawn.groupby(["depot_id", "target_on"], observed=True)["orders"]
    expected = stored.set_index(["depot_id", "target_on"])
    for name, share in (("p10", 0.1), ("p50", 0.5), ("p90", 0.9)):
        found = of_day.quantile(share).reindex(expected.index)
        np.testing.assert_allclose(found, expected[name], rtol=0.06)
    fleet = totals[totals["city"] == ""].set_index("target_on")
    sums = drawn.groupby(["path", "target_on"])["orders"].sum().unstack()
    width = sums.quantile(0.9) - sums.quantile(0.1)
    np.testing.assert_allclose(width, fleet["p90"] - fleet["p10"], rtol=0.15)


def test_paths_of_a_kept_live_forecast_whose_depot_has_closed_since(
    clean_engine, tmp_path
):
    count_fleet(clean_engine, n_depots=3)
    artefacts = tmp_path / "artefacts"

    def describe(**columns):
        with clean_engine.begin() as connection:
            update = sa.update(depots).where(depots.c.depot_id == "A1")
            connection.execute(update.values(**columns))

    describe(closed_weekdays=[6, 7])
    add_champion(clean_engine, LAST, artefacts)
    forecast_from(clean_engine, artefacts, LAST, NOW, ZoneInfo("UTC"))
    # A depots file says later that it has been closed since the day before the origin.
    describe(closed_on=LAST - timedelta(days=1))
    later = NOW + timedelta(days=30)  # A hindcast; the live forecast stays.
    version = forecast_from(clean_engine, artefacts, LAST, later, ZoneInfo("UTC"))
    path = write_paths(
        clean_engine, artefacts, tmp_path / "paths", LAST, version, n_paths=10
    )
    drawn = pd.read_parquet(path)
    assert set(drawn.groupby("depot_id", observed=True)["target_on"].nunique()) == {7}
