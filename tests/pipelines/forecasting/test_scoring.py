"""Scored days: those that are known, and were open by all that is known now."""

import statistics
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.demand.panels import PanelsAsKnown
from pipelines.forecasting import scoring
from pipelines.schema import (
    daily_counts,
    depots,
    event_versions,
    events,
    forecasts,
    scores,
    scores_due,
)
from pipelines.store import forecasts as store
from pipelines.store import models as model_store
from tests.pipelines.make import START, add_fleet

pytestmark = pytest.mark.db

DAYS = 30
LAST = START + timedelta(days=DAYS - 1)
ORIGIN = LAST - timedelta(days=7)
NOW = datetime.combine(LAST + timedelta(days=1), datetime.min.time(), UTC)
UTC_ZONE = ZoneInfo("UTC")
AHEAD = [ORIGIN + timedelta(days=step) for step in range(1, 8)]
FOREVER = date(9999, 12, 31)


@pytest.fixture
def fleet(clean_engine):
    """Two depots, and a week of forecasts whose days are known."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=2, n_days=DAYS)
        model_store.add_model(
            connection, version="v", trained_through=ORIGIN, seed=0, data_watermark="",
            filename="", sha256="", role="champion", scores={},
        )  # fmt: skip
        for depot in ("A0", "A1"):
            for day in AHEAD:
                row = {
                    "depot_id": depot, "origin_on": ORIGIN, "target_on": day,
                    "model_version": "v", "p10": 1.0, "p50": 2.0, "p90": 3.0, "point": 1.5,
                    "basis": "model", "is_live": True, "made_at": NOW,
                }  # fmt: skip
                connection.execute(sa.insert(forecasts), row)
    counting.rebuild(clean_engine, NOW)
    return clean_engine


def scored(engine):
    scoring.score_known_days(engine, UTC_ZONE)
    assert scoring.score_known_days(engine, UTC_ZONE) == 0
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
            depot, city, first, last = event
            row = {
                "kind": "closed", "depot_id": depot, "city": city, "starts_on": first,
                "ends_on": last, "file_id": 1,
            }  # fmt: skip
            connection.execute(sa.insert(events), row)
        else:
            first_depot = sa.update(depots).where(depots.c.depot_id == "A0")
            connection.execute(first_depot.values(columns))
    assert scored(fleet) == EVERY - closed
    # And back, when it is taken back.
    with fleet.begin() as connection:
        connection.execute(sa.delete(events))
        open_again = {"closed_weekdays": [], "closed_on": None, "opened_on": None}
        connection.execute(sa.update(depots).values(open_again))
    assert scored(fleet) == EVERY


def test_a_closure_that_was_corrected_gives_the_scores_of_its_open_days_back(fleet):
    closure = {"event_id": "e", "kind": "closed", "depot_id": "A0", "file_id": 1}
    first = closure | {"starts_on": AHEAD[0], "ends_on": AHEAD[6]}
    with fleet.begin() as connection:
        connection.execute(sa.insert(event_versions), first)
    assert scored(fleet) == EVERY - {("A0", day) for day in AHEAD}
    corrected = first | {"ends_on": AHEAD[1], "version": 2}
    with fleet.begin() as connection:
        connection.execute(sa.update(event_versions).values(superseded_at=NOW))
        connection.execute(sa.insert(event_versions), corrected)
    assert scored(fleet) == EVERY - {("A0", day) for day in AHEAD[:2]}


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
    with fleet.begin() as connection:
        connection.execute(sa.delete(daily_counts).where(withdrawn))
    counting.rebuild(fleet, NOW + timedelta(hours=1))
    day = counting.default_origin(fleet)
    panels = PanelsAsKnown.through_newest(fleet, day, UTC_ZONE)
    scoring.score_known_days(fleet, UTC_ZONE, lambda: panels)
    with fleet.connect() as connection:
        assert set(connection.scalars(sa.select(scores.c.target_on))) == left


def test_a_forecast_of_a_closed_day_that_was_open_is_a_miss(fleet):
    with fleet.begin() as connection:
        of_a_day = sa.update(forecasts).where(forecasts.c.target_on == AHEAD[0])
        connection.execute(
            of_a_day.values(basis="closed", p10=0, p50=0, p90=0, point=0)
        )
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
    scoring.score_known_days(fleet, UTC_ZONE)
    before = scored_rows(fleet)
    with fleet.begin() as connection:
        connection.execute(
            sa.update(daily_counts)
            .where(
                daily_counts.c.depot_id == "A0", daily_counts.c.service_on == AHEAD[2]
            )
            .values(orders=daily_counts.c.orders + 5)
        )
    counting.rebuild(fleet, NOW + timedelta(days=1))
    assert scoring.score_known_days(fleet, UTC_ZONE) == 1
    after = scored_rows(fleet)
    changed = {key for key in EVERY if after[key] != before[key]}
    assert changed == {("A0", AHEAD[2])}
    again, first = after["A0", AHEAD[2]], before["A0", AHEAD[2]]
    assert again["actual"] == first["actual"] + 5
    assert again["seasonal_naive"] == first["seasonal_naive"]


def test_the_naive_forecasts_are_those_of_a_loop_over_the_days(fleet):
    with fleet.connect() as connection:
        counts = {
            (row.depot_id, row.service_on): row.orders
            for row in connection.execute(sa.select(daily_counts))
        }
    scoring.score_known_days(fleet, UTC_ZONE)
    rows = scored_rows(fleet)
    assert len(rows) == len(EVERY)
    for (depot, day), row in rows.items():
        earlier = (counts.get((depot, day - timedelta(7 * ago))) for ago in range(1, 5))
        weeks = [orders for orders in earlier if orders is not None]
        assert row["seasonal_naive"] == weeks[0]
        assert row["median4"] == statistics.median(weeks)


def due(engine):
    with engine.connect() as connection:
        rows = connection.execute(
            sa.select(scores_due.c.origin_on, scores_due.c.target_on)
        )
        return {tuple(row) for row in rows}


def test_only_what_changed_is_due(fleet):
    """A count of one day marks that day, new forecasts their origin, a closure its days."""
    scoring.score_known_days(fleet, UTC_ZONE)
    assert due(fleet) == set()
    with fleet.begin() as connection:
        of_a_day = daily_counts.c.service_on == AHEAD[2]
        connection.execute(sa.update(daily_counts).where(of_a_day).values(orders=1))
    counting.rebuild(fleet, NOW + timedelta(days=1))
    assert due(fleet) == {(None, AHEAD[2])}
    with fleet.begin() as connection:
        connection.execute(sa.update(forecasts).values(p90=9.0))
    assert due(fleet) == {(None, AHEAD[2]), (ORIGIN, None)}
    closure = {
        "event_id": "e", "kind": "closed", "depot_id": "A0", "file_id": 1,
        "starts_on": AHEAD[5], "ends_on": FOREVER,
    }  # fmt: skip
    with fleet.begin() as connection:
        connection.execute(sa.insert(event_versions), closure)
        connection.execute(
            sa.insert(event_versions), closure | {"event_id": "g", "kind": "game"}
        )
    assert due(fleet) == {
        (None, AHEAD[2]), (ORIGIN, None), (None, AHEAD[5]), (None, AHEAD[6]),
    }  # fmt: skip
    with fleet.begin() as connection:
        connection.execute(sa.update(depots).values(name="renamed"))
    assert (None, None) not in due(fleet)
    with fleet.begin() as connection:
        connection.execute(sa.update(depots).values(closed_weekdays=[7]))
    assert (None, None) in due(fleet)


def test_an_interrupted_scoring_is_begun_again(fleet, monkeypatch):
    marked = due(fleet)

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("pipelines.store.forecasts.score_origin", stopped)
        with pytest.raises(KeyboardInterrupt):
            scoring.score_known_days(fleet, UTC_ZONE)
    assert due(fleet) == marked
    assert scored(fleet) == EVERY


def test_a_scoring_of_what_changed_finds_what_one_of_everything_finds(fleet):
    """Whatever is corrected: afterwards a comparison of all rows finds nothing."""
    scoring.score_known_days(fleet, UTC_ZONE)
    changes = (
        sa.update(daily_counts).values(orders=3),
        sa.delete(forecasts).where(forecasts.c.target_on == AHEAD[1]),
        sa.update(depots).values(closed_on=AHEAD[4]),
        sa.update(forecasts).values(is_live=False),
    )
    for night, change in enumerate(changes, start=1):
        with fleet.begin() as connection:
            connection.execute(change)
        counting.rebuild(fleet, NOW + timedelta(days=night))
        scoring.score_known_days(fleet, UTC_ZONE)
        everything = store.ScoresDue([0], [], [], is_everything=True)
        with fleet.connect() as connection:
            assert store.origins_to_score(connection, everything) == {}
