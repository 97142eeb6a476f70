"""Answers of the query module against the seeded rows, reckoned here without SQL."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.queries import depot as depot_queries
from pipelines import schema
from tests.dashboard.seed import CHAMPION, JUDGE, remade, seed

pytestmark = pytest.mark.db

A_DAY = timedelta(days=1)
A_WEEK = timedelta(days=7)


def shown(seeded):
    """The newest forecast."""
    made = seeded.forecasts
    return made[made["origin_on"] == seeded.through]


def as_dates(column):
    return column.dt.date.tolist()


def test_freshness_of_nothing_is_nothing(dashboard):
    fresh = queries.freshness()
    assert (fresh.depots, fresh.last_on, fresh.champion) == (0, None, None)
    assert (fresh.origin_on, fresh.model, fresh.made_at) == (None, None, None)


def test_freshness_names_the_newest_orders_and_forecast(fresh, seeded):
    assert fresh.depots == 6
    assert fresh.last_on == fresh.origin_on == seeded.through
    assert fresh.champion == fresh.model == CHAMPION
    assert fresh.made_at == datetime.combine(
        seeded.through + A_DAY, datetime.min.time().replace(hour=4, minute=31), UTC
    )


def test_the_champions_forecast_is_shown_before_a_newer_one(seeded, write):
    write(sa.insert(schema.forecasts).values(remade(shown(seeded), JUDGE, hours=3)))
    assert queries.freshness().model == CHAMPION


def test_without_the_champions_the_newest_made_is_shown(seeded, write):
    write(sa.insert(schema.forecasts).values(remade(shown(seeded), JUDGE, hours=3)))
    write(sa.update(schema.models).values(role="retired"))
    fresh = queries.freshness()
    assert (fresh.champion, fresh.model) == (None, JUDGE)


@pytest.mark.parametrize("city", ["", "London"])
def test_daily_totals_are_sums_of_depots(fresh, seeded, city):
    here = seeded.depots
    names = set(here.loc[(here["city"] == city) | (city == ""), "depot_id"])
    known = seeded.demand[seeded.demand["depot_id"].isin(names)]
    ahead = shown(seeded)[shown(seeded)["depot_id"].isin(names)]
    totals = queries.daily_totals(city, fresh).set_index("day_on")
    assert len(totals) == 28
    for day, orders in known.groupby("service_on")["orders"].sum().items():
        if day > seeded.through - timedelta(days=21):
            assert totals.loc[pd.Timestamp(day), "actual"] == orders
    for day, orders in ahead.groupby("target_on")["p50"].sum().items():
        np.testing.assert_allclose(totals.loc[pd.Timestamp(day), "p50"], orders)
    assert totals["actual"].isna().sum() == totals["p50"].notna().sum() == 7


def test_a_total_has_the_band_that_was_forecast_for_it(seeded, write):
    bands = {"": (900.0, 1100.0), "London": (500.0, 700.0)}
    day = seeded.through + A_DAY
    for city, (p10, p90) in bands.items():
        row = {"city": city, "origin_on": seeded.through, "target_on": day}
        write(
            sa.insert(schema.forecast_totals).values(
                **row, model_version=CHAMPION, p10=p10, p50=p10, p90=p90
            )
        )
    for city, band in bands.items():
        totals = queries.daily_totals(city, queries.freshness()).set_index("day_on")
        assert tuple(totals.loc[pd.Timestamp(day), ["p10", "p90"]]) == band
        assert totals["p10"].notna().sum() == 1
    assert queries.daily_totals("Rotterdam", queries.freshness())["p10"].isna().all()


def lacking(totals):
    """Days whose total lacks depots, with how many."""
    short = totals[totals["missing"] > 0]
    return dict(zip(as_dates(short["day_on"]), short["missing"], strict=True))


def test_a_total_says_how_many_depots_it_lacks(fresh, seeded):
    """As seeded: one has not reported, one missed a day, one is shut on Sundays."""
    expected = {seeded.through: 1, seeded.through - 10 * A_DAY: 1}
    assert lacking(queries.daily_totals("", fresh)) == expected
    assert lacking(queries.daily_totals("London", fresh)) == {seeded.through: 1}


def test_a_day_of_which_nothing_is_known_is_there_and_is_no_forecast(seeded, write):
    day = seeded.through - 4 * A_DAY
    versions = schema.demand_versions
    write(sa.delete(versions).where(versions.c.service_on == day))
    totals = queries.daily_totals("", queries.freshness())
    assert len(totals) == 28
    silent = totals[totals["day_on"] == pd.Timestamp(day)].iloc[0]
    assert np.isnan(silent["actual"])
    assert np.isnan(silent["p50"])
    kralingen_is_shut = day.isoweekday() == 7
    assert silent["missing"] == (5 if kralingen_is_shut else 6)


def test_a_depot_is_not_missing_before_its_first_count(seeded, write):
    versions = schema.demand_versions
    mine = versions.c.depot_id == "LON-02"
    begins = seeded.through - 5 * A_DAY
    write(sa.delete(versions).where(mine, versions.c.service_on < begins))
    short = lacking(queries.daily_totals("", queries.freshness()))
    assert short == {seeded.through: 1, seeded.through - 10 * A_DAY: 1}


def test_the_days_ahead_are_those_of_the_forecast_however_many(seeded, write):
    made = schema.forecasts
    write(sa.delete(made).where(made.c.target_on > seeded.through + 3 * A_DAY))
    fresh = queries.freshness()
    assert (fresh.horizon, fresh.until) == (3, seeded.through + 3 * A_DAY)
    assert len(queries.daily_totals("", fresh)) == 21 + 3
    assert len(queries.fleet_week(fresh)) == 3 * 6
    assert len(queries.depot_days("LON-01", fresh)) == 56 + 3


def test_the_fleets_week_is_the_newest_forecast_beside_the_week_before(fresh, seeded):
    week = queries.fleet_week(fresh)
    known = seeded.demand.set_index(["depot_id", "service_on"])["orders"]
    assert len(week) == len(shown(seeded)) == 42
    both = week.assign(target_on=week["target_on"].dt.date).merge(
        shown(seeded), on=["depot_id", "target_on"], suffixes=("", "_seeded")
    )
    assert len(both) == 42
    for quantile in ("p10", "p50", "p90"):
        np.testing.assert_allclose(both[quantile], both[f"{quantile}_seeded"])
    for row in both.to_dict("records"):
        expected = known.get((row["depot_id"], row["target_on"] - A_WEEK), np.nan)
        if row["basis"] == "closed":
            expected = np.nan
        np.testing.assert_equal(row["week_before"], expected)


def test_a_day_that_was_closed_a_week_ago_is_not_compared(seeded, write):
    day = seeded.through - 3 * A_DAY
    shut = {"kind": "closed", "starts_on": day, "ends_on": day, "depot_id": "LON-01"}
    write(sa.insert(schema.events).values(**shut, file_id=1))
    week = queries.fleet_week(queries.freshness())
    mine = week[week["depot_id"] == "LON-01"].set_index("target_on")["week_before"]
    assert as_dates(mine.index[mine.isna()].to_series()) == [day + A_WEEK]


def test_change_is_the_week_against_the_same_known_days(fresh, seeded):
    week = queries.fleet_week(fresh)
    for _, rows in week.groupby("depot_id"):
        known = rows[rows["week_before"].notna()]
        expected = known["p50"].sum() / known["week_before"].sum() - 1
        np.testing.assert_allclose(rows["change"], expected)


def test_cities_come_by_name_and_what_needs_attention_first_in_each(fresh):
    week = queries.fleet_week(fresh)
    depots = week.drop_duplicates("depot_id")
    assert depots["city"].tolist() == ["London"] * 3 + ["Rotterdam"] * 3
    assert depots.loc[depots["is_late"], "depot_id"].tolist() == ["LON-03"]
    assert depots["depot_id"].iloc[0] == "LON-03"
    others = depots[~depots["is_late"]]
    for _, rows in others.groupby("city"):
        sizes = rows["change"].abs().tolist()
        assert sizes == sorted(sizes, reverse=True)
    for _, rows in week.groupby("depot_id"):
        assert rows["target_on"].is_monotonic_increasing


def test_a_depot_is_not_late_after_its_weekly_closing_day(dashboard, clean_engine):
    sunday = date(2025, 11, 16)
    seed(clean_engine, sunday)
    week = queries.fleet_week(queries.freshness()).set_index("depot_id")
    kralingen = week.loc["RTM-02"].iloc[0]
    assert kralingen["last_on"].date() == sunday - A_DAY
    assert not kralingen["is_late"]


def test_a_depot_is_not_late_on_a_day_it_was_closed_for(seeded, write):
    closed = {"kind": "closed", "starts_on": seeded.through, "ends_on": seeded.through}
    write(sa.insert(schema.events).values(**closed, depot_id="LON-03", file_id=1))
    week = queries.fleet_week(queries.freshness())
    assert not week["is_late"].any()


def test_a_depot_that_was_not_open_for_weeks_is_not_late(seeded, write):
    """One closed for a month, and one that opens in three days."""
    month = {"starts_on": seeded.through - 30 * A_DAY, "ends_on": seeded.through}
    write(
        sa.insert(schema.events).values(
            kind="closed", depot_id="LON-03", file_id=1, **month
        )
    )
    depots, versions = schema.depots, schema.demand_versions
    opens = seeded.through + 3 * A_DAY
    here = depots.c.depot_id == "RTM-03"
    write(sa.update(depots).where(here).values(opened_on=opens))
    write(sa.delete(versions).where(versions.c.depot_id == "RTM-03"))
    week = queries.fleet_week(queries.freshness())
    assert {"LON-03", "RTM-03"} <= set(week["depot_id"])
    assert not week["is_late"].any()


def test_a_depot_that_is_gone_is_not_in_the_week(seeded, write):
    depots = schema.depots
    write(
        sa.update(depots)
        .where(depots.c.depot_id == "LON-02")
        .values(closed_on=seeded.through)
    )
    week = queries.fleet_week(queries.freshness())
    assert "LON-02" not in set(week["depot_id"])


def test_a_depots_days_have_history_forecast_and_notes(fresh, seeded):
    days = queries.depot_days("RTM-03", fresh)
    own = seeded.demand[seeded.demand["depot_id"] == "RTM-03"]
    assert len(days) == 56 + 7
    past = days[days["day_on"].dt.date <= seeded.through]
    assert past["actual"].tolist() == own["orders"].tolist()[-56:]
    ahead = days[days["day_on"].dt.date > seeded.through]
    mine = shown(seeded)[shown(seeded)["depot_id"] == "RTM-03"]
    np.testing.assert_allclose(ahead["p50"], mine["p50"])
    assert ahead["events"].tolist() == [[], ["closed"], [], [], [], [], []]
    assert ahead["is_closed"].tolist() == [False, True, *[False] * 5]
    assert ahead["basis"].tolist() == mine["basis"].tolist()


def test_an_unknown_day_is_missing_and_a_weekly_closing_day_says_so(fresh, seeded):
    days = queries.depot_days("RTM-01", fresh).set_index("day_on")
    assert np.isnan(days.loc[pd.Timestamp(seeded.through - 10 * A_DAY), "actual"])
    shut = queries.depot_days("RTM-02", fresh)
    assert (shut["is_closed"] == (shut["day_on"].dt.day_of_week == 6)).all()


def test_a_depot_has_its_history_before_any_forecast(seeded, write):
    write(sa.delete(schema.scores))
    write(sa.delete(schema.forecasts))
    days = queries.depot_days("LON-01", queries.freshness())
    assert len(days) == 56
    assert days["actual"].notna().all()
    assert days["p50"].isna().all()


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


def test_a_late_depot_says_since_when(fresh, seeded):
    poplar = queries.news("LON-03", fresh).late
    assert poplar.is_late
    assert (poplar.last_on, poplar.due_on) == (seeded.through - A_DAY, seeded.through)
    assert not queries.news("LON-01", fresh).late.is_late


def test_the_forecast_before_is_that_of_the_origin_before(fresh, seeded):
    before = queries.news("LON-01", fresh).before
    assert before is not None
    assert (before.origin_on, before.model) == (seeded.through - A_DAY, CHAMPION)
    assert (before.corrected, before.events) == (0, ())
    days = queries.depot_days("LON-01", fresh)
    made = seeded.forecasts.query("depot_id == 'LON-01'")
    then = made[made["origin_on"] == seeded.through - A_DAY].sort_values("target_on")
    known = days.dropna(subset=["p50_before"])
    assert as_dates(known["day_on"]) == then["target_on"].tolist()
    np.testing.assert_allclose(known["p50_before"], then["p50"])


def test_what_came_since_the_forecast_before_is_counted(seeded, write):
    """A correction and an event of the depot's city, and neither of another's."""
    loaded = sa.insert(schema.files).values(
        path="late.csv", sha256="l", reading="l", kind="events", size_bytes=1,
        accepted=1, unchanged=0, rejected=0, ignored_columns=[],
    )  # fmt: skip
    write(loaded)
    day = seeded.through + A_DAY
    event = {"kind": "game", "starts_on": day, "ends_on": day, "file_id": 1}
    write(sa.insert(schema.events).values(**event, city="London"))
    for depot in ("LON-01", "RTM-01"):
        write(
            sa.insert(schema.demand_versions).values(
                depot_id=depot, service_on=seeded.through - 3 * A_DAY, version=2,
                orders=7, known_at=sa.func.now(), superseded_at=sa.func.now(),
            )
        )  # fmt: skip
    # The seeded events name the same file, which is new.
    write(sa.delete(schema.events).where(schema.events.c.kind != "game"))
    before = queries.news("LON-01", queries.freshness()).before
    assert before is not None
    assert (before.corrected, before.events) == (1, ("game",))
    elsewhere = queries.news("RTM-02", queries.freshness()).before
    assert elsewhere is not None
    assert (elsewhere.corrected, elsewhere.events) == (0, ())


def test_nothing_was_forecast_before_the_first_forecast(
    dashboard, clean_engine, yesterday
):
    seed(clean_engine, yesterday, live=False, hindcasts=False)
    fresh = queries.freshness()
    assert queries.news("LON-01", fresh).before is None
    assert queries.depot_days("LON-01", fresh)["p50_before"].isna().all()


def test_a_depot_that_gets_the_plain_forecast_says_so(seeded, write):
    gate(write, seeded, "LON-01")
    fresh = queries.freshness()
    assert queries.news("LON-01", fresh).is_gated
    assert not queries.news("LON-02", fresh).is_gated
    scored = queries.depot_accuracy(True, fresh)
    assert scored.loc[scored["is_gated"], "depot_id"].tolist() == ["LON-01"]


def gate(write, seeded, depot):
    """As the night does it: the run that forecast says which depots are gated."""
    counts = {"gated": 1, "gated_depots": [depot]}
    write(sa.insert(schema.runs).values(step="forecast", state="done", counts=counts))
    newest = schema.forecasts.c.origin_on == seeded.through
    write(sa.update(schema.forecasts).where(newest).values(run_id=1))


def test_a_late_feed_and_alarms_are_those_of_the_night_that_forecast(seeded, write):
    counts = {"late_depots": 1, "late_cities": {"London": 1}}
    write(sa.insert(schema.runs).values(step="forecast", state="done", counts=counts))
    newest = schema.forecasts.c.origin_on == seeded.through
    write(sa.update(schema.forecasts).where(newest).values(run_id=1))
    for alarms in (["Old."], ["Worse than the naive."]):
        write(
            sa.insert(schema.runs).values(
                step="watch", state="done", counts={"alarms": alarms}
            )
        )
    fresh = queries.freshness()
    assert fresh.late_cities == (("London", 1),)
    assert fresh.alarms == ("Worse than the naive.",)


def test_what_planners_set_stands_beside_the_forecast(fresh, seeded, write):
    row = {"depot_id": "LON-01", "target_on": seeded.through + A_DAY, "p50": 1.0}
    row |= {"origin_on": seeded.through, "model_version": CHAMPION, "made_by": "Anna"}
    for action, orders in (("set", 900.0), ("lock", 950.0)):
        write(
            sa.insert(schema.overrides).values(
                **row, action=action, orders=orders, reason="A strike"
            )
        )
    days = queries.depot_days("LON-01", queries.freshness()).dropna(subset=["planned"])
    assert days[["planned", "made_by"]].to_numpy().tolist() == [[950.0, "Anna"]]


def test_past_forecasts_are_the_last_said_of_each_day(fresh, seeded):
    past = queries.past_forecasts("LON-01", fresh)
    live = seeded.scores.query("depot_id == 'LON-01' and is_live")
    last = live.sort_values("origin_on").groupby("target_on").last()
    assert as_dates(past["target_on"]) == last.index.tolist()
    np.testing.assert_allclose(past["p50"], last["p50"])
    assert past["is_live"].all()


def test_a_depot_without_live_scores_shows_its_hindcasts(seeded, write):
    scores = schema.scores
    write(sa.delete(scores).where(scores.c.is_live, scores.c.depot_id == "LON-01"))
    fresh = queries.freshness()
    past = queries.past_forecasts("LON-01", fresh)
    assert len(past) == depot_queries.PAST_DAYS
    assert not past["is_live"].any()
    assert queries.past_forecasts("LON-02", fresh)["is_live"].all()


def test_events_ahead_are_the_depots_the_citys_and_the_countrys(fresh, seeded):
    day = seeded.through
    london = queries.events_ahead("LON-01", fresh)
    assert london[["what", "scope"]].to_numpy().tolist() == [
        ["promotion", "all of London"]
    ]
    assert as_dates(london["ends_on"]) == [day + 5 * A_DAY]
    delfshaven = queries.events_ahead("RTM-03", fresh)
    assert delfshaven[["what", "scope"]].to_numpy().tolist() == [
        ["closed", "this depot"],
        ["Harbour Day 0", "public holiday"],
    ]


def test_depots_are_labelled_by_name_city_and_id(fresh):
    depots = queries.depots(fresh)
    assert depots["label"].tolist()[0] == "Greenwich · London · LON-01"
    assert depots["depot_id"].tolist() == [
        "LON-01", "LON-03", "LON-02", "RTM-03", "RTM-02", "RTM-01",
    ]  # fmt: skip


def test_a_night_changes_the_key_and_so_the_answer(seeded, write, clean_engine):
    before = queries.freshness()
    first = queries.fleet_week(before)
    with clean_engine.begin() as connection:
        connection.execute(sa.update(schema.forecasts).values(p50=0, p10=0, p90=0))
        connection.execute(
            sa.insert(schema.runs).values(
                step="forecast", state="done", finished_at=sa.func.now()
            )
        )
    assert queries.fleet_week(before).equals(first), "an answer under a key is kept"
    queries.freshness.clear()  # two seconds later
    after = queries.freshness()
    assert after != before
    assert queries.fleet_week(after)["p50"].sum() == 0
