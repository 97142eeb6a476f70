"""Forecasts, totals and scores in a folder and in a bucket, as others read them."""

import shutil
from datetime import timedelta
from threading import Thread
from types import SimpleNamespace

import pandas as pd
import pyarrow.dataset as ds
import pytest
import sqlalchemy as sa
from pyarrow import fs

from forecaster.errors import ConfigError
from pipelines import pruning
from pipelines.demand import counting
from pipelines.publishing import files
from pipelines.publishing.destination import Destination
from pipelines.publishing.files import publish_files
from pipelines.settings import Settings
from pipelines.store import score_totals
from tests.pipelines.make import (
    UTC_ZONE,
    forecast_from,
    midnight_after,
    score_known_days,
)
from tests.pipelines.publishing.conftest import EARLIER, LAST

FLAT_SHARES = """
insert into hour_shares
    (depot_id, target_on, origin_on, share, concentration, city_concentration)
select depot_id, day_on::date, :origin, array_fill(1 / 24.0, array[24])::real[], 50, 50
from depots cross join lateral generate_series(cast(:first as date), :last,
                                               interval '1 day') as day_on
"""
PUBLISH_AGAIN = """
insert into publications (origin_on, model_version, is_live, published_at)
select origin_on, model_version, is_live, now() from shown_forecast
"""


EVERYWHERE = pytest.mark.parametrize("published", ["folder", "bucket"], indirect=True)


@pytest.fixture
def published(request, tmp_path):
    """Where to publish, and how others read what is there; a folder unless `EVERYWHERE`."""
    if getattr(request, "param", "folder") == "folder":
        folder = tmp_path / "published"
        yield SimpleNamespace(
            url=str(folder),
            system=fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()),
        )
        return
    s3 = request.getfixturevalue("s3")
    yield SimpleNamespace(
        url=s3.url, system=fs.SubTreeFileSystem("night/fleet", s3.system)
    )
    s3.system.delete_dir_contents("night/fleet", missing_dir_ok=True)


def publish(fleet, published):
    return publish_files(fleet.engine, Destination.at(published.url))


def publish_with_hours(fleet, published):
    """Publishes a forecast whose orders come evenly through the day."""
    days = {"first": EARLIER + timedelta(days=1), "last": EARLIER + timedelta(days=7)}
    with fleet.engine.begin() as connection:
        connection.execute(sa.text(FLAT_SHARES), {"origin": EARLIER, **days})
    publish(fleet, published)


def rows_of(published, dataset, *keys):
    """A dataset as pandas, read by its Hive partitions."""
    read = ds.dataset(dataset, filesystem=published.system, partitioning="hive")
    table = read.to_table().to_pandas()
    table["origin_on"] = pd.to_datetime(table["origin_on"]).dt.date
    return table.sort_values(list(keys), ignore_index=True)


def names_in(published):
    selector = fs.FileSelector("", recursive=True)
    return sorted(
        info.path for info in published.system.get_file_info(selector) if info.is_file
    )


def times_in(published):
    infos = published.system.get_file_info(names_in(published))
    return [(info.path, info.mtime_ns) for info in infos]


def assert_same(found, expected):
    columns = list(expected)
    assert {*found} == {*columns}
    for frame in (found, expected):
        for column in ("origin_on", "target_on"):
            frame[column] = pd.to_datetime(frame[column]).dt.date
    pd.testing.assert_frame_equal(found[columns], expected, check_dtype=False)


