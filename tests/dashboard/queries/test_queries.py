"""Results of the query module against the seeded rows, computed here without SQL."""

from datetime import UTC, datetime, time, timedelta

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from pipelines import schema
from pipelines.demand import feed_freshness
from pipelines.store.forecasts import read_totals
from tests.dashboard.seed import CHAMPION, JUDGE, LONG_AGO, remade

pytestmark = pytest.mark.db

A_DAY = timedelta(days=1)
A_WEEK = timedelta(days=7)


def published_forecasts(seeded):
    """Rows of the newest forecast."""
    made = seeded.forecasts
    return made[made["origin_on"] == seeded.through]


def as_dates(column):
    return column.dt.date.tolist()


def test_freshness_of_an_empty_database_is_empty(dashboard):
    freshness = queries.freshness()
    assert (freshness.depots, freshness.last_on, freshness.champion) == (0, None, None)
    assert freshness.zones == ()
    assert (freshness.origin_on, freshness.model, freshness.made_at) == (
        None,
        None,
        None,
    )


def test_freshness_has_the_newest_orders_and_forecast(freshness, seeded):
    assert freshness.depots == 6
    assert dict(freshness.zones).keys() == {"Etc/GMT", "Etc/UTC"}
    assert freshness.last_on == freshness.origin_on == seeded.through
    assert freshness.champion == freshness.model == CHAMPION
    assert freshness.made_at == datetime.combine(
        seeded.through + A_DAY, datetime.min.time().replace(hour=4, minute=31), UTC
    )


def test_the_forecast_time_is_the_end_of_its_run(seeded, write):
    began = datetime.combine(seeded.through + A_DAY, time(4, 31), UTC)
    written = began + timedelta(minutes=9)
    run = {"step": "forecast", "state": "done", "finished_at": written}
    write(sa.insert(schema.runs).values(run))
    newest = sa.select(sa.func.max(schema.runs.c.run_id)).scalar_subquery()
    write(sa.update(schema.publications).values(run_id=newest))
    assert queries.freshness().made_at == written


@pytest.mark.parametrize("change", ["start", "end"])
def test_pages_read_anew_what_a_run_changes_after_a_clock_that_was_ahead(
    seeded, write, change
):
    ahead = datetime.now(UTC) + timedelta(days=40)
    run = {"step": "ingest", "state": "running"}
    write(sa.insert(schema.runs).values(run | {"started_at": ahead}))
    before = queries.freshness()
    if change == "start":
        now = datetime.now(UTC)
        write(sa.insert(schema.runs).values(run | {"started_at": now}))
    else:
        write(sa.update(schema.runs).values(finished_at=datetime.now(UTC)))
    queries.freshness.clear()
    assert queries.freshness() != before


def as_hindcasts(forecasts, model):
    """The same forecasts as hindcasts of another model, made days later."""
    later = remade(forecasts.assign(is_live=False), model, hours=90)
    return [row | {"point": row["p50"], "run_id": None} for row in later]


def test_a_hindcast_is_not_shown_instead_of_a_live_forecast(seeded, write):
    """Neither as the newest forecast, with or without a champion, nor as the previous one."""
    before = queries.fleet_week(queries.freshness())
    made = seeded.forecasts
    origins = made["origin_on"] >= seeded.through - A_DAY
    write(sa.insert(schema.forecasts).values(as_hindcasts(made[origins], JUDGE)))
    write(sa.update(schema.models).values(role="retired"))
    freshness = queries.freshness()
    assert (freshness.champion, freshness.model) == (None, CHAMPION)
    pd.testing.assert_frame_equal(queries.fleet_week(freshness), before)


@pytest.mark.parametrize("city", ["", "London"])
def test_daily_totals_are_sums_of_depots_while_no_total_is_forecast(
    freshness, seeded, city
):
    here = seeded.depots
    names = set(here.loc[(here["city"] == city) | (city == ""), "depot_id"])
    observed = seeded.demand[seeded.demand["depot_id"].isin(names)]
    ahead = published_forecasts(seeded)[
        published_forecasts(seeded)["depot_id"].isin(names)
    ]
    totals = queries.daily_totals(city, freshness).set_index("day_on")
    assert len(totals) == 28
    for day, orders in observed.groupby("service_on")["orders"].sum().items():
        if day > seeded.through - timedelta(days=21):
            assert totals.loc[pd.Timestamp(day), "actual"] == orders
    for day, orders in ahead.groupby("target_on")["p50"].sum().items():
        np.testing.assert_allclose(totals.loc[pd.Timestamp(day), "point"], orders)
    assert totals["actual"].isna().sum() == totals["point"].notna().sum() == 7


