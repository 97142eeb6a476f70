"""A depot without orders and without an opening day is left out until it has one of them."""

import json
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from forecaster.backtest import ScoredForecast, run, split_holdout
from pipelines.cli.doctor_findings import started_finding
from pipelines.demand import counting
from pipelines.demand.panels import PanelsAsKnown, read_panel
from pipelines.schema import forecast_totals, forecasts
from pipelines.store import late_depots
from pipelines.store.depots import not_started
from tests.pipelines.demand.test_panels import DAYS, LAST, ZONE, morning_after
from tests.pipelines.ingest.ingesting import query
from tests.pipelines.make import (
    START,
    add_champion,
    add_counts,
    add_depot,
    add_event,
    add_fleet,
)

YOUNG_FROM = LAST - timedelta(days=9)
BY_DAY = sa.text(
    "select target_on, sum(point) from forecasts group by target_on order by target_on"
)


def count_from(connection, depot_id, first, orders):
    days = [first + timedelta(days=day) for day in range((LAST - first).days + 1)]
    add_counts(connection, [depot_id], days, orders)


@pytest.fixture
def fleet(clean_engine):
    """Two depots with history, and one of each kind of new, planned or inactive depot."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=2, n_days=DAYS)
        add_depot(connection, "described")
        add_depot(connection, "no counts")
        count_from(connection, "no counts", YOUNG_FROM, None)
        add_depot(connection, "opens", opened_on=LAST + timedelta(days=4))
        add_depot(connection, "rests", closed_weekdays=[1, 2, 3, 4, 5, 6, 7])
        count_from(connection, "rests", LAST, 3)
        add_depot(connection, "young", opened_on=None)
        count_from(connection, "young", YOUNG_FROM, 9)
        add_depot(connection, "zeros")
        count_from(connection, "zeros", YOUNG_FROM, 0)
    counting.rebuild(clean_engine, morning_after(LAST))
    return clean_engine


def panels_of(engine, origin):
    panels = PanelsAsKnown(engine, LAST, ZONE)
    return (
        read_panel(engine, origin),
        panels.with_newest_counts(origin),
        panels.at(origin),
    )


def test_a_panel_has_the_depots_that_have_started_by_its_origin(fleet):
    for panel in panels_of(fleet, LAST):
        assert panel.depot_ids == ("A0", "A1", "opens", "rests", "young", "zeros")
        closed_ahead_d = panel.closed_dt[2, panel.n_steps :][:6]
        assert closed_ahead_d.tolist() == [True, True, True, False, False, False]
    before = panels_of(fleet, YOUNG_FROM - timedelta(days=1))
    on_the_first_day = panels_of(fleet, START)
    for panel in (*before, *on_the_first_day):
        assert panel.depot_ids == ("A0", "A1", "opens")
        assert panel.demand_dt.shape[0] == panel.closed_dt.shape[0] == 3
    assert panels_of(fleet, YOUNG_FROM)[2].depot_ids[-2:] == ("young", "zeros")


def test_an_earlier_calendar_of_a_panel_is_that_of_its_depots(fleet):
    """An event that is announced within the panel's days makes it rebuild the calendar."""
    day, known_from = LAST - timedelta(days=2), LAST - timedelta(days=5)
    with fleet.begin() as connection:
        add_event(connection, "closed", day, depot_id="young", known_from=known_from)
    panel = PanelsAsKnown(fleet, LAST, ZONE).at(LAST)
    young, step = panel.depot_ids.index("young"), panel.step(day)
    assert panel.as_of(LAST).closed_dt[young, step]
    assert not panel.as_of(LAST - timedelta(days=7)).closed_dt[young, step]


def test_a_backtest_leaves_a_depot_out_until_it_has_started(fleet):
    panels = PanelsAsKnown(fleet, LAST, ZONE)
    panel = panels.at(LAST)
    split = split_holdout(panel, 14, 7, min_train_days=1)

    def by_row(visible):
        rows_dh = np.repeat(
            np.arange(visible.n_depots, dtype=float)[:, None], 7, axis=1
        )
        return ScoredForecast(rows_dh, rows_dh, rows_dh)

    point_odh = run(panel, split, {"by row": by_row}, panels.at)["by row"].point_odh
    assert panel.depot_ids[4] == "young"
    starts = split.origins.index(YOUNG_FROM)
    assert starts == 5
    assert np.isnan(point_odh[:starts, 3:]).all()
    # "rests" has not started by then either: "young" is the fourth row of the panel.
    assert (point_odh[starts:, 4] == 3).all()
    assert (point_odh[:, :3, 0] == [0, 1, 2]).all()


def test_one_that_is_only_described_is_neither_expected_nor_late(fleet):
    with fleet.begin() as connection:
        expected = late_depots.expected(connection, LAST)
        # Not expected: one rests every day, one opens later, and two have no count.
        assert [depot.is_late for depot in expected] == [False] * 4
        assert not_started(connection) == ["described", "no counts"]


def test_totals_are_those_of_the_depots_that_have_started_and_the_others_are_named(
    fleet, tmp_path, harbor
):
    add_champion(fleet, LAST, tmp_path / "artefacts")
    told = harbor("forecast")
    assert "Not started, and left out: described, no counts;" in told.stderr
    with fleet.connect() as connection:
        sums = connection.execute(BY_DAY).all()
        depot_ids = set(connection.scalars(sa.select(forecasts.c.depot_id)))
        totals = connection.execute(sa.select(forecast_totals)).all()
        bases = connection.scalars(
            sa.select(forecasts.c.basis).where(forecasts.c.depot_id == "opens")
            .order_by(forecasts.c.target_on)
        ).all()  # fmt: skip
    assert depot_ids == {"A0", "A1", "opens", "rests", "young", "zeros"}
    assert bases == ["closed"] * 3 + ["cold_start"] * 4

    # Without the two depots, every number is the same.
    for table in ("demand_versions", "daily_counts", "depots"):
        query(
            fleet, f"delete from {table} where depot_id in ('described', 'no counts')"
        )
    assert "Not started" not in harbor("forecast").stderr
    with fleet.connect() as connection:
        assert connection.execute(BY_DAY).all() == sums
        assert connection.execute(sa.select(forecast_totals)).all() == totals


@pytest.mark.usefixtures("fleet")
def test_the_list_of_depots_and_the_doctor_name_them(harbor):
    listed = json.loads(harbor("depots", "list", "--json").stdout)
    flags = {each["depot_id"]: each["flags"] for each in listed}
    named = [depot for depot, own in flags.items() if "not started" in own]
    assert named == ["described", "no counts"]
    finding = started_finding(named)
    assert finding.ok
    assert (
        "left out of forecasts: described, no counts; they have no orders"
        in finding.message
    )