@EVERYWHERE
def test_what_each_night_published_is_what_the_views_have(fleet, published):
    assert publish(fleet, published) == {"forecasts": 1, "totals": 1}
    first = rows_of(published, "latest/forecasts", "depot_id", "target_on")
    expected = pd.DataFrame(
        fleet.read("select * from latest_forecasts order by depot_id, target_on")
    )
    assert_same(first, expected)

    fleet.next_night()
    # Of the night before, only the scores are new.
    assert publish(fleet, published) == {"forecasts": 1, "totals": 1, "scores": 1}
    forecasts = rows_of(published, "forecasts", "origin_on", "depot_id", "target_on")
    assert forecasts["origin_on"].unique().tolist() == [EARLIER, LAST]
    newest = fleet.read("select * from latest_forecasts order by depot_id, target_on")
    of_last = forecasts[forecasts["origin_on"] == LAST].reset_index(drop=True)
    assert_same(of_last, pd.DataFrame(newest))
    assert_same(
        rows_of(published, "latest/forecasts", "depot_id", "target_on"), of_last
    )
    totals = fleet.read("select * from latest_totals order by city, target_on")
    latest = rows_of(published, "latest/totals", "city", "target_on")
    assert_same(latest, pd.DataFrame(totals))
    scores = fleet.read("select * from daily_scores order by depot_id")
    assert_same(rows_of(published, "scores", "depot_id"), pd.DataFrame(scores))
    assert [row["target_on"] for row in scores] == [LAST] * 2

    folders = {name.rpartition("/")[0] for name in names_in(published)} - {""}
    assert len(folders) == 2 + 2 + 1 + 2
    for folder in folders:
        inside = [name for name in names_in(published) if name.startswith(f"{folder}/")]
        assert inside == [f"{folder}/_SUCCESS", f"{folder}/part-0.parquet"]

    # Where nothing changed, nothing is written.
    before = times_in(published)
    assert publish(fleet, published) == {}
    assert times_in(published) == before


@EVERYWHERE
def test_the_latest_hours_go_when_the_forecast_that_is_shown_has_none(fleet, published):
    publish_with_hours(fleet, published)
    latest = [f"latest/hours/{name}" for name in (files.SUCCESS, files.PART)]
    of_origin = f"hours/origin_on={EARLIER}/{files.PART}"
    assert {*latest, of_origin} <= {*names_in(published)}
    # As where the night could not store them.
    fleet.next_night()
    publish(fleet, published)
    left = names_in(published)
    assert not {*latest} & {*left}
    assert of_origin in left


def test_the_hours_of_a_forecast_go_when_another_of_its_origin_has_none(
    fleet, published
):
    publish_with_hours(fleet, published)
    assert f"hours/origin_on={EARLIER}/{files.PART}" in names_in(published)
    with fleet.engine.begin() as connection:
        connection.execute(sa.text("delete from hour_shares"))
        connection.execute(sa.text(PUBLISH_AGAIN))
    assert publish(fleet, published)["forecasts"] == 1
    assert not [name for name in names_in(published) if "hours" in name]


def test_a_corrected_score_is_published_again_and_a_pruned_origin_stays(
    fleet, published, monkeypatch
):
    fleet.next_night()
    publish(fleet, published)
    with fleet.engine.begin() as connection:
        connection.execute(
            sa.text("update demand_versions set orders = 99 where service_on = :day"),
            {"day": LAST},
        )
        connection.execute(sa.text("insert into scores_due (target_on) values (null)"))
    score_known_days(fleet.engine)
    assert publish(fleet, published) == {"scores": 1}
    assert rows_of(published, "scores", "depot_id")["actual"].tolist() == [99, 99]

    monkeypatch.setattr(
        pruning.forecast_retention, "origins_older_than", lambda *_: [EARLIER]
    )
    settings = Settings(keep_forecasts_days=365)
    deleted = pruning.delete_old_forecasts(fleet.engine, settings)
    assert deleted.rows > 0
    assert publish(fleet, published) == {}
    kept = rows_of(published, "forecasts", "origin_on")
    assert EARLIER in kept["origin_on"].unique()


def rescore(fleet, actual):
    """Gives every score an actual, in SQL, and renews the sums as whoever scores does."""
    with fleet.engine.begin() as connection:
        connection.execute(sa.text(f"update scores set p90 = 9e3, actual = {actual}"))
        score_totals.renew_all(connection)


def test_scores_that_change_while_their_sums_stay_are_published_again(fleet, published):
    """An order is moved from one depot to the other; both forecasts are too high."""
    fleet.next_night()
    rescore(fleet, "2")
    publish(fleet, published)
    rescore(fleet, "case depot_id when 'A0' then 1 else 3 end")
    assert publish(fleet, published) == {"scores": 1}
    assert rows_of(published, "scores", "depot_id")["actual"].tolist() == [1, 3]


