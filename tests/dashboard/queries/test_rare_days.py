"""Days of depots that are closed, late, new or forecast in retrospect; events without an end."""

from datetime import date, timedelta

import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.planning import city_settings
from dashboard.queries import ScoreFilter
from dashboard.text import brief, run_descriptions
from pipelines import schema
from tests.dashboard.seed import CHAMPION, LONG_AGO, make_depots, records
from tests.dashboard.seed_pipeline import seed_pipeline

pytestmark = pytest.mark.db
DEPOT = "LON-02"


def test_an_event_without_an_end_does_not_keep_the_bands_from_being_read(seeded, write):
    row = {
        "kind": "subscription", "starts_on": seeded.through - timedelta(days=30),
        "ends_on": date(9999, 12, 31), "city": None, "depot_id": None, "value": None,
        "known_from": None, "file_id": 1, "known_at": LONG_AGO,
    }  # fmt: skip
    write(sa.insert(schema.events).values(row))
    assert not queries.band_coverage(ScoreFilter(True), queries.freshness()).empty


def test_a_depot_closed_for_good_does_not_count_in_a_busy_day(seeded, write):
    """Its vans are not among the city's, so its orders must not be among those they carry."""
    d, v = schema.depots, schema.demand_versions
    closed_on = seeded.through - timedelta(days=1)
    write(sa.update(d).values(closed_on=closed_on).where(d.c.depot_id == "RTM-01"))
    queries.freshness.clear()
    after = city_settings.by_city(queries.freshness())["Rotterdam"]
    write(sa.delete(v).where(v.c.depot_id == "RTM-01"))
    queries.freshness.clear()
    assert after == city_settings.by_city(queries.freshness())["Rotterdam"]


def test_a_backfill_of_a_depot_that_had_no_live_forecast_is_not_its_live_forecast(
    seeded, write
):
    """The backfill's model is the champion, whose live forecasts the other depots have."""
    origin = seeded.through - timedelta(days=1)
    total = {
        "city": "London",
        "origin_on": origin,
        "target_on": seeded.through,
        "model_version": CHAMPION,
    }
    for table in (schema.scores, schema.forecasts):
        is_its = (
            (table.c.depot_id == DEPOT)
            & (table.c.origin_on <= origin)
            & table.c.is_live
        )
        write(sa.delete(table).where(is_its))
    made = seeded.forecasts
    day = made[(made["origin_on"] == origin) & (made["target_on"] == seeded.through)]
    live = day[day["depot_id"].isin(["LON-01", "LON-03"])]
    write(
        sa.insert(schema.forecast_totals).values(
            **total, depots=2, p10=1.0, p50=live["p50"].sum(), p90=1e6
        )
    )
    before = queries.last_day(queries.freshness()).set_index("depot_id")
    assert pd.isna(before.loc[DEPOT, "point"])
    for rows, table in (
        (seeded.forecasts, schema.forecasts),
        (seeded.scores, schema.scores),
    ):
        own = rows[(rows["depot_id"] == DEPOT) & (rows["origin_on"] == origin)]
        write(sa.insert(table).values(records(own.assign(is_live=False))))
    after = queries.last_day(queries.freshness()).set_index("depot_id")
    columns = ["actual", "point", "part"]
    pd.testing.assert_frame_equal(
        after[columns].sort_index(), before[columns].sort_index()
    )


def events_told(freshness):
    week, events = queries.fleet_week(freshness), queries.fleet_events(freshness)
    starting = brief._starting(events, freshness.origin)
    return [
        each.text
        for each in brief._events(
            starting, week, pd.DataFrame(columns=["city", "target_on"])
        )
    ]


def test_depots_that_have_not_started_are_not_among_those_that_have_an_event(
    seeded, write
):
    """A depots file may describe depots of London that have neither orders nor a forecast."""
    before = events_told(queries.freshness())
    [first] = records(make_depots().query("depot_id == 'LON-01'"))
    for number in range(3):
        write(
            sa.insert(schema.depots).values(
                first | {"depot_id": f"LON-9{number}", "name": f"New {number}"}
            )
        )
    queries.freshness.clear()
    assert events_told(queries.freshness()) == before


@pytest.mark.parametrize(
    ("depot", "has_come"), [("LON-03", True), ("LON-90", False), ("RTM-01", False)]
)
def test_only_counts_of_late_depots_are_those_that_came_late(
    seeded, write, clean_engine, depot, has_come
):
    """LON-03 was late. LON-90 is new, and RTM-01 lies in the west: its day was not over."""
    seed_pipeline(clean_engine, seeded.through)
    [new] = records(make_depots().query("depot_id == 'LON-01'"))
    write(sa.insert(schema.depots).values(new | {"depot_id": "LON-90", "name": "New"}))
    table = schema.demand_versions
    write(sa.update(table).values(recorded_at=LONG_AGO))
    is_its = (table.c.depot_id == depot) & (table.c.service_on == seeded.through)
    write(sa.delete(table).where(is_its))
    [night] = [
        row
        for row in queries.runs().to_dict("records")
        if row["step"] == "nightly" and row["origin_on"].date() == seeded.through
    ]
    counted = {
        "depot_id": depot, "service_on": seeded.through, "orders": 300, "version": 1,
        "known_at": night["finished_at"], "recorded_at": night["finished_at"] + timedelta(hours=3),
    }  # fmt: skip
    write(sa.insert(table).values(counted))
    # The night is run again, and replaces its forecasts.
    again = {"made_at": night["finished_at"] + timedelta(hours=4)}
    for changed in ({}, again):
        if changed:
            write(sa.update(schema.forecasts).values(**changed))
        told = run_descriptions.night_sentence(queries.runs())
        assert "without the orders of 1 depot" in told
        assert ("which have come since" in told) == has_come
