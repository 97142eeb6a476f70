"""A daily count that was loaded before its day was over is not used."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from pipelines.demand import counting
from pipelines.ingest.load import FileOptions, ingest
from tests.pipelines.ingest.ingesting import DAILY, SETTINGS, load_one, query, write

DEPOTS = "depot_id,name,city,timezone,country,subdivision\n"
EAST, WEST = "Pacific/Kiritimati", "Etc/GMT+12"
"""The first and the last zone in which a day ends, 26 hours apart."""


def load_now(engine, path, **options):
    """Loads a file at the real time, which decides whether a depot's day is over."""
    (file,) = ingest(engine, [str(path)], FileOptions(), SETTINGS, **options).files
    return file


def age_files(engine, days=1):
    """Moves every load, every count and every order some days back."""
    for statement in (
        "update files set loaded_at = loaded_at - make_interval(days => :days)",
        "update daily_counts set service_on = service_on - cast(:days as integer)",
        "update orders set ordered_local = ordered_local - make_interval(days => :days)",
    ):
        query(engine, statement, days=days)


def demand(engine, now=None):
    """Current known demand by depot, whatever its day."""
    counting.rebuild(engine, now or datetime.now(UTC))
    found = (
        "select depot_id, orders from demand_versions "
        "where superseded_at is null and orders is not null"
    )
    return dict(query(engine, found))


@pytest.fixture
def depots(clean_engine, tmp_path):
    body = f"E,E,X,{EAST},KI,\nW,W,X,{WEST},US,\n"
    load_one(clean_engine, write(tmp_path / "depots.csv", DEPOTS + body))
    return clean_engine


@pytest.fixture
def day():
    """A day that is over at one of the two depots, and not at the other."""
    return datetime.now(ZoneInfo(EAST)).date() - timedelta(days=1)


def test_a_count_of_a_day_that_is_not_over_is_partial(depots, tmp_path, day):
    path = write(tmp_path / "a.csv", f"{DAILY}E,{day},7\nW,{day},9\n")
    for dry_run in (True, False):
        file = load_now(depots, path, dry_run=dry_run)
        assert file.counts.accepted == 2
        assert file.as_json()["partial"] == 1
        assert any("not over at their depots: 1." in note for note in file.notes)
    later = datetime.now(UTC) + timedelta(days=2)
    assert demand(depots, later) == {"E": 7}


def test_the_same_file_again_counts_once_the_day_is_over(depots, tmp_path, day):
    path = write(tmp_path / "a.csv", f"{DAILY}E,{day},7\nW,{day},9\n")
    load_now(depots, path)
    assert load_now(depots, path).state == "unchanged"
    age_files(depots, days=2)
    assert demand(depots) == {"E": 7}
    again = load_now(depots, path)
    assert (again.state, vars(again.counts)) == (
        "loaded",
        {"accepted": 1, "unchanged": 1, "rejected": 0},
    )
    assert "partial" not in again.as_json()
    assert demand(depots) == {"E": 7, "W": 9}
    assert load_now(depots, path).state == "unchanged"


@pytest.mark.parametrize("orders", [9, 30], ids=["repeated", "replaced"])
def test_a_later_file_with_the_count_counts(depots, tmp_path, day, orders):
    load_now(depots, write(tmp_path / "a.csv", f"{DAILY}W,{day},9\n"))
    age_files(depots, days=2)
    over = day - timedelta(days=2)
    file = load_now(depots, write(tmp_path / "b.csv", f"{DAILY}W,{over},{orders}\n"))
    assert file.counts.accepted == 1
    assert demand(depots) == {"W": orders}


def test_orders_of_the_day_count_where_a_count_is_partial(depots, tmp_path, day):
    load_now(depots, write(tmp_path / "a.csv", f"{DAILY}W,{day},9\n"))
    age_files(depots, days=2)
    over = day - timedelta(days=2)
    orders = f"order_id,depot_id,ordered_at\n1,W,{over}T10:00\n2,W,{over}T23:00\n"
    load_now(depots, write(tmp_path / "b.csv", orders))
    assert demand(depots) == {"W": 2}


def test_a_zone_that_is_mended_decides_again(clean_engine, tmp_path, day):
    """Counts may be loaded before the file with their depot's time zone."""
    path = write(tmp_path / "a.csv", f"{DAILY}N,{day},9\n")
    load_now(clean_engine, path)
    body = f"N,N,X,{WEST},US,\n"
    load_one(clean_engine, write(tmp_path / "depots.csv", DEPOTS + body))
    later = datetime.now(UTC) + timedelta(days=2)
    assert demand(clean_engine, later) == {}
