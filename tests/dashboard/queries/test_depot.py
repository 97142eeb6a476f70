"""Queries of one depot against the seeded rows, computed here without SQL."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.text import summaries
from forecaster.data.panel_builder import build_panel
from pipelines import schema
from tests.dashboard.queries.test_queries import as_dates, published_forecasts
from tests.dashboard.seed import CHAMPION, LONG_AGO

pytestmark = pytest.mark.db

A_DAY = timedelta(days=1)
A_WEEK = timedelta(days=7)


def test_a_depots_days_have_history_forecast_and_events(freshness, seeded):
    days = queries.depot_days("RTM-03", freshness)
    own = seeded.demand[seeded.demand["depot_id"] == "RTM-03"]
    assert len(days) == 396 + 7
    past = days[days["day_on"].dt.date <= seeded.through]
    known = past["actual"].dropna().tolist()
    assert known == own["orders"].dropna().tolist()
    ahead = days[days["day_on"].dt.date > seeded.through]
    mine = published_forecasts(seeded)[
        published_forecasts(seeded)["depot_id"] == "RTM-03"
    ]
    np.testing.assert_allclose(ahead["point"], mine["point"])
    assert ahead["events"].tolist() == [[], ["closed"], [], [], [], [], []]
    assert ahead["is_closed"].tolist() == [False, True, *[False] * 5]
    assert ahead["basis"].tolist() == mine["basis"].tolist()


def test_unknown_days_are_nan_and_weekly_closing_days_are_closed(freshness, seeded):
    days = queries.depot_days("RTM-01", freshness).set_index("day_on")
    assert np.isnan(days.loc[pd.Timestamp(seeded.through - 10 * A_DAY), "actual"])
    shut = queries.depot_days("RTM-02", freshness)
    assert (shut["is_closed"] == (shut["day_on"].dt.day_of_week == 6)).all()


def test_a_depot_has_its_history_before_any_forecast(seeded, write):
    write(sa.delete(schema.scores))
    write(sa.delete(schema.forecasts))
    write(sa.delete(schema.publications))
    days = queries.depot_days("LON-01", queries.freshness())
    assert len(days) == 396
    known = seeded.demand.query("depot_id == 'LON-01'")["orders"].tolist()
    assert days["actual"].dropna().tolist() == known
    assert days["point"].isna().all()


def test_holidays_and_events_of_a_day_are_kept_apart(seeded, write):
    day = seeded.through + A_DAY
    holiday = {"country": "NL", "subdivision": "", "name": "Feast, of all"}
    write(sa.insert(schema.public_holidays).values(**holiday, day_on=day))
    event = {"kind": "pay_day", "starts_on": day, "ends_on": day, "city": "Rotterdam"}
    write(sa.insert(schema.events).values(**event, file_id=1))
    days = queries.depot_days("RTM-01", queries.freshness()).set_index("day_on")
    tomorrow = days.loc[pd.Timestamp(day)]
    assert (tomorrow["holidays"], tomorrow["events"]) == (
        ["Feast, of all"],
        ["pay_day"],
    )


def test_a_day_ahead_has_its_week_and_its_year_before(seeded, write):
    """Last year's same holiday, else same event, else same weekday; NaN on past days."""
    days_back = {"feast": 355, "fair": 371, "weekday": 364}
    feast, fair, other = (seeded.through + n * A_DAY for n in (1, 3, 5))
    holiday = {"country": "NL", "subdivision": "", "name": "Feast"}
    place = {"city": "Rotterdam", "file_id": 1, "known_at": LONG_AGO}
    for day in (feast, feast - days_back["feast"] * A_DAY):
        write(sa.insert(schema.public_holidays).values(**holiday, day_on=day))
    for day in (fair, fair - days_back["fair"] * A_DAY):
        event = {"kind": "fair", "starts_on": day - A_DAY, "ends_on": day + A_DAY}
        write(sa.insert(schema.events).values(**event, **place))
    # A sale on the day of the fair, too; last year's sale was further from a year before.
    for day in (fair, fair - 340 * A_DAY):
        sale = {"kind": "sale", "starts_on": day, "ends_on": day}
        write(sa.insert(schema.events).values(**sale, **place))
    rows = [
        {
            "depot_id": "RTM-01", "service_on": day - back * A_DAY, "orders": orders,
            "version": 1, "known_at": LONG_AGO,
        }
        for day, back, orders in (
            (feast, days_back["feast"], 11), (fair, days_back["fair"], 22),
            (other, days_back["weekday"], 33), (feast, 364, 1), (fair, 364, 2),
        )
    ]  # fmt: skip
    write(sa.insert(schema.demand_versions).values(rows))
    days = queries.depot_days("RTM-01", queries.freshness()).set_index("day_on")
    found = days.loc[[pd.Timestamp(day) for day in (feast, fair, other)], "year_before"]
    assert found.tolist() == [11, 22, 33]
    on = days.loc[pd.Timestamp(feast), "year_before_on"]
    assert on.date() == feast - days_back["feast"] * A_DAY
    past = days[days["point"].isna()]
    assert past[["week_before", "year_before"]].isna().all(axis=None)
    own = seeded.demand.query("depot_id == 'RTM-01'").set_index("service_on")["orders"]
    for day, row in days[days["point"].notna()].iterrows():
        expected = own.get(day.date() - A_WEEK)
        assert row["week_before"] == expected or np.isnan(row["week_before"])