@pytest.mark.parametrize("city", ["", "London"])
def test_the_command_prints_the_totals_of_the_page(
    freshness, seeded, write, engine, city
):
    row = {"origin_on": seeded.through, "model_version": CHAMPION}
    made = published_forecasts(seeded)
    for ahead in range(1, 8):
        day = seeded.through + ahead * A_DAY
        band = {"target_on": day, "p10": 1.0, "p50": 2500.0, "p90": 9000.0}
        is_open = (made["target_on"] == day) & (made["basis"] != "closed")
        for name, n_depots in (("", int(is_open.sum())), ("London", 3)):
            total = {"city": name, "depots": n_depots, **row, **band}
            write(sa.insert(schema.forecast_totals).values(total))
    page = queries.daily_totals(city, freshness).dropna(subset=["point"])
    with engine.connect() as connection:
        totals = read_totals(connection, seeded.through, CHAMPION)
    assert [each["city"] for each in totals[::7]] == ["", "London", "Rotterdam"]
    command = [each for each in totals if each["city"] == city]
    printed = [each["point"] for each in command]
    np.testing.assert_allclose(printed, page["point"])
    assert [(each["p10"], each["p90"]) for each in command] == [(1.0, 9000.0)] * 7
    assert page[["p10", "p90"]].to_numpy().tolist() == [[1.0, 9000.0]] * 7


def lacking(totals):
    """Number of missing depots by day, for the days with any."""
    short = totals[totals["missing"] > 0]
    return dict(zip(as_dates(short["day_on"]), short["missing"], strict=True))


def test_a_total_has_the_number_of_missing_depots(freshness, seeded):
    """As seeded: one has not reported, one missed a day, one is shut on Sundays."""
    expected = {seeded.through: 1, seeded.through - 10 * A_DAY: 1}
    assert lacking(queries.daily_totals("", freshness)) == expected
    assert lacking(queries.daily_totals("London", freshness)) == {seeded.through: 1}


def test_a_depot_is_not_missing_before_its_first_count(seeded, write):
    versions = schema.demand_versions
    mine = versions.c.depot_id == "LON-02"
    begins = seeded.through - 5 * A_DAY
    write(sa.delete(versions).where(mine, versions.c.service_on < begins))
    short = lacking(queries.daily_totals("", queries.freshness()))
    assert short == {seeded.through: 1, seeded.through - 10 * A_DAY: 1}


def test_the_days_ahead_follow_the_forecasts_horizon(seeded, write):
    made = schema.forecasts
    write(sa.delete(made).where(made.c.target_on > seeded.through + 3 * A_DAY))
    freshness = queries.freshness()
    assert freshness.until == seeded.through + 3 * A_DAY
    assert len(queries.daily_totals("", freshness)) == 21 + 3
    assert len(queries.fleet_week(freshness)) == 3 * 6
    assert len(queries.depot_days("LON-01", freshness)) == 396 + 3


def test_the_week_ahead_has_the_orders_of_the_week_before(freshness, seeded):
    week = queries.fleet_week(freshness)
    observed = seeded.demand.set_index(["depot_id", "service_on"])["orders"]
    assert len(week) == len(published_forecasts(seeded)) == 42
    both = week.assign(target_on=week["target_on"].dt.date).merge(
        published_forecasts(seeded),
        on=["depot_id", "target_on"],
        suffixes=("", "_seeded"),
    )
    assert len(both) == 42
    for name in ("p10", "p50", "p90", "point"):
        np.testing.assert_allclose(both[name], both[f"{name}_seeded"])
    for row in both.to_dict("records"):
        # A depot that is closed on a weekday was so a week ago.
        unknown = 0 if row["basis"] == "closed" else np.nan
        expected = observed.get((row["depot_id"], row["target_on"] - A_WEEK), unknown)
        np.testing.assert_equal(row["week_before"], expected)


def test_the_week_ahead_has_the_orders_of_52_weeks_before(seeded, write):
    [day, *_] = sorted(published_forecasts(seeded)["target_on"])
    one = {
        "depot_id": "LON-01",
        "service_on": day - 52 * A_WEEK,
        "orders": 77,
        "version": 1,
        "known_at": LONG_AGO,
    }
    write(sa.insert(schema.demand_versions).values(**one))
    week = queries.fleet_week(queries.freshness())
    [known] = week.dropna(subset=["year_before"]).to_dict("records")
    assert (known["depot_id"], known["target_on"].date()) == ("LON-01", day)
    assert known["year_before"] == 77


