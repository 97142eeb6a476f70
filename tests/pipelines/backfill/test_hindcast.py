"""A hindcast says what a night would have said, and sees nothing known later."""

from datetime import UTC, datetime, timedelta

import numpy as np
import sqlalchemy as sa

from forecaster.inference import artefact, infer
from pipelines.backfill import BackfillRequest, run_backfill
from pipelines.demand import counting
from pipelines.demand.panels import PanelsAsKnown
from pipelines.schema import daily_counts, forecasts
from tests.pipelines.backfill.conftest import LAST, NOW, days_before
from tests.pipelines.make import UTC_ZONE, add_counts, add_depot, add_event, query

ORIGIN = days_before(20)


def apply(engine, settings, first, last, **options):
    request = BackfillRequest(first, last, **options)
    assert run_backfill(engine, settings, request, NOW).n_waiting == 0


def stored(engine, origin):
    """p10, p50 and p90 of an origin by model, each [depot, step]."""
    rows = query(
        engine,
        sa.select(forecasts)
        .where(forecasts.c.origin_on == origin)
        .order_by(forecasts.c.depot_id, forecasts.c.target_on),
    )
    return {
        version: np.array(
            [
                [row.p10, row.p50, row.p90]
                for row in rows
                if row.model_version == version
            ]
        )
        for version in {row.model_version for row in rows}
    }


def multiply_counts(engine, factor, condition, now):
    query(
        engine,
        sa.update(daily_counts)
        .where(condition)
        .values(orders=daily_counts.c.orders * factor + 1),
    )
    counting.rebuild(engine, now)


def announce(engine, day, known_from):
    with engine.begin() as connection:
        add_event(connection, "closed", day, known_from=known_from)


def test_tampering_with_what_came_later_changes_no_hindcast(fleet, settings, add_model):
    version = add_model(days_before(40))
    apply(fleet, settings, ORIGIN, ORIGIN)
    before = stored(fleet, ORIGIN)

    # Everything after the origin, and everything learnt after it.
    with fleet.begin() as connection:
        for counts in ("demand_versions", "daily_counts"):
            connection.execute(
                sa.text(
                    f"update {counts} set orders = 1000 * orders "
                    "where service_on > :origin"
                ),
                {"origin": ORIGIN},
            )
    multiply_counts(fleet, 7, daily_counts.c.service_on <= ORIGIN, NOW)
    announce(fleet, ORIGIN + timedelta(days=2), ORIGIN + timedelta(days=1))
    add_model(days_before(19), seed=1)

    apply(fleet, settings, ORIGIN, ORIGIN, again=True)
    after = stored(fleet, ORIGIN)
    assert set(after) == {version}
    np.testing.assert_array_equal(after[version], before[version])

    # A later origin sees it all: the test would notice.
    later = days_before(8)
    announce(fleet, later + timedelta(days=1), later)
    apply(fleet, settings, later, later)
    (seen,) = stored(fleet, later).values()
    seen = seen.reshape(3, 7, 3)
    assert (seen[:, 0] == 0).all()
    assert seen.max() > 100 * before[version].max()


def test_each_origin_of_a_backfill_says_what_its_night_would_have_said(
    fleet, settings, add_model
):
    version = add_model(days_before(40))
    morning = datetime.combine(days_before(16), datetime.min.time(), UTC)
    multiply_counts(
        fleet, 3, daily_counts.c.service_on.between(days_before(30), days_before(18)),
        morning,
    )  # fmt: skip
    announce(fleet, days_before(10), days_before(14))
    # First heard of on a day between the origins: until then it is in no forecast.
    with fleet.begin() as connection:
        add_depot(connection, "new")
        add_counts(connection, ["new"], map(days_before, range(14)), 9)
    counting.rebuild(fleet, NOW)
    apply(fleet, settings, days_before(18), days_before(12))

    loaded = artefact.load(settings.artefacts / f"{version}.npz")
    panels = PanelsAsKnown(fleet, LAST, UTC_ZONE)
    for ago in range(18, 11, -1):
        alone = infer.forecast(loaded, panels.at(days_before(ago)))
        expected = np.stack([alone.p10_dh, alone.p50_dh, alone.p90_dh], axis=-1)
        found = stored(fleet, days_before(ago))[version]
        assert len(found) == 7 * (4 if ago <= 13 else 3)
        np.testing.assert_array_equal(found, expected.reshape(-1, 3))
