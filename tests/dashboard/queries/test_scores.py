"""The accuracy queries against scores computed by plain loops."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.queries import ScoreFilter
from dashboard.queries import scores as scores_module
from pipelines import schema
from tests.dashboard.seed import (
    CHAMPION,
    DEPOTS,
    JUDGE,
    make_events,
    make_holidays,
    publication,
    records,
    remade,
    seed,
)

pytestmark = pytest.mark.db

A_DAY = timedelta(days=1)


def scores_of(rows, forecast):
    """MAPE, WAPE, bias and number of counted rows, by plain loops."""
    shares, absolute, signed, volume = [], 0.0, 0.0, 0.0
    for actual, forecasted in zip(rows["actual"], rows[forecast], strict=True):
        absolute += abs(forecasted - actual)
        signed += forecasted - actual
        volume += actual
        if actual > 0:
            shares.append(abs(forecasted - actual) / actual)
    return np.mean(shares), absolute / volume, signed / volume, len(shares)


def assert_scores(scores, rows):
    columns = {"forecast": "point", "seasonal naive": "seasonal_naive"}
    columns["median of 4"] = "median4"
    rows = rows.dropna(subset=["seasonal_naive", "median4"])
    assert sorted(scores["forecaster"]) == sorted(columns)
    for row in scores.to_dict("records"):
        expected = scores_of(rows, columns[row["forecaster"]])
        measured = [row[name] for name in ("mape", "wape", "bias", "counted")]
        np.testing.assert_allclose(measured, expected)
    own = scores[scores["forecaster"] == "forecast"].iloc[0]
    inside = rows["actual"].between(rows["p10"], rows["p90"])
    np.testing.assert_allclose(own["coverage"], inside.mean())


@pytest.mark.parametrize("live", [True, False], ids=["live", "hindcast"])
def test_accuracy_agrees_with_plain_loops_for_live_forecasts_and_hindcasts(
    freshness, seeded, live
):
    scores = queries.accuracy(ScoreFilter(live), freshness)
    rows = seeded.scores[seeded.scores["is_live"] == live]
    rows = rows[rows["target_on"] > rows["target_on"].max() - timedelta(days=56)]
    assert_scores(scores[scores["grain"] == "all"], rows)
    for day in (rows["target_on"].min(), rows["target_on"].max()):
        on = scores["day_on"] == pd.Timestamp(day)
        of_day = scores[(scores["grain"] == "day") & on]
        assert_scores(of_day, rows[rows["target_on"] == day])
    cities = seeded.depots.set_index("depot_id")["city"]
    for city in ("London", "Rotterdam"):
        of_city = scores[(scores["grain"] == "city") & (scores["city"] == city)]
        assert_scores(of_city, rows[rows["depot_id"].map(cities) == city])
    horizon = (rows["target_on"] - rows["origin_on"]).map(lambda gap: gap.days)
    assert set(scores.loc[scores["grain"] == "horizon", "horizon"]) == set(horizon)
    for days in set(horizon):
        mine = (scores["grain"] == "horizon") & (scores["horizon"] == days)
        assert_scores(scores[mine], rows[horizon == days])
    model = CHAMPION if live else JUDGE
    of_model = scores[scores["grain"] == "model"]
    assert set(of_model["model_version"]) == {model}
    assert_scores(of_model, rows)


def test_of_two_models_from_one_origin_the_later_forecast_counts(seeded, write):
    origin = seeded.through - 3 * A_DAY
    of_origin = seeded.forecasts[seeded.forecasts["origin_on"] == origin]
    scored = seeded.scores[seeded.scores["origin_on"] == origin]
    write(sa.insert(schema.forecasts).values(remade(of_origin, JUDGE, hours=2)))
    again = scored.assign(model_version=JUDGE, point=1.0, p10=0.0, p90=2.0)
    write(sa.insert(schema.scores).values(records(again)))
    write(publication(origin, JUDGE))
    live = seeded.scores[seeded.scores["is_live"]]
    expected = pd.concat([live[live["origin_on"] != origin], again])
    scores = queries.accuracy(ScoreFilter(True), queries.freshness())
    assert_scores(scores[scores["grain"] == "all"], expected)


def test_a_backfill_of_one_depot_leaves_the_scores_of_its_city(seeded, write):
    """The backfill has another model; the model that forecast the whole city is published."""
    expected = queries.depot_accuracy(ScoreFilter(False), queries.freshness())
    made, scored = (
        rows[~rows["is_live"] & (rows["depot_id"] == "LON-01")]
        for rows in (seeded.forecasts, seeded.scores)
    )
    write(sa.insert(schema.forecasts).values(remade(made, CHAMPION, hours=9)))
    of_other = records(scored.assign(model_version=CHAMPION))
    write(sa.insert(schema.scores).values(of_other))
    by_depot = queries.depot_accuracy(ScoreFilter(False), queries.freshness())
    pd.testing.assert_frame_equal(by_depot, expected)


def test_a_later_backfill_of_fewer_days_ahead_is_published(seeded, write):
    """The backfill covers whole cities; it may have fewer days ahead, but not fewer depots."""
    made, scored = (
        rows[~rows["is_live"] & (rows["target_on"] <= rows["origin_on"] + 3 * A_DAY)]
        for rows in (seeded.forecasts, seeded.scores)
    )
    write(sa.insert(schema.forecasts).values(remade(made, CHAMPION, hours=9)))
    other = scored.assign(model_version=CHAMPION, point=2 * scored["point"])
    write(sa.insert(schema.scores).values(records(other)))
    scores = queries.accuracy(ScoreFilter(False), queries.freshness())
    whole = scores[(scores["grain"] == "all") & (scores["forecaster"] == "forecast")]
    assert whole["bias"].item() > 0.5


def test_a_day_without_a_baseline_is_not_compared(seeded, write):
    """All forecasters are scored on the same days: those with both naive forecasts."""
    scores = schema.scores
    changed = (scores.c.depot_id == "LON-01") & (scores.c.target_on == seeded.through)
    unknown = {"seasonal_naive": None, "median4": None}
    write(sa.update(scores).where(changed).values(**unknown, point=1, p10=0))
    rows = seeded.scores.copy()
    mine = (rows["depot_id"] == "LON-01") & (rows["target_on"] == seeded.through)
    columns = ["seasonal_naive", "median4", "point", "p10"]
    rows.loc[mine, columns] = [np.nan, np.nan, 1.0, 0.0]
    live = rows[rows["is_live"]]
    assert live["seasonal_naive"].isna().sum() == 7
    scores = queries.accuracy(ScoreFilter(True), queries.freshness())
    assert_scores(scores[scores["grain"] == "all"], live)


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("hindcasts", [True, False])
def test_the_newest_scored_day_tells_live_forecasts_and_hindcasts_apart(
    dashboard, clean_engine, yesterday, live, hindcasts
):
    scores = seed(clean_engine, yesterday, live=live, hindcasts=hindcasts).scores
    days = scores.groupby("is_live")["target_on"]
    assert queries.scored_days(queries.freshness()) == {
        is_live: (of.min(), of.max()) for is_live, of in days
    }


CITIES = {depot[0]: depot[2] for depot in DEPOTS}


def within(scores, scope):
    """The rows that a filter lets through, by plain conditions."""
    rows = scores[scores["is_live"] == scope.live]
    rows = rows[rows["target_on"] > rows["target_on"].max() - scope.days_back * A_DAY]
    if scope.city:
        rows = rows[rows["depot_id"].map(CITIES) == scope.city]
    if scope.depot:
        rows = rows[rows["depot_id"] == scope.depot]
    return rows


# A scope of nine days begins within the horizon of older origins.
SCOPES = [
    ScoreFilter(True),
    ScoreFilter(True, days_back=9),
    ScoreFilter(True, city="London"),
    ScoreFilter(True, depot="LON-02"),
    ScoreFilter(False, "Rotterdam", "RTM-03", 28),
    ScoreFilter(False, "Rotterdam", days_back=9),
]


def scope_name(scope):
    return f"{scope.city or 'all'} {scope.depot} {scope.days_back}"


@pytest.mark.parametrize("scope", SCOPES, ids=scope_name)
def test_every_filter_of_accuracy_agrees_with_plain_conditions(
    freshness, seeded, scope
):
    scores = queries.accuracy(scope, freshness)
    rows = within(seeded.scores, scope)
    assert_scores(scores[scores["grain"] == "all"], rows)
    days = scores.loc[scores["grain"] == "day", "day_on"]
    assert set(days.dt.date) == set(rows["target_on"])


@pytest.mark.parametrize(
    "place", [{}, {"city": "London"}, {"depot": "LON-02"}], ids=str
)
@pytest.mark.parametrize("live", [True, False], ids=["live", "hindcast"])
def test_one_day_alone_has_its_own_scores_and_every_depots_error(
    freshness, seeded, live, place
):
    rows = within(seeded.scores, ScoreFilter(live, **place))
    day = sorted(set(rows["target_on"]))[-5]
    scope = ScoreFilter(live, **place, days_back=1, day_on=day)
    of_day = rows[rows["target_on"] == day]
    scores = queries.accuracy(scope, freshness)
    assert_scores(scores[scores["grain"] == "all"], of_day)
    errors = queries.largest_errors(scope, freshness)
    assert set(errors["target_on"].dt.date) == {day}
    assert sorted(errors["depot_id"]) == sorted(of_day["depot_id"].unique())


@pytest.fixture(params=SCOPES, ids=scope_name)
def scope(request):
    return request.param


def test_depots_are_ordered_worst_first(freshness, seeded, scope):
    scores = queries.depot_accuracy(scope, freshness)
    assert_depot_scores(scores, within(seeded.scores, replace(scope, depot="")))


def test_a_day_without_orders_counts_for_wape_bias_and_band_but_not_for_mape(
    seeded, write
):
    scores = schema.scores
    changed = (scores.c.depot_id == "LON-01") & (scores.c.target_on == seeded.through)
    write(sa.update(scores).where(changed).values(actual=0))
    rows = seeded.scores[seeded.scores["is_live"]].copy()
    mine = (rows["depot_id"] == "LON-01") & (rows["target_on"] == seeded.through)
    rows.loc[mine, "actual"] = 0.0
    assert mine.sum() == 7
    scope, freshness = ScoreFilter(live=True, days_back=56), queries.freshness()
    scores = queries.accuracy(scope, freshness)
    assert_scores(scores[scores["grain"] == "all"], rows)
    assert_depot_scores(queries.depot_accuracy(scope, freshness), within(rows, scope))


def assert_depot_scores(scores, rows):
    assert scores["mape"].is_monotonic_decreasing
    live = rows.dropna(subset=["seasonal_naive", "median4"])
    assert len(scores) == live["depot_id"].nunique()
    for row in scores.to_dict("records"):
        mine = live[live["depot_id"] == row["depot_id"]]
        mape, _, bias, counted = scores_of(mine, "point")
        measured = [row[name] for name in ("mape", "bias", "counted")]
        np.testing.assert_allclose(measured, [mape, bias, counted])
        naive, *_ = scores_of(mine, "seasonal_naive")
        np.testing.assert_allclose(row["naive_mape"], naive)
        inside = mine["actual"].between(mine["p10"], mine["p90"])
        np.testing.assert_allclose(row["coverage"], inside.mean())


def test_largest_errors_are_by_orders_with_their_events(freshness, seeded, scope):
    scores = queries.largest_errors(scope, freshness)
    live = within(seeded.scores, scope).sort_values("origin_on")
    last = live.groupby(["depot_id", "target_on"]).last().reset_index()
    last = last.assign(off=(last["point"] - last["actual"]).abs())
    expected = last.sort_values("off", ascending=False)["off"].head(15)
    off = (scores["point"] - scores["actual"]).abs()
    np.testing.assert_allclose(off, expected)
    promoted = {seeded.through + n * A_DAY for n in (-12, -11, -10)}
    for row in scores.to_dict("records"):
        is_on = row["city"] == "London" and row["target_on"].date() in promoted
        assert row["events"] == (["promotion"] if is_on else [])
    day_ahead = seeded.scores[seeded.scores["is_live"] == scope.live]
    day_ahead = day_ahead[day_ahead["target_on"] - day_ahead["origin_on"] == A_DAY]
    for row in scores.to_dict("records"):
        before = day_ahead[day_ahead["depot_id"] == row["depot_id"]]
        days = (row["target_on"].date() - before["target_on"]) / A_DAY
        errors = (before["point"] - before["actual"])[days.between(1, 7)]
        same = np.sign(errors) == np.sign(row["point"] - row["actual"])
        assert row["same_side"] == same.sum()


def test_of_a_single_day_the_errors_of_all_depots_are_told(
    freshness, seeded, monkeypatch
):
    monkeypatch.setattr(scores_module, "MAX_DAYS", 1)
    rows = queries.largest_errors(ScoreFilter(True, days_back=1), freshness)
    assert set(rows["target_on"]) == {pd.Timestamp(seeded.through)}
    last = queries.last_day(freshness).dropna(subset=["point"])
    assert len(last) > 1
    columns = ["depot_id", "actual", "point"]
    assert rows[columns].values.tolist() == last[columns].values.tolist()


def test_a_large_error_has_the_override_that_counted_last(freshness, seeded, write):
    worst, second = queries.largest_errors(ScoreFilter(True), freshness)[
        ["depot_id", "target_on"]
    ].to_numpy()[:2]
    base = {"origin_on": seeded.through, "model_version": CHAMPION, "point": 9.0}
    made = [
        (*worst, 50.0, "A guess", "Anna"),
        (*worst, 60.0, "Bridge closed", "Mara"),
        (*second, 70.0, "A mistake", "Anna"),
        (*second, None, "A mistake", "Anna"),
    ]
    names = ("depot_id", "target_on", "orders", "reason", "made_by")
    for row in made:
        values = base | dict(zip(names, row, strict=True))
        write(sa.insert(schema.overrides).values(**values))
    rows = queries.largest_errors(ScoreFilter(True), freshness)
    columns = ["override_orders", "override_reason", "made_by"]
    assert len(rows) == 15
    assert rows[columns].iloc[0].tolist() == [60.0, "Bridge closed", "Mara"]
    assert rows[columns].iloc[1:].isna().all(axis=None)


def test_overrides_are_compared_with_forecast_and_naive(seeded, write):
    """One day was overridden twice; the other overrides cannot be compared.

    One equals the forecast, one was taken back, one has no actual yet, one is of a closed
    day with orders, and one has no naive forecast.
    """
    day, origin = seeded.through - A_DAY, seeded.through - 2 * A_DAY
    base = {"origin_on": origin, "model_version": CHAMPION, "made_by": "Anna"}
    made = [
        ("LON-01", day, 900.0, 1000.0, "A guess"),
        ("LON-01", day, 1200.0, 1000.0, "A strike"),
        ("LON-02", day, 300.0, 300.0, "Roster"),
        ("RTM-01", day, None, 400.0, "A mistake"),
        ("RTM-03", seeded.through + A_DAY, 10.0, 150.0, "Ahead"),
        ("RTM-02", day, 10.0, 150.0, "Closed after all"),
        ("LON-03", day, 10.0, 150.0, "A new depot"),
    ]
    scores = schema.scores.c
    of = {depot: scores.depot_id == depot for depot in ("RTM-02", "LON-03")}
    write(sa.delete(schema.scores).where(of["RTM-02"], scores.target_on == day))
    write(
        sa.update(schema.scores)
        .where(of["LON-03"])
        .values(seasonal_naive=None, median4=None)
    )
    names = ("depot_id", "target_on", "orders", "point", "reason")
    for row in made:
        values = base | dict(zip(names, row, strict=True))
        write(sa.insert(schema.overrides).values(**values))
    now, everywhere = queries.freshness(), ScoreFilter(True)
    [whole] = queries.override_accuracy(everywhere, now).to_dict("records")
    orders = seeded.demand.set_index(["depot_id", "service_on"])["orders"]
    actual = orders["LON-01", day]
    assert whole["counted"] == 1
    assert whole["override_mape"] == pytest.approx(abs(1200 - actual) / actual)
    assert whole["forecast_mape"] == pytest.approx(abs(1000 - actual) / actual)
    for narrowed in (
        {"city": "Rotterdam"}, {"depot": "LON-02"}, {"days_back": 1},
        {"live": False},
    ):  # fmt: skip
        assert queries.override_accuracy(replace(everywhere, **narrowed), now).empty
    same = replace(everywhere, city="London", depot="LON-01", days_back=2)
    assert len(queries.override_accuracy(same, now)) == 1


def add_totals(seeded, write):
    """Adds totals of every live forecast, with narrow bands."""
    places = seeded.depots.set_index("depot_id")["city"]
    made = seeded.forecasts[seeded.forecasts["is_live"]]
    made = made.assign(
        city=made["depot_id"].map(places), is_open=made["basis"] != "closed"
    )
    keys = ["city", "origin_on", "target_on", "model_version"]
    both = pd.concat([made, made.assign(city="")]).groupby(keys)
    sums = both.agg(p50=("p50", "sum"), depots=("is_open", "sum")).reset_index()
    sums = sums.assign(p10=0.96 * sums["p50"], p90=1.04 * sums["p50"])
    write(sa.insert(schema.forecast_totals).values(records(sums)))


def special_days(seeded):
    """(city, day) of each holiday and event."""
    events = make_events(seeded.through).query("kind != 'closed'")
    days = {
        ("London", row.starts_on + n * A_DAY)
        for row in events.itertuples()
        for n in range((row.ends_on - row.starts_on).days + 1)
    }
    holidays = make_holidays(seeded.through)["day_on"]
    return days | {("Rotterdam", day) for day in holidays}


def kind_of(city_days, special):
    """Kind of day of some cities: special in any city, else beside a special day, else ordinary."""
    if city_days & special:
        return "holidays and events"
    near = {(city, day + n * A_DAY) for city, day in city_days for n in (-1, 1)}
    return "days next to a holiday or event" if near & special else "ordinary days"


@pytest.mark.parametrize("city", ["", "London"])
def test_coverage_by_kind_of_day_agrees_with_plain_loops(seeded, write, city):
    """A total is scored only if every depot in it has an actual; Poplar's last day has none."""
    add_totals(seeded, write)
    place = dict(zip(seeded.depots["depot_id"], seeded.depots["city"], strict=True))
    rows = seeded.scores[seeded.scores["is_live"]]
    rows = rows[rows["target_on"] >= seeded.through - 55 * A_DAY]
    rows = rows[rows["depot_id"].map(place).eq(city) | (city == "")]
    made = seeded.forecasts.query("is_live and basis != 'closed'")
    special, found = special_days(seeded), {}

    def add(level, kind, is_inside):
        found.setdefault((level, kind), []).append(is_inside)

    for row in rows.itertuples():
        kind = kind_of({(place[row.depot_id], row.target_on)}, special)
        add("depots", kind, row.p10 <= row.actual <= row.p90)
    for (origin, target), scored in rows.groupby(["origin_on", "target_on"]):
        of_day = made[(made["origin_on"] == origin) & (made["target_on"] == target)]
        levels = {"cities": scored.groupby(scored["depot_id"].map(place))}
        if not city:
            levels["fleet"] = [("", scored)]
        for level, parts in levels.items():
            for name, part in parts:
                due = of_day[of_day["depot_id"].map(place).eq(name) | (name == "")]
                if len(due) == len(part):
                    middle, actual = due["p50"].sum(), part["actual"].sum()
                    cities = {(place[depot], target) for depot in part["depot_id"]}
                    is_inside = 0.96 * middle <= actual <= 1.04 * middle
                    add(level, kind_of(cities, special), is_inside)
    scope = ScoreFilter(True, city=city)
    measured = queries.band_coverage(scope, queries.freshness())
    table = measured.set_index(["level", "kind"])
    assert set(table.index) == set(found)
    assert len(found) > 5
    for key, each in found.items():
        assert table.loc[key, "counted"] == len(each), key
        assert table.loc[key, "coverage"] == pytest.approx(np.mean(each)), key


def test_of_one_depot_only_its_own_bands_are_told(seeded, write):
    add_totals(seeded, write)
    scope = ScoreFilter(True, depot="LON-01")
    assert set(queries.band_coverage(scope, queries.freshness())["level"]) == {"depots"}