@pytest.mark.parametrize(("has_begun", "expected"), [(True, 0), (False, np.nan)])
def test_a_day_closed_a_week_ago_counts_as_0_once_the_depot_has_begun(
    seeded, write, has_begun, expected
):
    day = seeded.through - 3 * A_DAY
    shut = {"kind": "closed", "starts_on": day, "ends_on": day, "depot_id": "LON-01"}
    counts = schema.demand_versions.c
    is_gone = counts.service_on == day if has_begun else counts.service_on <= day
    write(sa.insert(schema.events).values(**shut, file_id=1))
    write(sa.delete(schema.demand_versions).where(counts.depot_id == "LON-01", is_gone))
    week = queries.fleet_week(queries.freshness())
    mine = week[week["depot_id"] == "LON-01"].set_index("target_on")["week_before"]
    np.testing.assert_equal(mine[pd.Timestamp(day + A_WEEK)], expected)
    assert (mine[pd.Timestamp(day + A_WEEK + A_DAY) :] > 0).all()


def test_change_is_relative_to_the_same_known_days(freshness, seeded):
    week = queries.fleet_week(freshness)
    for _, rows in week.groupby("depot_id"):
        observed = rows[rows["week_before"].notna()]
        expected = observed["point"].sum() / observed["week_before"].sum() - 1
        np.testing.assert_allclose(rows["change"], expected)


def test_the_week_ahead_is_ordered_and_marks_late_depots(freshness):
    week = queries.fleet_week(freshness)
    keys = ["city", "name", "target_on"]
    assert week[keys].equals(week[keys].sort_values(keys))
    assert set(week.loc[week["is_late"], "depot_id"]) == {"LON-03"}


def test_the_week_ahead_has_the_previous_forecast(freshness, seeded):
    """Each common day has both forecasts; of two previous ones of an origin, the later."""
    made = seeded.forecasts
    older = made[made["origin_on"] < seeded.through]
    before_on = older["origin_on"].max()
    before = older[older["origin_on"] == before_on].sort_values("made_at")
    previous = before.set_index(["depot_id", "target_on"])["point"].to_dict()
    week = queries.fleet_week(freshness)
    expected = [
        previous.get((row["depot_id"], row["target_on"].date()), np.nan)
        for row in week.to_dict("records")
    ]
    np.testing.assert_allclose(week["point_before"], expected)
    assert set(as_dates(week["before_on"])) == {before_on}
    for _, own in week.groupby("depot_id"):
        both = own.dropna(subset=["point_before"])
        assert len(both) == 7 - (seeded.through - before_on).days
        revised = both["point"].sum() / both["point_before"].sum() - 1
        moved = abs(both["point"].sum() - both["point_before"].sum()) / len(both)
        np.testing.assert_allclose(own["revised"], revised if moved >= 0.5 else 0)
    assert (week["revised"] != 0).any()


def test_a_hindcast_made_after_the_publication_is_no_previous_forecast(seeded, write):
    made = schema.forecasts.c
    later = sa.update(schema.forecasts).where(
        made.depot_id == "LON-01", made.origin_on < seeded.through
    )
    write(later.values(made_at=sa.func.now()))
    before = queries.fleet_week(queries.freshness()).set_index("depot_id")[
        "point_before"
    ]
    assert before["LON-01"].isna().all()
    assert before["LON-02"].notna().any()


def test_a_revision_below_half_an_order_a_day_is_zero(seeded, write):
    made = schema.forecasts.c
    tiny = {name: made[name] / 1000 for name in ("p10", "p50", "p90", "point")}
    write(sa.update(schema.forecasts).values(tiny))
    week = queries.fleet_week(queries.freshness())
    assert (week["point"] != week["point_before"]).any()
    assert (week["revised"] == 0).all()


def test_the_page_and_the_ledger_agree_on_late_depots(seeded, write, clean_engine):
    """A depot that is silent for weeks is shown as silent; one that has not started is not late."""
    versions = schema.demand_versions.c
    gone = seeded.through - 20 * A_DAY
    write(
        sa.delete(schema.demand_versions).where(
            ((versions.depot_id == "LON-01") & (versions.service_on > gone))
            | (versions.depot_id == "RTM-03")
        )
    )
    week = queries.fleet_week(queries.freshness()).drop_duplicates("depot_id")
    with clean_engine.connect() as connection:
        lateness = feed_freshness.read_lateness(connection, seeded.through)
    late = week[week["is_late"]]
    assert dict(late.groupby("city").size()) == lateness.late_depots == {"London": 1}
    # RTM-03 has no count yet and no opening day: it has not started, and is not expected.
    assert set(week.loc[week["is_silent"], "depot_id"]) == {"LON-01"}
    assert lateness.expected == len(week) - 2


