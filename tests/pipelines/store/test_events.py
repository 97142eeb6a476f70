"""An event is one thing: later files correct it, and it can be withdrawn."""

import json
from datetime import UTC, date, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.demand.panels import PanelsAsKnown, read_panel
from pipelines.ingest.load import FileOptions, replay
from pipelines.schema import event_versions, events
from pipelines.settings.days import first_origin, knowledge_cutoff
from pipelines.store import events as store
from tests.pipelines.ingest.ingesting import (
    SETTINGS,
    counts,
    load,
    load_one,
    query,
    row_loader,
    write,
)
from tests.pipelines.make import START, add_fleet

HEADER = "kind,starts_on,ends_on"
ZONE = ZoneInfo("Europe/Amsterdam")
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAYS = 40
LAST = START + timedelta(days=DAYS - 1)
FIRST_CLOSED = LAST + timedelta(days=2)


def versions(engine):
    """Every version: id, version, ends_on, value, withdrawn, whether it stands."""
    return query(
        engine,
        "select event_id, version, ends_on, value, withdrawn, superseded_at is null "
        "from event_versions order by 1, 2",
    )


def standing(engine):
    return query(engine, sa.select(events).order_by("event_id"))


@pytest.fixture
def loader(clean_engine, tmp_path):
    return row_loader(clean_engine, tmp_path, "events")


def test_a_later_file_corrects_the_end_and_the_value(clean_engine, loader):
    loader(f"{HEADER},depot_id,value", "promotion,2026-08-01,2026-08-07,A,0.1")
    report = loader(f"{HEADER},depot_id,value", "promotion,2026-08-01,2026-08-02,A,0.2")
    assert counts(report, "events") == (1, 0, 0)
    own_id = "promotion/2026-08-01/depot/A"
    assert versions(clean_engine) == [
        (own_id, 1, date(2026, 8, 7), 0.1, False, False),
        (own_id, 2, date(2026, 8, 2), 0.2, False, True),
    ]
    assert [row.ends_on for row in standing(clean_engine)] == [date(2026, 8, 2)]


def test_a_load_says_since_when_its_corrections_count(clean_engine, loader):
    header = f"{HEADER},depot_id"
    first = loader(
        header, "closed,2026-08-01,2026-08-07,A", "fair,2026-08-01,2026-08-07,A"
    )
    assert not [note for note in first.notes if "corrected" in note]
    rows = "closed,2026-08-01,2026-08-02,A", "fair,2026-08-01,2026-08-03,A"
    (note,) = [note for note in loader(header, *rows).notes if "corrected" in note]
    ((known_at,),) = query(clean_engine, "select max(known_at) from event_versions")
    origin = first_origin(known_at, SETTINGS.zone)
    assert note == (
        "2 events were corrected. That counts in live forecasts from now on, and in "
        f"hindcasts from origin {origin} on; forecasts made before stay as they are."
    )
    again = loader(header, *reversed(rows))
    assert not [note for note in again.notes if "corrected" in note]


def test_the_withdrawal_of_an_event_says_since_when_it_counts(
    clean_engine, loader, harbor
):
    loader(HEADER, "closed,2026-08-01,2026-08-07")
    done = harbor("events", "withdraw", "closed/2026-08-01", "--reason", "x")
    ((known_at,),) = query(clean_engine, "select max(known_at) from event_versions")
    origin = first_origin(known_at, ZoneInfo("UTC"))
    assert (
        "That counts in live forecasts from now on, and in hindcasts from origin "
        f"{origin} on. 'harbor forecast' forecasts its days again."
    ) in done.stderr


def test_kind_start_and_scope_tell_events_without_an_id_apart(clean_engine, loader):
    report = loader(
        f"{HEADER},depot_id,city",
        "closed,2026-08-01,2026-08-07,A,",
        "closed,2026-08-01,2026-08-07,B,",
        "closed,2026-08-01,2026-08-07,,A",
        "closed,2026-08-01,2026-08-07,,",
        "closed,2026-08-02,2026-08-07,A,",
        "strike,2026-08-01,2026-08-07,A,",
    )
    assert counts(report, "events") == (6, 0, 0)
    again = loader(f"{HEADER},depot_id", "strike,2026-08-01,2026-08-07,A")
    assert counts(again, "events") == (0, 1, 0)


def test_an_event_with_an_id_can_move_to_another_start_and_place(clean_engine, loader):
    loader(f"event_id,{HEADER},city,value", "e1,game,2026-08-01,2026-08-01,Ghent,3")
    loader(f"event_id,{HEADER},depot_id", "e1,game,2026-08-05,2026-08-05,A")
    (event,) = standing(clean_engine)
    assert (event.starts_on, event.city, event.depot_id) == (
        date(2026, 8, 5),
        None,
        "A",
    )
    # The file has no column for it, so it stays.
    assert event.value == 3


def test_a_file_withdraws_and_brings_back(clean_engine, loader):
    header, row = f"{HEADER},withdrawn", "closed,2026-08-01,2026-08-07"
    loader(header, f"{row},")
    loader(header, f"{row},Yes")
    assert standing(clean_engine) == []
    # An export that knows nothing of withdrawals does not undo one every night.
    assert counts(loader(HEADER, row), "events") == (0, 1, 0)
    assert standing(clean_engine) == []
    loader(header, f"{row},no")
    assert [event.version for event in standing(clean_engine)] == [3]


def test_whether_it_is_withdrawn_must_be_yes_or_no(clean_engine, tmp_path):
    body = f"{HEADER},withdrawn\nclosed,2026-08-01,2026-08-07,perhaps\n"
    report = load_one(clean_engine, write(tmp_path / "events.csv", body))
    assert report.counts.rejected == 1
    reasons = query(clean_engine, "select reason from quarantine")
    assert reasons == [("is neither yes nor no",)]


