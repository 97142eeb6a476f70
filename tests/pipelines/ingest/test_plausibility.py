"""Ids of orders are unique within their source; files with implausible ids are refused."""

from datetime import UTC, datetime

import pytest

from pipelines.ingest.load import FileOptions, replay
from pipelines.settings.ingest import SourceSettings
from tests.pipelines.ingest.ingesting import SETTINGS, load_one, query, rows, write

SOURCES = {
    "north": SourceSettings(pattern="north*.csv"),
    "south": SourceSettings(pattern="south*.csv"),
    "old_north": SourceSettings(id_namespace="north"),
}


@pytest.fixture
def load(clean_engine, tmp_path):
    """Returns a function that writes a file, loads it, and returns its report."""

    def run(name, lines, header="order_id,depot_id,ordered_at", **asked):
        path = write(tmp_path / name, "\n".join([header, *lines, ""]))
        settings = SETTINGS.model_copy(update={"sources": SOURCES})
        return load_one(clean_engine, path, settings=settings, **asked)

    return run


def orders(depot, n=100, day=1, start=1):
    """Lines of orders, with ids numbered from `start`."""
    return [f"{start + at},{depot},2024-01-{day:02}T10:{at % 60:02}" for at in range(n)]


def by_depot(engine):
    return dict(query(engine, "select depot_id, count(*) from orders group by 1"))


def test_two_sources_may_count_from_the_same_numbers(load, clean_engine):
    assert load("north.csv", orders("A", 132)).counts.accepted == 132
    assert load("south.csv", orders("B")).counts.accepted == 100
    assert by_depot(clean_engine) == {"A": 132, "B": 100}
    # Each source corrects its own orders.
    load("north2.csv", orders("A", 2, day=2))
    assert by_depot(clean_engine) == {"A": 132, "B": 100}


def test_orders_of_another_partner_do_not_take_those_away_that_are_there(
    load, clean_engine
):
    load("a.csv", orders("A", 132))
    refused = load("b.csv", orders("B"))
    assert refused.state == "refused"
    assert "b.csv would move 100 orders that are there already" in refused.error
    assert "--source NAME" in refused.error
    assert "--force" in refused.error
    assert by_depot(clean_engine) == {"A": 132}


def test_orders_that_all_change_their_day_are_refused(load):
    load("a.csv", orders("A", 30))
    assert "would move 30 orders" in load("b.csv", orders("A", 30, day=2)).error


def test_a_few_corrections_go_in_and_are_told(load, clean_engine):
    load("a.csv", orders("A", 30))
    report = load("b.csv", orders("B", 10))
    assert report.state == "loaded"
    assert "Orders moved to another depot or day: 10." in report.notes
    assert by_depot(clean_engine) == {"A": 20, "B": 10}


def test_of_many_orders_one_in_a_hundred_may_move(load):
    load("a.csv", orders("A", 2_000))
    corrected = orders("B", 20) + orders("A", 1_980, start=21)
    assert load("b.csv", corrected).state == "loaded"


def test_a_correction_of_many_orders_goes_in_by_force(load, clean_engine):
    load("a.csv", orders("A"))
    assert load("b.csv", orders("B"), force=True).counts.accepted == 100
    assert by_depot(clean_engine) == {"B": 100}


def test_orders_under_another_namespace_are_not_counted_twice(load, clean_engine):
    load("a.csv", orders("A"))
    refused = load("north.csv", orders("A", 101))
    assert "100 orders that are there already under the id_namespace ''" in (
        refused.error
    )
    assert by_depot(clean_engine) == {"A": 100}


def test_two_sources_may_share_one_namespace(load, clean_engine):
    load("north.csv", orders("A"))
    again = load("history.csv", orders("A", 101), source="old_north")
    assert (again.counts.accepted, again.counts.unchanged) == (1, 100)
    assert by_depot(clean_engine) == {"A": 101}


def test_a_column_that_is_no_order_id_is_refused(load, clean_engine):
    lines = [f"{at},{at % 7},A,2024-01-01T10:00" for at in range(2_000)]
    header = "order_id,customer,depot_id,ordered_at"
    refused = load("a.csv", lines, header, columns={"order_id": "customer"})
    assert refused.state == "refused"
    assert "2,000 orders and only 7 different values of 'customer'" in refused.error
    assert "--column order_id=NAME" in refused.error
    assert rows(clean_engine, "orders") == []
    forced = load("a.csv", lines, header, columns={"order_id": "customer"}, force=True)
    assert vars(forced.counts) == {"accepted": 7, "unchanged": 1_993, "rejected": 0}


def test_rows_out_of_quarantine_go_to_the_namespace_of_their_file(load, clean_engine):
    load("north.csv", [*orders("A", 3), "4,A,soon"])
    settings = SETTINGS.model_copy(update={"sources": SOURCES})
    query(
        clean_engine,
        """update quarantine set raw = raw || '{"ordered_at": "2024-01-01"}'""",
    )
    now = datetime(2026, 6, 1, tzinfo=UTC)
    assert replay(clean_engine, FileOptions(), settings, now).accepted == 1
    found = "select distinct id_namespace from orders"
    assert query(clean_engine, found) == [("north",)]
    gone = SETTINGS.model_copy(update={"sources": {}})
    load("north3.csv", [*orders("A", 3), "5,A,soon"])
    told = replay(clean_engine, FileOptions(), gone, now)
    assert told.accepted == 0
    assert "harbor.toml has no sources" in told.reasons[0]