def test_two_that_publish_at_once_do_so_one_after_the_other(
    fleet, published, monkeypatch
):
    """A night that is slow to write does not overwrite what a later forecast has published."""
    fleet.next_night()
    write, is_first, second = Destination.write, [True], []

    def publish_meanwhile(self, path, content):
        if is_first:
            is_first.clear()
            second.append(Thread(target=publish, args=(fleet, published)))
            second[0].start()
            second[0].join(timeout=1)
            assert second[0].is_alive(), "it waits"
        write(self, path, content)

    monkeypatch.setattr(Destination, "write", publish_meanwhile)
    assert publish(fleet, published)
    second[0].join(timeout=30)
    assert not second[0].is_alive()
    assert publish(fleet, published) == {}


def publish_until_it_is_lost(fleet, published, monkeypatch, is_lost):
    """Publishes to a place that fails at the paths that are lost."""
    write = Destination.write

    def fail(self, path, content):
        if is_lost(path):
            raise OSError("Connection reset by peer")
        write(self, path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Destination, "write", fail)
        with pytest.raises(OSError, match="reset"):
            publish(fleet, published)


@EVERYWHERE
def test_a_partition_is_whole_or_has_no_marker(fleet, published, monkeypatch):
    """The place goes away while the second night's forecast is being written."""
    publish(fleet, published)
    fleet.next_night()
    publish_until_it_is_lost(
        fleet, published, monkeypatch, lambda path: path.startswith("totals/")
    )
    totals = f"totals/origin_on={LAST}"
    assert not [name for name in names_in(published) if name.startswith(totals)]
    # What is shown at the place that stays the same is the night before, whole.
    latest = rows_of(published, "latest/forecasts", "depot_id", "target_on")
    assert latest["origin_on"].unique().tolist() == [EARLIER]
    publish(fleet, published)
    assert f"{totals}/_SUCCESS" in names_in(published)
    latest = rows_of(published, "latest/forecasts", "depot_id", "target_on")
    assert latest["origin_on"].unique().tolist() == [LAST]


def test_a_writer_that_is_killed_leaves_the_old_file(tmp_path, monkeypatch):
    destination = Destination.at(str(tmp_path / "place"))
    destination.write("a/b.txt", b"old")
    write = Destination._write

    def write_half(self, target, content):
        write(self, target, content[:3])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Destination, "_write", write_half)
        with pytest.raises(KeyboardInterrupt):
            destination.write("a/b.txt", b"new, and half of it")
    assert destination.read("a/b.txt") == b"old"


def test_a_lost_manifest_publishes_everything_again(fleet, published):
    fleet.next_night()
    publish(fleet, published)
    published.system.delete_file(files.MANIFEST)
    assert publish(fleet, published) == {"forecasts": 2, "totals": 2, "scores": 1}


def test_an_address_of_nothing_is_told_without_its_password():
    with pytest.raises(
        ConfigError, match=r"HARBOR_PUBLISH_URL is gopher://bucket/x, but"
    ):
        Destination.at("gopher://user:s3cret@bucket/x")


@pytest.mark.parametrize(
    ("url", "system", "address"),
    [
        ("gs://anonymous@bucket/fleet", fs.GcsFileSystem, "gs://bucket/fleet"),
        (
            "abfs://fleet@account.dfs.core.windows.net/out", fs.AzureFileSystem,
            "abfs://fleet@account.dfs.core.windows.net/out",
        ),
    ],
)  # fmt: skip
def test_the_addresses_of_other_stores_are_understood(url, system, address):
    destination = Destination.at(url)
    assert isinstance(destination._system, system)
    assert destination.address == address


def test_an_azure_address_without_its_account_says_how_to_write_it():
    with pytest.raises(ConfigError, match=r"abfs://CONTAINER@ACCOUNT"):
        Destination.at("abfs://container/out")


