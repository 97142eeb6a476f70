"""Published files of real data agree with the facts known about them."""

import csv
import io
from datetime import UTC, datetime

import pytest

from tests.pipelines.ingest.ingesting import counts, load, query

pytestmark = pytest.mark.sample_data


def one(engine, statement):
    (row,) = query(engine, statement)
    return row


def test_a_year_of_bike_share_goes_in(clean_engine, sample_data):
    report = load(clean_engine, sample_data / "bayarea_bikeshare")
    assert counts(report, "orders") == (326_339, 0, 0)
    assert counts(report, "depots") == (70, 0, 0)
    assert one(
        clean_engine,
        "select count(*), count(distinct depot_id), count(utc_offset_minutes) from orders",
    ) == (326_339, 70, 0)
    assert one(clean_engine, "select count(*) from depots where not is_complete") == (
        0,
    )
    assert load(clean_engine, sample_data / "bayarea_bikeshare").is_nothing_new


def test_five_years_of_station_counts_go_in(clean_engine, sample_data):
    report = load(clean_engine, sample_data / "chicago_l")
    assert counts(report, "daily") == (243_780, 0, 0)
    assert counts(report, "depots") == (144, 0, 0)
    events = (sample_data / "chicago_l" / "events.csv").read_text().splitlines()
    assert counts(report, "events") == (len(events) - 1, 0, 0)
    assert report.notes == ()
    assert one(
        clean_engine, "select count(*), count(*) - count(orders) from daily_counts"
    ) == (243_780, 270)


def test_a_report_as_published_goes_in(clean_engine, sample_data):
    path = sample_data / "nyc_fhv_bases" / "fhv-jan-aug-2015.csv"
    columns = {
        "depot_id": "Base Number",
        "date": "Pick Up Date",
        "orders": "Number of Trips",
    }
    assert "found: Base Number, Base Name" in load(clean_engine, path).refused[0].error
    report = load(clean_engine, path, columns=columns)
    assert counts(report, "daily") == (26_181, 0, 0)
    assert any("B00906/b00906" in note for note in report.files[0].notes)
    found = csv.reader(io.StringIO(path.read_text(), newline=None))
    expected = [
        (row[1].strip(), _day(row[4]), int(row[5].replace(",", "")))
        for row in found
        if row[4:] and "/" in row[4]
    ]
    assert len({row[0] for row in expected}) == 333
    stored = query(
        clean_engine, "select depot_id, service_on, orders from daily_counts"
    )
    assert sorted(stored) == sorted(expected)


def _day(text):
    return datetime.strptime(text, "%m/%d/%Y").replace(tzinfo=UTC).date()
