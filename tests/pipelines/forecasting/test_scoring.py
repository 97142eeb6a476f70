"""Scored days: those that are known, and were open by all that is known now."""

import random
import statistics
from datetime import date, timedelta
from unittest.mock import Mock

import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.demand.panels import PanelsAsKnown
from pipelines.forecasting import scoring
from pipelines.ingest.load import FileOptions, ingest
from pipelines.schema import (
    daily_counts,
    depots,
    events,
    forecasts,
    scores,
    scores_due,
)
from pipelines.settings import Settings
from pipelines.store import accuracy
from pipelines.store import events as event_store
from pipelines.store import forecasts as store
from pipelines.store.scores_due import (
    ScoresDue,
    mark_everything,
    mark_origin,
)
from tests.pipelines.make import (
    DAYS,
    LAST,
    NOW,
    START,
    UTC_ZONE,
    add_event,
    add_fleet,
    correct_count,
    forecast_table,
    publish,
    query,
    record_model,
    score_known_days,
)

ORIGIN = LAST - timedelta(days=7)
AHEAD = [ORIGIN + timedelta(days=step) for step in range(1, 8)]
FOREVER = date(9999, 12, 31)


@pytest.fixture
def fleet(clean_engine):
    """Two depots, and a week of forecasts whose days are known."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=2, n_days=DAYS)
        record_model(connection, "v", role="champion", trained_through=ORIGIN)
    forecast_again(clean_engine, 3.0)
    counting.rebuild(clean_engine, NOW)
    return clean_engine


def scored(engine):
    score_known_days(engine)
    assert score_known_days(engine) == 0
    with engine.connect() as connection:
        found = connection.execute(sa.select(scores.c.depot_id, scores.c.target_on))
        return {tuple(row) for row in found}


EVERY = {(depot, day) for depot in ("A0", "A1") for day in AHEAD}


@pytest.mark.parametrize(
    ("closing", "closed"),
    [
        pytest.param(
            {"closed_weekdays": [AHEAD[2].isoweekday()]},
            {("A0", AHEAD[2])},
            id="weekday",
        ),
        pytest.param(
            {"closed_on": AHEAD[4]}, {("A0", day) for day in AHEAD[4:]}, id="gone"
        ),
        pytest.param(
            {"opened_on": AHEAD[2]}, {("A0", day) for day in AHEAD[:2]}, id="not yet"
        ),
        pytest.param(
            {"event": ("A0", None, AHEAD[1], AHEAD[2])},
            {("A0", AHEAD[1]), ("A0", AHEAD[2])},
            id="an event of the depot",
        ),
        pytest.param(
            {"event": (None, "Delft", AHEAD[1], AHEAD[1])},
            {("A0", AHEAD[1]), ("A1", AHEAD[1])},
            id="an event of its city",
        ),
        pytest.param({"event": (None, "Ghent", START, LAST)}, set(), id="elsewhere"),
        pytest.param(
            {"event": (None, None, START, FOREVER)}, EVERY, id="everywhere, for ever"
        ),
    ],
)
def test_a_closure_told_after_the_forecast_takes_its_scores_away(
    fleet, closing, closed
):
    assert scored(fleet) == EVERY
    columns = dict(closing)
    with fleet.begin() as connection:
        if event := columns.pop("event", None):
            depot, city, *days = event
            add_event(connection, "closed", *days, depot_id=depot, city=city)
        else:
            first_depot = sa.update(depots).where(depots.c.depot_id == "A0")
            connection.execute(first_depot.values(columns))
        mark_everything(connection)
    assert scored(fleet) == EVERY - closed
    # And back, when it is taken back.
    with fleet.begin() as connection:
        connection.execute(sa.delete(events))
        open_again = {"closed_weekdays": [], "closed_on": None, "opened_on": None}
        connection.execute(sa.update(depots).values(open_again))
        mark_everything(connection)
    assert scored(fleet) == EVERY


@pytest.mark.parametrize(
    ("withdrawn", "left"),
    [
        pytest.param(daily_counts.c.service_on >= ORIGIN, set(), id="the last days"),
        pytest.param(daily_counts.c.service_on < LAST, {LAST}, id="all but the last"),
    ],
)
def test_scores_around_whose_origin_the_counts_were_withdrawn_go(
    fleet, withdrawn, left
):
    assert scored(fleet) == EVERY
    query(fleet, sa.delete(daily_counts).where(withdrawn))
    counting.rebuild(fleet, NOW + timedelta(hours=1))
    day = counting.default_origin(fleet)
    panels = PanelsAsKnown.through_newest(fleet, day, UTC_ZONE)
    scoring.score_known_days(fleet, lambda: panels)
    with fleet.connect() as connection:
        assert set(connection.scalars(sa.select(scores.c.target_on))) == left


def test_a_forecast_of_a_closed_day_that_was_open_is_a_miss(fleet):
    of_a_day = sa.update(forecasts).where(forecasts.c.target_on == AHEAD[0])
    query(fleet, of_a_day.values(basis="closed", p10=0, p50=0, p90=0, point=0))
    assert scored(fleet) == EVERY


@pytest.mark.parametrize(
    "made_again",
    [
        pytest.param({"p90": 999.0}, id="another band"),
        pytest.param({"p10": 0.0}, id="another low end"),
        pytest.param({"point": 1.2}, id="another point"),
        pytest.param({"is_live": False}, id="a hindcast"),
    ],
)
def test_a_forecast_made_again_with_the_same_median_is_scored_again(fleet, made_again):
    scored(fleet)
    with fleet.begin() as connection:
        connection.execute(sa.update(forecasts).values(made_again))
        mark_origin(connection, ORIGIN)
    assert scored(fleet) == EVERY
    before = {"p10": 1.0, "p50": 2.0, "p90": 3.0, "point": 1.5, "is_live": True}
    with fleet.connect() as connection:
        columns = sa.select(*(scores.c[name] for name in before))
        found = connection.execute(columns).mappings()
        assert all(row == before | made_again for row in found)


def scored_rows(engine):
    with engine.connect() as connection:
        found = connection.execute(sa.select(scores)).mappings()
        return {(row["depot_id"], row["target_on"]): dict(row) for row in found}


def test_scores_that_are_right_stay_as_they_were_written(fleet):
    """A corrected count is scored again, with its naive forecasts; nothing else is touched."""
    score_known_days(fleet)
    before = scored_rows(fleet)
    with fleet.begin() as connection:
        correct_count(connection, "A0", AHEAD[2], daily_counts.c.orders + 5)
    counting.rebuild(fleet, NOW + timedelta(days=1))
    assert score_known_days(fleet) == 1
    after = scored_rows(fleet)
    changed = {key for key in EVERY if after[key] != before[key]}
    assert changed == {("A0", AHEAD[2])}
    again, first = after["A0", AHEAD[2]], before["A0", AHEAD[2]]
    assert again["actual"] == first["actual"] + 5
    assert again["seasonal_naive"] == first["seasonal_naive"]
    # A count that turns out not to be known takes its score away.
    with fleet.begin() as connection:
        correct_count(connection, "A0", AHEAD[2], None)
    assert counting.rebuild(fleet, NOW + timedelta(days=2)).corrected == 1
    score_known_days(fleet)
    assert scored_rows(fleet).keys() == EVERY - {("A0", AHEAD[2])}


def test_actuals_and_naive_forecasts_are_those_of_a_loop_over_the_days(fleet):
    counts = {
        (row.depot_id, row.service_on): row.orders
        for row in query(fleet, sa.select(daily_counts))
    }
    score_known_days(fleet)
    rows = scored_rows(fleet)
    assert len(rows) == len(EVERY)
    for (depot, day), row in rows.items():
        earlier = (counts.get((depot, day - timedelta(7 * ago))) for ago in range(1, 5))
        weeks = [orders for orders in earlier if orders is not None]
        assert row["actual"] == counts[depot, day]
        assert row["seasonal_naive"] == weeks[0]
        assert row["median4"] == statistics.median(weeks)


def due(engine):
    with engine.connect() as connection:
        rows = connection.execute(
            sa.select(scores_due.c.origin_on, scores_due.c.target_on)
        )
        return {tuple(row) for row in rows}


def load(engine, folder, name, *lines):
    """Loads a file as a person would."""
    file = folder / name
    file.write_text("\n".join(lines) + "\n")
    ingest(engine, [str(file)], FileOptions(), Settings())


def forecast_again(engine, p90, *, live=True, model="v"):
    """Writes the forecasts of the origin once more."""
    rows = [
        (depot, ORIGIN, day, model, "", 1.0, 2.0, p90, 1.5, "model", live, NOW, None)
        for depot in ("A0", "A1")
        for day in AHEAD
    ]
    with engine.begin() as connection:
        store.replace_forecasts(
            connection, ORIGIN, model, forecast_table(rows), live=live, run_id=0
        )


def test_scores_of_a_day_go_with_its_counts_before_the_next_night_scores(fleet):
    assert scored(fleet) == EVERY
    of_day = daily_counts.c.service_on == AHEAD[3]
    query(fleet, sa.delete(daily_counts).where(of_day))
    counting.rebuild(fleet, NOW)
    period = accuracy.Period(100)
    with fleet.connect() as connection:
        publish(
            connection, {"origin_on": ORIGIN, "model_version": "v", "is_live": True}
        )
        by_day = accuracy.by_segments(connection, ("day",), period)
        by_depot = accuracy.by_segments(connection, ("depot",), period)
    left = [day for day in AHEAD if day != AHEAD[3]]
    assert [row.segment[0] for row in by_day] == left
    assert [row.n for row in by_depot] == [len(left)] * 2
    assert due(fleet) >= {(None, AHEAD[3])}


def withdraw_event(engine, event_id):
    with engine.begin() as connection:
        newest = event_store.newest_locked(connection, event_id)
        event_store.withdraw(connection, newest, "it rains", NOW)


def test_only_what_changed_is_due(fleet, tmp_path):
    """A count of one day marks that day, new forecasts their origin, a closure its days."""
    score_known_days(fleet)
    assert due(fleet) == set()
    load(fleet, tmp_path, "d.csv", "depot_id,date,orders", f"A0,{AHEAD[2]},1")
    counting.rebuild(fleet, NOW + timedelta(days=1))
    expected = {(None, AHEAD[2])}
    assert due(fleet) == expected
    forecast_again(fleet, 9.0)
    expected |= {(ORIGIN, None)}
    assert due(fleet) == expected
    columns = "event_id,kind,depot_id,starts_on,ends_on"
    closure = f"e,closed,A0,{AHEAD[5]},{AHEAD[6] + timedelta(days=300)}"
    load(fleet, tmp_path, "e.csv", columns, closure, f"g,game,A0,{AHEAD[0]},{AHEAD[1]}")
    expected |= {(None, AHEAD[5]), (None, AHEAD[6])}
    assert due(fleet) == expected
    depot = "A0,{},Delft,UTC,NL,,{}"
    columns = "depot_id,name,city,timezone,country,subdivision,closed_weekdays"
    load(fleet, tmp_path, "a.csv", columns, depot.format("renamed", ""))
    assert due(fleet) == expected
    load(fleet, tmp_path, "b.csv", columns, depot.format("renamed", "sun"))
    assert due(fleet) == expected | {(None, None)}


def test_an_interrupted_scoring_is_begun_again(fleet, monkeypatch):
    marked = due(fleet)
    stopped = Mock(side_effect=KeyboardInterrupt)
    with monkeypatch.context() as patched:
        patched.setattr("pipelines.store.forecasts.score_origin", stopped)
        with pytest.raises(KeyboardInterrupt):
            score_known_days(fleet)
    assert due(fleet) == marked
    assert scored(fleet) == EVERY


def test_marks_are_never_missing(fleet, tmp_path):
    """Whoever writes: after a scoring of what was marked, comparing all rows finds nothing."""
    rng = random.Random(0)
    with fleet.begin() as connection:
        record_model(connection, "w", role="retired", trained_through=ORIGIN)
    daily, depots_of = "depot_id,date,orders", "depot_id,name,city,timezone,country,{}"
    event = "event_id,kind,depot_id,city,starts_on,ends_on"

    def any_day():
        return rng.choice(AHEAD)

    def close():
        place = rng.choice(["A0,", ",Delft", ","])
        kind, first = rng.choice(["closed", "closed", "game"]), any_day()
        last = first + timedelta(days=rng.randrange(3))
        load(fleet, tmp_path, "e.csv", event, f"e,{kind},{place},{first},{last}")

    def reopen():
        with fleet.connect() as connection:
            known = {event.event_id for event in event_store.newest(connection)}
        if known:
            withdraw_event(fleet, rng.choice(sorted(known)))

    def describe():
        column, value = rng.choice(
            [
                ("closed_on", any_day()),
                ("opened_on", any_day()),
                ("closed_weekdays", "tue"),
            ]
        )
        rows = f"A0,A0,{rng.choice(['Delft', 'Ghent'])},UTC,NL,{value}"
        load(fleet, tmp_path, "p.csv", depots_of.format(column), rows)

    changes = (
        lambda: load(
            fleet, tmp_path, "d.csv", daily, f"A0,{any_day()},{rng.randrange(50)}"
        ),
        lambda: load(fleet, tmp_path, "n.csv", daily, f"A1,{any_day()},"),
        lambda: forecast_again(
            fleet, rng.uniform(3, 9), live=rng.random() < 0.5, model=rng.choice("vw")
        ),
        close, reopen, describe,
    )  # fmt: skip
    score_known_days(fleet)
    for hour in range(1, 25):
        # One at a time: the mark of one change would hide that another's is missing.
        rng.choices(changes, weights=(2, 1, 2, 3, 2, 1))[0]()
        counting.rebuild(fleet, NOW + timedelta(hours=hour))
        score_known_days(fleet)
        everything = ScoresDue([0], [], [], is_everything=True)
        with fleet.connect() as connection:
            assert store.origins_to_score(connection, everything) == {}
