"""Findings of `harbor doctor` on late data, odd time zones and a clock that was ahead."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfoNotFoundError

import pytest
import sqlalchemy as sa

from pipelines.cli import doctor_findings
from pipelines.settings import Settings
from pipelines.store import depots as store_depots
from pipelines.store import files
from pipelines.store.depots import far_from_their_city, zones_read_otherwise
from pipelines.store.signal_summaries import SignalSummary
from tests.pipelines.make import LAST, add_depot, add_file, count_fleet, query


@pytest.mark.parametrize(
    ("newest", "is_fine", "message"),
    [
        (date(2026, 3, 9), True, "ends 2026-03-09, 0 days late"),
        (date(2026, 3, 8), False, "ends 2026-03-08, 1 day late"),
        (date(2026, 3, 1), False, "ends 2026-03-01, 8 days late"),
        (date(2026, 3, 10), True, "ends 2026-03-10, 0 days late"),
    ],
)
def test_data_that_ends_before_the_day_that_is_due_is_late(newest, is_fine, message):
    finding = doctor_findings.data_finding(newest, due_on=date(2026, 3, 9))
    assert (finding.ok, finding.message) == (is_fine, message)


def summary(signal, missing=0):
    first = date(2026, 3, 10) if missing else None
    return SignalSummary(signal, missing, first)


@pytest.mark.parametrize(
    ("signals", "message"),
    [
        ([summary("rain")], "lack no day ahead where they had values lately"),
        (
            [summary("rain"), summary("booked", 1_200)],
            "in the days ahead: booked (1,200, from 2026-03-10); they are not guessed",
        ),
        (
            [summary(f"s{n}", 1) for n in range(7)],
            "s4 (1, from 2026-03-10) and 2 more;",
        ),
    ],
    ids=["whole", "some", "many"],
)
def test_values_that_signals_lack_are_said(signals, message):
    (finding,) = doctor_findings.signal_findings(signals)
    assert finding.ok
    assert message in finding.message


def test_a_home_that_cannot_be_used_is_a_finding(tmp_path):
    """The others are told all the same."""
    users = tmp_path / "postgres.users"
    users.mkdir()
    settings = Settings(home=tmp_path)
    findings = {each.check: each for each in doctor_findings.find_all(settings)}
    assert not findings["database"].ok
    assert str(users) in findings["database"].message
    assert "cannot be used" in findings["database"].message
    assert findings["jax"].ok


def test_nothing_is_said_of_signals_where_there_are_none():
    assert doctor_findings.signal_findings([]) == []


def test_events_that_name_no_depot_of_the_fleet_are_told():
    (finding,) = doctor_findings.event_findings(["ghent"])
    assert not finding.ok
    assert "not in the fleet: ghent" in finding.message
    assert doctor_findings.event_findings([]) == []


def test_a_past_day_whose_file_never_came_is_named(
    clean_engine, database_url, tmp_path
):
    def past_days():
        settings = Settings(home=tmp_path, database_url=database_url)
        found = {each.check: each for each in doctor_findings._database(settings)}
        return found["past days"]

    count_fleet(clean_engine)
    assert "all known since" in past_days().message
    gap = LAST - timedelta(days=3)
    query(clean_engine, "delete from demand_versions where service_on = :day", day=gap)
    finding = past_days()
    assert finding.ok, "it may stay unknown"
    assert f"no orders are known for {gap} (2 depots)" in finding.message
    assert "'harbor ingest'" in finding.message


def test_a_depot_whose_zone_is_far_from_the_rest_of_its_city_is_named(connection):
    for depot_id in "ABC":
        add_depot(connection, depot_id)
    add_depot(connection, "D", timezone="Europe/London")
    add_depot(connection, "E", city="Honolulu", timezone="Pacific/Honolulu")
    assert doctor_findings.zone_finding(far_from_their_city(connection)).ok
    add_depot(connection, "F", timezone="Pacific/Honolulu")
    finding = doctor_findings.zone_finding(far_from_their_city(connection))
    assert not finding.ok
    assert "F (Pacific/Honolulu; Delft is in Europe/Amsterdam)" in finding.message
    assert "'harbor ingest'" in finding.message


def test_a_zone_whose_clocks_the_database_changes_otherwise_is_named(
    connection, monkeypatch
):
    add_depot(connection, "A", timezone="Africa/Nairobi")
    add_depot(connection, "B", timezone="Asia/Tokyo")
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert zones_read_otherwise(connection, now) == []
    # As if Japan had abolished an hour after the database's rules were written.
    moved = {"Africa/Nairobi": 3, "Asia/Tokyo": 8}
    monkeypatch.setattr(
        store_depots, "ZoneInfo", lambda name: timezone(timedelta(hours=moved[name]))
    )
    zones = zones_read_otherwise(connection, now)
    assert zones == ["Asia/Tokyo"]

    def unknown(name):
        raise ZoneInfoNotFoundError(name)

    monkeypatch.setattr(store_depots, "ZoneInfo", unknown)
    both = ["Africa/Nairobi", "Asia/Tokyo"]
    assert zones_read_otherwise(connection, now) == both, "a host without zone data"
    [finding] = doctor_findings.zone_rule_findings(zones)
    assert not finding.ok
    assert "Asia/Tokyo: the database and this program" in finding.message
    assert doctor_findings.zone_rule_findings([]) == []


def test_a_file_that_a_clock_which_was_ahead_has_loaded_is_named_until_it_is_withdrawn(
    connection,
):
    def found():
        return doctor_findings.clock_findings(files.loaded_ahead(connection))

    file_id = add_file(connection, path="noon.csv")
    assert found() == []
    a_day_later = "update files set loaded_at = loaded_at + interval '1 day'"
    connection.execute(sa.text(a_day_later))
    (finding,) = found()
    assert not finding.ok
    assert f"it loaded {file_id} (noon.csv)" in finding.message
    assert "'harbor files withdraw'" in finding.message
    files.set_withdrawn(connection, [file_id])
    assert found() == []


def test_doctor_counts_the_files_that_the_night_loads(tmp_path):
    for name in ("north/orders.csv", "done/x.csv", ".part.csv", "y.part"):
        file = tmp_path / "inbox" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("order_id,depot_id,ordered_at\n")
    found = doctor_findings._inbox(Settings(home=tmp_path))
    assert "holds 1 file;" in found.message
