"""Detects the kind of a file from its header; unknown headers are refused with a message."""

import pytest

from forecaster.errors import BadInputError, RefusedFileError
from pipelines.ingest.rows.kind_detection import detect_mapping
from pipelines.ingest.rows.options import FileOptions


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("order_id depot_id ordered_at", "orders"),
        ("depot_id date orders", "daily"),
        ("depot_id name city timezone country subdivision", "depots"),
        ("kind starts_on ends_on", "events"),
        ("kind starts_on ends_on city depot_id value known_from", "events"),
        ("signal depot_id date value", "signals"),
        ("signal city date value known_from weather", "signals"),
        ("ORDERED_AT Depot_Id order_ID weather", "orders"),
    ],
)
def test_the_columns_tell_the_kind(header, kind):
    assert detect_mapping(header.split(), FileOptions(), "x.csv").schema.name == kind


def test_what_is_not_read_is_known():
    header = ["weather", "depot_id", "", "date", " orders "]
    mapping = detect_mapping(header, FileOptions(), "x.csv")
    assert mapping.ignored == ["weather"]
    assert mapping.positions == {"depot_id": 1, "date": 3, "orders": 4}


def test_a_mapped_name_goes_before_the_contracts_own():
    header = ["depot_id", "date", "orders", "trips"]
    mapping = detect_mapping(header, FileOptions(columns={"orders": "Trips"}), "x.csv")
    assert mapping.positions["orders"] == 3
    assert mapping.ignored == ["orders"]


def test_a_mapping_of_another_kind_does_no_harm():
    options = FileOptions(columns={"order_id": "Ref"})
    found = detect_mapping(["depot_id", "date", "orders"], options, "x.csv")
    assert found.schema.name == "daily"


def test_a_column_serves_only_what_it_was_mapped_to():
    options = FileOptions(columns={"orders": "date"}, kind="daily")
    with pytest.raises(RefusedFileError, match="no column 'date'"):
        detect_mapping(["depot_id", "date"], options, "x.csv")


@pytest.mark.parametrize(
    ("header", "options", "says"),
    [
        pytest.param(
            ["order_id", "depot_id", "when"],
            {},
            "x.csv has no column 'ordered_at' (found: order_id, depot_id, when). "
            "Rename it or pass --column ordered_at=NAME.",
            id="one missing",
        ),
        pytest.param(
            ["depot_id", "when"],
            {"kind": "daily"},
            "x.csv has no columns 'date', 'orders' (found: depot_id, when). Rename them "
            "or pass --column date=NAME --column orders=NAME.",
            id="two missing of a kind that was said",
        ),
        pytest.param(
            ["depot_id", "date", "n"],
            {"columns": {"orders": "trips"}},
            "x.csv has no column 'trips' (found: depot_id, date, n). Rename it or pass "
            "--column orders=NAME.",
            id="a mapped name that is not there",
        ),
        pytest.param(
            ["depot_id", "name", "city", "timezone", "country", "vans"],
            {"columns": {"vans": "nope"}},
            "x.csv has no column 'nope' (found: depot_id, name, city, timezone, country, "
            "vans). Rename it or pass --column vans=NAME.",
            id="an optional one",
        ),
    ],
)
def test_a_missing_column_is_named_with_what_to_pass(header, options, says):
    with pytest.raises(RefusedFileError) as refused:
        detect_mapping(header, FileOptions(**options), "x.csv")
    assert str(refused.value) == says


def test_a_stranger_is_told_what_each_kind_wants():
    with pytest.raises(RefusedFileError) as refused:
        detect_mapping(["Base Number", "", "Trips"], FileOptions(), "x.csv")
    said = str(refused.value)
    assert "(found: Base Number, Trips)" in said
    assert "orders needs order_id, depot_id, ordered_at" in said
    assert "events needs kind, starts_on, ends_on; " in said
    assert "signals needs signal, date, value and depot_id or city." in said
    assert "--column depot_id=NAME" in said


def test_a_file_that_could_be_two_kinds_is_asked_about():
    header = ["order_id", "depot_id", "ordered_at", "date", "orders"]
    with pytest.raises(
        RefusedFileError, match=r"could be orders or daily.*--kind orders"
    ):
        detect_mapping(header, FileOptions(), "x.csv")
    assert (
        detect_mapping(header, FileOptions(kind="daily"), "x.csv").schema.name
        == "daily"
    )


def test_a_column_that_comes_twice_is_refused_only_where_it_is_read():
    with pytest.raises(RefusedFileError, match="column 'date' 2 times"):
        detect_mapping(["depot_id", "date", "orders", "Date"], FileOptions(), "x.csv")
    detect_mapping(
        ["depot_id", "date", "orders", "note", "note"], FileOptions(), "x.csv"
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "trips"}, "kind is 'trips'.*orders, daily, depots, events"),
        (
            {"columns": {"depot": "x"}},
            "--column names depot, which no kind of file has",
        ),
        ({"kind": "daily", "columns": {"kind": "x"}}, "kind, which no daily file has"),
        ({"date_format": "%m/%Y"}, "must hold a day, a month and a year"),
        ({"date_format": "US"}, "must hold a day, a month and a year"),
        ({"date_format": "%d/%m/%Y %d"}, "must hold a day, a month and a year"),
        ({"encoding": "utf-9"}, "encoding is 'utf-9'"),
    ],
)
def test_file_options_are_validated(options, says):
    with pytest.raises(BadInputError, match=says):
        FileOptions(**options)


def test_what_bytes_mean_depends_on_how_they_are_read():
    columns = {"depot_id": "Base", "date": "Day", "orders": "Trips"}
    plain = FileOptions().fingerprint("daily", columns)
    assert (
        FileOptions(kind="daily", columns=columns).fingerprint("daily", columns)
        == plain
    )
    assert FileOptions(encoding="UTF8").fingerprint("daily", columns) == plain
    others = [
        FileOptions(date_format="%m/%d/%Y").fingerprint("daily", columns),
        FileOptions(encoding="cp1252").fingerprint("daily", columns),
        FileOptions().fingerprint("daily", columns | {"orders": "Vehicles"}),
    ]
    assert len({plain, *others}) == 4