def test_last_week_is_that_of_days_ahead_also_where_the_depot_was_closed(seeded, write):
    """Orders came on the closed day all the same."""
    closed = {"kind": "closed", "depot_id": "LON-01", "file_id": 1}
    for day in (seeded.through - 3 * A_DAY, seeded.through + 2 * A_DAY):
        dates = {"starts_on": day, "ends_on": day, "known_at": LONG_AGO}
        write(sa.insert(schema.events).values(**closed, **dates))
    freshness = queries.freshness()
    days = queries.depot_days("LON-01", freshness).dropna(subset=["point"])
    week = queries.fleet_week(freshness).query("depot_id == 'LON-01'")
    assert (days["week_before"] > 0).all()
    np.testing.assert_array_equal(days["week_before"], week["week_before"])
    change = summaries.change(days, "point")
    assert change == pytest.approx(week["change"].iloc[0])


def test_last_year_is_52_weeks_before_unless_the_days_ahead_have_something_on(
    seeded, write
):
    """Another week's same weekday only for one with the same events; an ordinary day stays."""
    ordinary, promoted, feast = (seeded.through + n * A_DAY for n in (1, 2, 4))
    place = {"city": "Rotterdam", "file_id": 1, "known_at": LONG_AGO}
    events = [
        ("fair", ordinary - 364 * A_DAY),
        ("sale", promoted),
        ("sale", promoted - 364 * A_DAY),
        ("sale", promoted - 357 * A_DAY),
        ("fair", promoted - 364 * A_DAY),
    ]
    for kind, day in events:
        dates = {"kind": kind, "starts_on": day, "ends_on": day}
        write(sa.insert(schema.events).values(**dates, **place))
    holiday = {"country": "NL", "subdivision": "", "name": "Feast", "day_on": feast}
    write(sa.insert(schema.public_holidays).values(**holiday))
    row = {"depot_id": "RTM-01", "version": 1, "known_at": LONG_AGO}
    counted = [
        row | {"service_on": day - back * A_DAY, "orders": back}
        for day in (ordinary, promoted, feast)
        for back in (371, 364, 357)
    ]
    write(sa.insert(schema.demand_versions).values(counted))
    days = queries.depot_days("RTM-01", queries.freshness()).set_index("day_on")
    before = days["year_before"].loc[[*map(pd.Timestamp, (ordinary, promoted, feast))]]
    np.testing.assert_array_equal(before, [364, 357, 364])


def test_the_model_inputs_have_the_signals_of_the_city_and_its_depots(seeded, write):
    day = seeded.through + A_DAY
    rows = [
        ("LON-02", "", None, False),
        ("", "London", seeded.through, False),
        ("RTM-01", "", None, False),
        ("", "Rotterdam", None, False),
        ("LON-01", "", None, True),
    ]
    for depot_id, city, known_from, withdrawn in rows:
        write(
            sa.insert(schema.signal_versions).values(
                signal="rain", depot_id=depot_id, city=city, day_on=day, value=0.5,
                known_from=known_from or date.min, version=1, withdrawn=withdrawn,
                known_at=sa.func.now(), file_id=1,
            )
        )  # fmt: skip
    tables = queries.panel_tables("LON-01", seeded.through - 8 * A_WEEK, seeded.through)
    panel = build_panel(**tables, through=seeded.through, ahead=7)
    value_d = panel.signals.known_ahead(1)[0, :, panel.step(day)]
    london = ["LON" in depot_id for depot_id in panel.depot_ids]
    assert (~np.isnan(value_d)).tolist() == london
    assert len(tables["signals"]) == 2


@pytest.mark.parametrize("weeks", [3, 5])
def test_a_city_of_young_depots_reads_the_fleet(weeks, seeded, write):
    """The peers are those of `cold_start`: mature depots of the city, else of the fleet."""
    first = seeded.through - weeks * A_WEEK
    write(
        sa.delete(schema.demand_versions).where(
            schema.demand_versions.c.depot_id.like("RTM-%"),
            schema.demand_versions.c.service_on < first,
        )
    )
    tables = queries.panel_tables("RTM-01", seeded.through - 8 * A_WEEK, seeded.through)
    cities = set(tables["depots"]["city"])
    assert (cities == {"Rotterdam"}) == (weeks == 5)