def test_replaying_an_older_file_takes_no_correction_back(clean_engine, tmp_path):
    row = "closed,2026-08-01,2026-08-07"
    first = write(tmp_path / "a.csv", f"{HEADER},value\n{row},many\n{row[:-1]}8,1\n")
    load(clean_engine, first)
    load(clean_engine, write(tmp_path / "b.csv", f"{HEADER}\n{row[:-1]}2\n"))
    query(clean_engine, """update quarantine set raw = raw || '{"value": "5"}'""")
    done = replay(clean_engine, FileOptions(), SETTINGS, NOON)
    assert (done.accepted, done.unchanged, done.left) == (0, 1, 0)
    assert [event.ends_on for event in standing(clean_engine)] == [date(2026, 8, 2)]


def withdraw(engine, event_id, reason="", now=NOON):
    with engine.begin() as connection:
        event = store.newest_locked(connection, event_id)
        return store.withdraw(connection, event, reason, now)


def test_the_commands_list_and_withdraw(harbor, loader):
    run = partial(harbor, "events")
    loader(
        f"{HEADER},depot_id,value,known_from",
        "promotion,2026-07-01,2026-07-03,,0.2,",
        "closed,2026-08-01,2026-08-07,A,,2026-07-01",
    )

    listed = json.loads(run("list", "--json").stdout)
    assert [event["event_id"] for event in listed] == [
        "closed/2026-08-01/depot/A", "promotion/2026-07-01",
    ]  # fmt: skip
    assert set(listed[0]) == {
        "event_id", "kind", "starts_on", "ends_on", "city", "depot_id", "value",
        "known_from", "withdrawn", "version", "known_at", "reason",
    }  # fmt: skip
    of_kind = run("list", "--kind", "promotion", "--since", "2026-07-03").stdout
    assert "everywhere" in of_kind
    assert "closed" not in of_kind
    withdrawn = run("withdraw", "promotion/2026-07-01", "--reason", "rain")
    assert "everywhere" in withdrawn.stderr
    assert len(json.loads(run("list", "--json").stdout)) == 1
    again = run("withdraw", "promotion/2026-07-01", "--reason", "rain")
    unknown = run("withdraw", "closed/2026", "--reason", "rain")
    assert (withdrawn.returncode, again.returncode, unknown.returncode) == (0, 3, 1)
    assert "no event 'closed/2026'" in unknown.stderr
    assert "withdrawn: rain" in run("list", "--all").stdout
    assert "1 of 2 events" in run("list", "--all", "--limit", "1").stderr


@pytest.fixture
def closure(clean_engine, tmp_path):
    """A closure of a week, announced before the data's last day, then corrected."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=2, n_days=DAYS)
    counting.rebuild(clean_engine, datetime.combine(LAST, NOON.time(), UTC) + A_WEEK)
    announced = LAST - timedelta(days=20)
    for name, days in (("a.csv", 6), ("b.csv", 1)):
        ends_on = FIRST_CLOSED + timedelta(days=days)
        row = f"closed,{FIRST_CLOSED},{ends_on},A0,{announced}"
        load(
            clean_engine, write(tmp_path / name, f"{HEADER},depot_id,known_from\n{row}")
        )
    return clean_engine


A_WEEK = timedelta(days=7)


def arrive(engine, version, moment):
    """Lets a version have come at a moment."""
    with engine.begin() as connection:
        for column, number in (("known_at", version), ("superseded_at", version - 1)):
            connection.execute(
                sa.update(event_versions)
                .where(event_versions.c.version == number)
                .values({column: moment})
            )


def closed_ahead(panel):
    """Days after the origin on which A0 is known to be closed."""
    return [
        panel.day(panel.n_steps + step)
        for step in np.flatnonzero(panel.closed_dt[0, panel.n_steps :]).tolist()
    ]


def test_an_origin_sees_the_version_known_then(closure):
    corrected_at = knowledge_cutoff(LAST - timedelta(days=3), ZONE)
    arrive(closure, 2, corrected_at)
    panels = PanelsAsKnown(closure, LAST, ZONE)
    ahead = {
        days: len(closed_ahead(panels.at(LAST - timedelta(days=days))))
        for days in (21, 20, 4, 3, 0)
    }
    # The calendar reaches far enough for all of the week from each of them.
    assert ahead == {21: 0, 20: 7, 4: 7, 3: 2, 0: 2}


def test_a_withdrawn_event_was_known_until_then(closure):
    moment = knowledge_cutoff(LAST - timedelta(days=3), ZONE)
    arrive(closure, 2, moment - A_WEEK)
    withdraw(closure, f"closed/{FIRST_CLOSED}/depot/A0", now=moment)
    panels = PanelsAsKnown(closure, LAST, ZONE)
    ahead = [len(closed_ahead(panels.at(LAST - timedelta(days=n)))) for n in (4, 3, 0)]
    assert ahead == [2, 0, 0]
    assert closed_ahead(read_panel(closure, LAST)) == []


@pytest.mark.parametrize(("seconds", "days"), [(-1, 0), (0, 0), (1, 1)])
def test_the_first_origin_to_know_is_the_one_whose_night_it_came_in(seconds, days):
    moment = knowledge_cutoff(LAST, ZONE) + timedelta(seconds=seconds)
    first = first_origin(moment, ZONE)
    assert first == LAST + timedelta(days=days)
    assert (
        knowledge_cutoff(first - timedelta(days=1), ZONE)
        < moment
        <= knowledge_cutoff(first, ZONE)
    )