def test_a_home_folder_is_expanded(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    Destination.at("~/published").write("a.txt", b"x")
    assert (tmp_path / "published" / "a.txt").read_bytes() == b"x"
    shutil.rmtree(tmp_path / "published")


def test_what_is_published_after_a_restore_replaces_what_was_lost(fleet, published):
    publish(fleet, published)
    with fleet.engine.begin() as connection:
        saved = connection.scalar(
            sa.text("select max(publication_id) from publications")
        )
    fleet.next_night()
    publish(fleet, published)
    # A restore: the night is gone, and the numbers of publications go on from the backup.
    with fleet.engine.begin() as connection:
        for table in ("score_totals", "scores"):
            connection.execute(sa.text(f"delete from {table}"))
        for table in ("forecast_totals", "forecasts", "publications"):
            connection.execute(
                sa.text(f"delete from {table} where origin_on = :d"), {"d": LAST}
            )
        connection.execute(
            sa.text(
                "select setval(pg_get_serial_sequence('publications', 'publication_id'), :n)"
            ),
            {"n": saved},
        )
        connection.execute(
            sa.text("update daily_counts set orders = 400 where service_on = :d"),
            {"d": LAST},
        )
    counting.rebuild(
        fleet.engine, midnight_after(LAST)
    )  # the mended file has other counts
    artefacts = fleet.home / "artefacts"
    later = midnight_after(LAST) + timedelta(hours=5)
    forecast_from(fleet.engine, artefacts, LAST, later, UTC_ZONE)
    publish(fleet, published)
    (shown,) = fleet.read("select sum(p50) as p50 from latest_forecasts")
    got = rows_of(published, "forecasts", "origin_on", "depot_id", "target_on")
    assert got[got["origin_on"] == LAST]["p50"].sum() == pytest.approx(shown["p50"])


def test_scores_whose_actuals_were_withdrawn_are_published_no_longer(fleet, published):
    fleet.next_night()
    publish(fleet, published)
    assert any(name.startswith("scores/") for name in names_in(published))
    with fleet.engine.begin() as connection:
        gone = sa.text("delete from daily_counts where service_on = :day")
        connection.execute(gone, {"day": LAST})
    counting.rebuild(fleet.engine, midnight_after(LAST))
    score_known_days(fleet.engine)
    assert fleet.read("select * from daily_scores") == []
    publish(fleet, published)
    assert not any(name.startswith("scores/") for name in names_in(published))


def test_a_damaged_manifest_publishes_everything_again(fleet, published, tmp_path):
    publish(fleet, published)
    (tmp_path / "published" / "_published.json").write_bytes(b"")
    assert publish(fleet, published) == {"forecasts": 1, "totals": 1}


def test_the_next_attempt_publishes_only_what_is_missing(fleet, published, monkeypatch):
    fleet.next_night()
    write, seen = Destination.write, []

    def fail_once_at_totals(self, path, content):
        seen.append(path)
        if path.startswith("totals/") and fail:
            raise OSError("Connection reset by peer")
        write(self, path, content)

    monkeypatch.setattr(Destination, "write", fail_once_at_totals)
    fail = True
    with pytest.raises(OSError, match="reset"):
        publish(fleet, published)
    before, fail = {p for p in seen if p.startswith("forecasts/")}, False
    assert len(before) == 4
    seen.clear()
    publish(fleet, published)
    assert not before & set(seen)


@EVERYWHERE
def test_scores_of_a_killed_night_go_once_their_actuals_are_withdrawn(
    fleet, published, monkeypatch
):
    publish(fleet, published)
    fleet.next_night()
    publish_until_it_is_lost(
        fleet, published, monkeypatch,
        lambda path: path.startswith(files.LATEST) or path == files.MANIFEST,
    )  # fmt: skip
    assert any(name.startswith("scores/") for name in names_in(published))
    with fleet.engine.begin() as connection:
        connection.execute(
            sa.text("delete from daily_counts where service_on = :day"), {"day": LAST}
        )
    counting.rebuild(fleet.engine, midnight_after(LAST))
    score_known_days(fleet.engine)
    publish(fleet, published)
    assert not any(name.startswith("scores/") for name in names_in(published))


def test_without_the_list_hours_of_earlier_origins_stay(fleet, published):
    publish_with_hours(fleet, published)
    fleet.next_night()
    publish(fleet, published)
    published.system.delete_file(files.MANIFEST)
    publish(fleet, published)
    assert f"hours/origin_on={EARLIER}/{files.PART}" in names_in(published)


def test_withdrawn_scores_of_a_hindcast_go(fleet, published):
    fleet.next_night()
    publish(fleet, published)
    with fleet.engine.begin() as connection:
        # As a backfill stores it: without a publication, unlike what is shown.
        connection.execute(
            sa.text("delete from publications where origin_on = :day"), {"day": EARLIER}
        )
        connection.execute(
            sa.text("delete from daily_counts where service_on = :day"), {"day": LAST}
        )
    counting.rebuild(fleet.engine, midnight_after(LAST))
    score_known_days(fleet.engine)
    publish(fleet, published)
    assert not any(name.startswith("scores/") for name in names_in(published))