def test_a_late_depot_has_its_last_and_due_days(freshness, seeded):
    poplar = queries.depot_status("LON-03", freshness)
    assert poplar.is_late
    assert (poplar.last_on, poplar.due_on) == (seeded.through - A_DAY, seeded.through)
    assert not queries.depot_status("LON-01", freshness).is_late


def test_overrides_are_beside_the_forecast(freshness, seeded, write):
    row = {"depot_id": "LON-01", "target_on": seeded.through + A_DAY, "point": 1.0}
    row |= {"origin_on": seeded.through, "model_version": CHAMPION, "made_by": "Anna"}
    for orders in (900.0, 950.0):
        values = {**row, "orders": orders, "reason": "A strike"}
        write(sa.insert(schema.overrides).values(**values))
    days = queries.depot_days("LON-01", queries.freshness()).dropna(subset=["made_by"])
    assert days[["point", "made_by"]].to_numpy().tolist() == [[950.0, "Anna"]]
    [row] = days.to_dict("records")
    assert row["p10"] / row["point"] == pytest.approx(0.9), "the band moves with it"


def test_a_planners_number_of_a_day_past_is_kept_unless_it_was_taken_back(
    freshness, seeded, write
):
    kept, undone = seeded.through - A_DAY, seeded.through - 2 * A_DAY
    row = {"depot_id": "LON-01", "point": 1.0, "made_by": "Anna", "reason": "A fair"}
    row |= {"origin_on": seeded.through - 3 * A_DAY, "model_version": CHAMPION}
    for day, orders in ((kept, 900.0), (undone, 800.0), (undone, None)):
        write(sa.insert(schema.overrides).values(**row, target_on=day, orders=orders))
    days = queries.depot_days("LON-01", queries.freshness())
    [found] = days[days["is_set"]].to_dict("records")
    assert (found["day_on"].date(), found["planner_orders"]) == (kept, 900)
    assert (found["made_by"], found["override_reason"]) == ("Anna", "A fair")
    assert np.isnan(found["point"]), "it is no day ahead"


def test_past_forecasts_are_the_last_of_each_day(freshness, seeded):
    past = queries.past_forecasts("LON-01", freshness)
    live = seeded.scores.query("depot_id == 'LON-01' and is_live")
    last = live.sort_values("origin_on").groupby("target_on").last()
    assert as_dates(past["target_on"]) == last.index.tolist()
    np.testing.assert_allclose(past["point"], last["point"])
    assert past["is_live"].all()


def test_days_that_erred_the_same_way_are_those_of_forecasts_made_a_day_ahead(
    freshness, seeded, write
):
    """Also where a night failed: a day whose last forecast is older is not among them."""
    missing = seeded.through - 3 * A_DAY
    of_night = schema.scores.c.origin_on == missing - A_DAY
    write(sa.delete(schema.scores).where(of_night, schema.scores.c.is_live))
    freshness = queries.freshness()
    past = queries.past_forecasts("LON-01", freshness)
    assert pd.Timestamp(missing) in past["target_on"].tolist()
    live = seeded.scores.query("depot_id == 'LON-01' and is_live")
    made_before = live[live["target_on"] - live["origin_on"] == A_DAY]
    is_high = (made_before["point"] > made_before["actual"]).set_axis(
        made_before["target_on"]
    )
    for row in past.to_dict("records"):
        days = [row["target_on"].date() - n * A_DAY for n in range(1, 8)]
        known = is_high.reindex([day for day in days if day != missing]).dropna()
        own = row["point"] > row["actual"]
        assert row["same_side"] == (known == own).sum()


def test_a_depot_without_live_scores_shows_its_hindcasts(seeded, write):
    scores = schema.scores
    write(sa.delete(scores).where(scores.c.is_live, scores.c.depot_id == "LON-01"))
    freshness = queries.freshness()
    past = queries.past_forecasts("LON-01", freshness)
    own = seeded.scores.query("depot_id == 'LON-01' and not is_live")
    assert as_dates(past["target_on"]) == sorted(own["target_on"].unique())
    assert not past["is_live"].any()
    assert queries.past_forecasts("LON-02", freshness)["is_live"].all()


def test_depots_are_labelled_by_name_city_and_id(freshness):
    depots = queries.depots(freshness)
    assert depots["label"].tolist()[0] == "Greenwich · London · LON-01"
    assert depots["depot_id"].tolist() == [
        "LON-01", "LON-03", "LON-02", "RTM-03", "RTM-02", "RTM-01",
    ]  # fmt: skip


def test_two_depots_of_one_name_are_told_apart_as_on_the_plan(seeded, write):
    write(
        sa.update(schema.depots)
        .where(schema.depots.c.city == "London")
        .values(name="Hub")
    )
    freshness = queries.freshness()
    week = queries.fleet_week(freshness)
    planned = dict(zip(week["depot_id"], week["name"], strict=True))
    listed = queries.depots(freshness).set_index("depot_id")["name"]
    assert {depot_id: listed[depot_id] for depot_id in planned} == planned
