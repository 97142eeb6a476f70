"""A bad week, told as one story: a late file, a corrected one, a broken one, and a kill."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from pipelines.schema import demand_versions, forecasts, models, runs, scores
from tests.pipelines.faults import faults
from tests.pipelines.faults.victim import NOWHERE
from tests.pipelines.make import score_known_days

pytestmark = pytest.mark.db

DAYS = 90
# Yesterday, so that what is forecast is live.
LAST = (datetime.now(UTC) - timedelta(hours=6)).date() - timedelta(days=1)
SHAPE = (50, 55, 52, 60, 70, 35, 25)
DEPOTS = ("A0", "A1", "A2")


def usual(depot, day):
    return SHAPE[day.weekday()] * (DEPOTS.index(depot) + 1) + day.toordinal() % 7


def file_of(inbox, name, counts):
    rows = "".join(
        f"{depot},{day},{orders}\n" for (depot, day), orders in counts.items()
    )
    (inbox / name).write_text(f"depot_id,date,orders\n{rows}")


def usual_days(first, last, depots=DEPOTS):
    days = [first + timedelta(days=step) for step in range((last - first).days + 1)]
    return {(depot, day): usual(depot, day) for depot in depots for day in days}


def test_a_bad_night_ends_right(clean_engine, database_url, tmp_path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()

    def night(origin, point=NOWHERE, status=0):
        asked = ("nightly", "--origin", str(origin), "--json")
        if point != NOWHERE:
            victim = faults.start(point, tmp_path, database_url, *asked)
            victim.reach_point()
            return victim
        done = faults.unharmed(tmp_path, database_url, *asked)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout) if status == 0 else done.stderr

    def query(statement):
        with clean_engine.connect() as connection:
            return [tuple(row) for row in connection.execute(statement)]

    # The night before all is well: every depot is forecast, and one model is champion.
    eve = LAST - timedelta(days=1)
    start = LAST - timedelta(days=DAYS)
    file_of(inbox, "history.csv", usual_days(start, eve))
    first = night(eve)
    assert first["steps"]["demand"]["new"] == 3 * DAYS
    assert "late_depots" not in first["steps"]["forecast"]

    # In the next one the file of A2 is late, last week's of A0 is corrected, a third file
    # is broken, and the machine dies when the new model is written and not yet known.
    corrected_on = LAST - timedelta(days=5)
    file_of(inbox, "of-a0-a1.csv", usual_days(LAST, LAST, DEPOTS[:2]))
    file_of(inbox, "of-correction.csv", {("A0", corrected_on): 999})
    (inbox / "of-broken.csv").write_text('depot_id,date,orders\n"A1,2024-0')
    victim = night(LAST, "renamed, not recorded")
    victim.process.kill()
    victim.end()

    # Started again it goes on: what came in is there once, what was trained is found.
    second = night(LAST)
    steps = second["steps"]
    assert steps["ingest"]["refused"] == 1
    assert steps["demand"] == {"new": 0, "corrected": 0}
    assert steps["forecast"]["late_depots"] == 1
    by_state = query(sa.select(runs.c.state, sa.func.count()).group_by(runs.c.state))
    # The night that was killed and the training it was in; it says so of both.
    assert dict(by_state)["failed"] == 2
    assert "running" not in dict(by_state)
    champion = sa.select(models.c.trained_through).where(models.c.role == "champion")
    assert query(champion) in ([(eve,)], [(LAST,)])

    # The correction is a second version, known since now; the first one is kept.
    versions = (
        sa.select(demand_versions.c.version, demand_versions.c.orders)
        .where(
            demand_versions.c.depot_id == "A0",
            demand_versions.c.service_on == corrected_on,
        )
        .order_by(demand_versions.c.version)
    )
    assert query(versions) == [(1, usual("A0", corrected_on)), (2, 999)]

    # The late file comes, and the same night is run again: better, and not doubled.
    file_of(inbox, "of-late.csv", usual_days(LAST, LAST, DEPOTS[2:]))
    third = night(LAST)
    assert third["steps"]["demand"]["new"] == 1
    assert "late_depots" not in third["steps"]["forecast"]
    live = sa.select(
        forecasts.c.model_version, forecasts.c.depot_id, sa.func.count()
    ).where(forecasts.c.origin_on == LAST, forecasts.c.is_live)
    rows = query(live.group_by(forecasts.c.model_version, forecasts.c.depot_id))
    assert {depot for _, depot, _ in rows} == {*DEPOTS}
    assert {count for _, _, count in rows} == {7}

    # A fourth time there is nothing to do, and it says so.
    said = night(LAST, status=3)
    assert f"The night of {LAST} is done" in said

    # The eve's forecast of the day is scored by the counts that hold now.
    score_known_days(clean_engine)
    scored = sa.select(scores.c.depot_id, scores.c.actual).where(
        scores.c.origin_on == eve, scores.c.target_on == LAST
    )
    assert sorted(query(scored.distinct())) == [(d, usual(d, LAST)) for d in DEPOTS]
