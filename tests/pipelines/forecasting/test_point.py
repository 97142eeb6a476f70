"""The point is stored beside the quantiles, and is what is scored."""

from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from forecaster.inference import infer
from pipelines import backfill
from pipelines.demand.panels import read_panel
from pipelines.nightly import steps
from pipelines.nightly.steps import NightlyContext
from pipelines.runs.ledger import recorded
from pipelines.schema import forecasts, score_totals, scores
from pipelines.settings import Settings
from pipelines.store.forecasts import read_totals
from tests.pipelines.make import (
    LAST,
    NOW,
    UTC_ZONE,
    add_champion,
    count_fleet,
    forecast_from,
    scalar,
    score_known_days,
)

ORIGIN = LAST - timedelta(days=7)


@pytest.fixture
def served(clean_engine, tmp_path):
    """Two depots, with a champion that was trained a week ago."""
    count_fleet(clean_engine)
    made = add_champion(clean_engine, ORIGIN, tmp_path / "artefacts")
    return clean_engine, made


def stored_points(engine, origin):
    query = sa.select(forecasts.c.point).where(forecasts.c.origin_on == origin)
    order = (forecasts.c.depot_id, forecasts.c.target_on)
    with engine.connect() as connection:
        return list(connection.scalars(query.order_by(*order)))


def by_night(engine, settings, origin):
    context = NightlyContext(engine, settings, NOW, origin)
    with recorded(engine, "forecast", origin) as run:
        steps.forecast(context, run)


def by_backfill(engine, settings, origin):
    request = backfill.BackfillRequest(origin, origin)
    backfill.run_backfill(engine, settings, request, NOW)


@pytest.mark.parametrize(
    ("way", "point"), [(by_night, "median"), (by_night, "mape"), (by_backfill, "mape")]
)
def test_a_forecast_is_stored_with_the_point_of_the_setting(
    served, tmp_path, way, point
):
    engine, made = served
    way(engine, Settings(home=tmp_path, point=point), ORIGIN)
    expected = infer.forecast(made, read_panel(engine, ORIGIN), point=point)
    said = stored_points(engine, ORIGIN)
    np.testing.assert_allclose(said, expected.point_dh.ravel(), rtol=1e-6)
    same = sa.select(sa.func.bool_and(forecasts.c.point == forecasts.c.p50))
    assert scalar(engine, same) is (point == "median")


def test_scored_is_the_point(served, tmp_path):
    engine, _ = served
    forecast_from(engine, tmp_path / "artefacts", ORIGIN, NOW, UTC_ZONE, point="mape")
    assert score_known_days(engine) == 14
    key = ("depot_id", "origin_on", "target_on", "model_version")
    both = scores.join(
        forecasts, sa.and_(*(scores.c[name] == forecasts.c[name] for name in key))
    )
    with engine.connect() as connection:
        rows = connection.execute(
            sa.select(scores.c.actual, scores.c.point, forecasts.c.point.label("said"))
            .select_from(both)
        ).all()  # fmt: skip
        errors = connection.scalars(
            sa.select(sa.func.sum(score_totals.c.abs_error_sum)).where(
                score_totals.c.target_on.is_not(None)
            )
        ).one()
    assert all(row.point == row.said for row in rows)
    assert errors == pytest.approx(sum(abs(row.point - row.actual) for row in rows))


def test_a_total_is_its_own_median_and_not_the_sum_of_the_points(served, tmp_path):
    engine, made = served
    forecast_from(engine, tmp_path / "artefacts", ORIGIN, NOW, UTC_ZONE, point="mape")
    fleet, *_ = infer.forecast(made, read_panel(engine, ORIGIN), point="mape").totals
    with engine.connect() as connection:
        totals = read_totals(connection, ORIGIN, "v")[:7]
    for name, quantile in (("p10", "p10"), ("point", "p50"), ("p90", "p90")):
        found = [each[name] for each in totals]
        np.testing.assert_allclose(found, getattr(fleet, f"{quantile}_h"), rtol=1e-6)
    assert all(each["planned"] == each["point"] for each in totals)
    points = np.reshape(stored_points(engine, ORIGIN), (2, 7)).sum(axis=0)
    assert (points < fleet.p50_h).all()


def test_a_point_outside_of_its_band_is_not_stored(served, tmp_path):
    engine, _ = served
    forecast_from(engine, tmp_path / "artefacts", ORIGIN, NOW, UTC_ZONE)
    with (
        pytest.raises(sa.exc.IntegrityError, match="ck_forecasts_point"),
        engine.begin() as connection,
    ):
        connection.execute(sa.update(forecasts).values(point=forecasts.c.p10 - 1))
