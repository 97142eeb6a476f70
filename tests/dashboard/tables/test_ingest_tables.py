"""Files, rows put aside, and the calendar of each depot's days."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.tables import ingest_tables
from tests.dashboard.cells import Cells

DAYS = list(pd.date_range("2025-11-23", periods=3))  # Sunday to Tuesday
CAME = datetime(2025, 11, 21, 3, 30, tzinfo=UTC)


def calendar(*rows, n_depots=None):
    columns = ["depot_id", "name", "city", "states", "missing"]
    table = pd.DataFrame(rows, columns=columns).assign(last_on=DAYS[0])
    return table.assign(n_depots=n_depots or len(rows))


WHOLE = ("A", "Waalhaven", "R", ["counted", "closed", "counted"], 0)
LACKS = ("B", "<b>Poplar", "L", ["before", "counted", "missing"], 1)


def test_files_are_named_without_their_folder():
    found = pd.DataFrame(
        {
            "path": ["/data/inbox/orders.csv", "s3://bucket/", "/data/counts.csv"],
            "kind": "orders",
            "accepted": [10, 0, None],
            "unchanged": [0, 0, None],
            "rejected": [2, 0, None],
            "ignored_columns": [["colour", "size"], [], []],
            "came_at": CAME,
            "refused_because": [None, None, "It is empty. Send it again."],
        }
    )
    zone = ZoneInfo("Europe/Amsterdam")
    said = ingest_tables.files(found, zone)
    assert said["File"].tolist() == ["orders.csv", "bucket"]
    assert said["Loaded"].tolist() == ["Fri 21 Nov, 04:30"] * 2
    assert said["Rejected rows"].tolist() == [2, 0]
    assert said["Ignored columns"].tolist() == ["colour, size", ""]
    assert ingest_tables.refused(found, zone).to_numpy().tolist() == [
        ["counts.csv", "Fri 21 Nov, 04:30", "It is empty. Send it again."]
    ]


def test_the_grid_has_a_sign_for_each_day_and_names_mondays():
    rows = Cells(ingest_tables.grid(calendar(LACKS, WHOLE), DAYS)).text
    assert rows == [
        ["Depot", "", "24 Nov", ""],
        ["<b>Poplar", "·", "■", "✕"],
        ["Waalhaven", "■", "–", "■"],
    ]


def test_every_sign_is_explained():
    assert ingest_tables.legend() == (
        "■ data, ✕ missing, – closed, · before first data"
    )


def test_what_lacks_is_told_in_a_sentence():
    assert ingest_tables.sentence(calendar(WHOLE)).startswith(
        "No missing days in the last four weeks"
    )
    assert ingest_tables.sentence(calendar(LACKS, WHOLE)) == (
        "1 of 2 depots have missing days."
    )
    many = calendar(LACKS, LACKS, n_depots=1000)
    assert ingest_tables.sentence(many) == (
        "At least 2 of 1,000 depots have missing days; the first 2 are shown."
    )


def test_the_table_behind_the_grid_has_a_column_for_each_day():
    said = ingest_tables.calendar(calendar(LACKS), DAYS)
    assert list(said.columns)[-3:] == ["Sun 23 Nov", "Mon 24 Nov", "Tue 25 Nov"]
    assert said["Tue 25 Nov"].tolist() == ["missing"]