def test_depots_of_one_name_are_shown_with_their_ids(seeded, write):
    here = schema.depots.c.city == "London"
    write(sa.update(schema.depots).where(here).values(name="Addison"))
    freshness = queries.freshness()
    for rows in (
        queries.fleet_week(freshness),
        queries.depot_accuracy(queries.ScoreFilter(True), freshness),
        queries.largest_errors(queries.ScoreFilter(True), freshness),
        queries.calendar(freshness),
    ):
        for row in rows.to_dict("records"):
            of_two = row["city"] == "London"
            assert (row["name"] == f"Addison · {row['depot_id']}") == of_two
        assert {"London", "Rotterdam"} <= set(rows["city"])


def test_a_closed_day_without_orders_is_closed_in_the_calendar(seeded, write):
    """A closed day with a count of 0 is shown as closed, and one with orders as counted."""
    demand = schema.demand_versions
    row = {
        "depot_id": "RTM-02",
        "version": 1,
        "known_at": datetime(2020, 1, 1, tzinfo=UTC),
    }
    days = [seeded.through - n * A_DAY for n in range(14)]
    last, before = [day for day in days if day.isoweekday() == 7]
    for day, orders in ((last, 0), (before, 3)):
        write(sa.insert(demand).values(**row, service_on=day, orders=orders))
    calendar = queries.calendar(queries.freshness()).set_index("depot_id")
    states = list(reversed(calendar.loc["RTM-02", "states"]))
    assert states[days.index(last)] == "closed"
    assert states[days.index(before)] == "counted"


def test_fleet_events_count_the_depots_of_each_city(freshness, seeded):
    events = queries.fleet_events(freshness)
    ahead = events[events["day_on"] > pd.Timestamp(seeded.through)]
    rows = ahead[["what", "is_holiday", "city", "depots"]].drop_duplicates()
    assert rows.to_numpy().tolist() == [["promotion", False, "London", 3]]
    assert as_dates(ahead["day_on"]) == [seeded.through + n * A_DAY for n in (3, 4, 5)]


def test_a_public_holiday_is_of_the_cities_of_its_country(seeded, write):
    day = seeded.through + A_DAY
    write(
        sa.insert(schema.public_holidays).values(
            country="NL", subdivision="", day_on=day, name="Koningsdag"
        )
    )
    events = queries.fleet_events(queries.freshness())
    [row] = events[events["is_holiday"]].to_dict("records")
    assert (row["what"], row["city"], row["depots"]) == ("Koningsdag", "Rotterdam", 3)


def test_the_last_day_is_beside_its_last_live_forecast_worst_depot_first(
    freshness, seeded
):
    rows = queries.last_day(freshness)
    live = seeded.scores[seeded.scores["is_live"]]
    of_day = live[live["target_on"] == seeded.through].sort_values("origin_on")
    last = of_day.groupby("depot_id").last()
    assert set(rows["depot_id"]) >= set(last.index)
    for row in rows.dropna(subset=["point"]).to_dict("records"):
        expected = last.loc[row["depot_id"]]
        for column in ("actual", "p10", "point", "p90"):
            assert row[column] == expected[column]
    off = (rows["point"] - rows["actual"]).abs().dropna()
    assert off.is_monotonic_decreasing
    [late] = rows[rows["depot_id"] == "LON-03"].to_dict("records")
    assert (pd.isna(late["actual"]), late["is_expected"]) == (True, True)


def test_a_closed_depot_is_not_in_the_week_ahead(seeded, write):
    depots = schema.depots
    write(
        sa.update(depots)
        .where(depots.c.depot_id == "LON-02")
        .values(closed_on=seeded.through)
    )
    week = queries.fleet_week(queries.freshness())
    assert "LON-02" not in set(week["depot_id"])


def test_late_cities_and_alarms_are_of_the_run_that_forecast(seeded, write):
    metrics = {"late_depots": 1, "late_cities": {"London": 1}}
    write(sa.insert(schema.runs).values(step="forecast", state="done", metrics=metrics))
    newest = schema.publications.c.origin_on == seeded.through
    write(sa.update(schema.publications).where(newest).values(run_id=1))
    for alarms in (["Old."], ["Worse than the naive."]):
        write(
            sa.insert(schema.runs).values(
                step="accuracy", state="done", metrics={"alarms": alarms}
            )
        )
    freshness = queries.freshness()
    assert freshness.late_cities == (("London", 1),)
    assert freshness.alarms == ("Worse than the naive.",)
