"""Old forecasts and scores go into a file a month, and nothing is lost on the way."""

import json
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from forecaster.errors import BadInputError
from pipelines.cli import app
from pipelines.demand import counting
from pipelines.forecasting import forecast_export, month_files, scoring
from pipelines.forecasting.forecast_export import export_old_forecasts
from pipelines.schema import forecast_totals, forecasts, score_totals, scores
from pipelines.settings import Settings
from pipelines.store import forecasts as forecast_store
from pipelines.store import models as model_store
from tests.pipelines.make import START, add_fleet, forecast_table

pytestmark = pytest.mark.db

TABLES = (forecasts, forecast_totals, scores)
DAYS = 440
LAST = START + timedelta(days=DAYS - 1)  # 2025-03-15
NOW = datetime.combine(LAST + timedelta(days=1), datetime.min.time(), UTC)
JANUARY, FEBRUARY, MARCH = (date(2024, month, 1) for month in (1, 2, 3))
# Two of January, two of February, two of March, one of a year later: `KEEP` days before it
# is March 8, so that March is kept whole.
ORIGINS = [
    date(2024, 1, 20), date(2024, 1, 30), date(2024, 2, 10), date(2024, 2, 28),
    date(2024, 3, 2), date(2024, 3, 20), date(2025, 3, 8),
]  # fmt: skip
KEEP = 365


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path, keep_forecasts_days=KEEP)


@pytest.fixture
def fleet(clean_engine, rng):
    """Two depots with forecasts from seven origins, scored."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=2, n_days=DAYS)
        model_store.add_model(
            connection, version="v", trained_through=START, seed=0, data_watermark="",
            filename="", sha256="", role="champion", scores={},
        )  # fmt: skip
        for origin in ORIGINS:
            write(connection, origin, rng)
    counting.rebuild(clean_engine, NOW)
    scoring.score_known_days(clean_engine, ZoneInfo("UTC"))
    return clean_engine


def write(connection, origin, rng):
    """Forecasts of both depots and the fleet's total, seven days ahead."""
    days = [origin + timedelta(days=step) for step in range(1, 8)]
    rows = [
        (
            depot,
            origin,
            day,
            "v",
            *np.sort(rng.random(4) * 90)[[0, 2, 3, 1]],
            "model",
            True,
            NOW,
            None,
        )
        for depot in ("A0", "A1")
        for day in days
    ]
    forecast_store.replace_forecasts(
        connection, origin, "v", forecast_table(rows), live=True, made_at=NOW
    )
    totals = [("", origin, day, "v", *np.sort(rng.random(2) * 90)) for day in days]
    forecast_store.replace_totals(connection, origin, "v", totals)


def stored(engine):
    """Every row of the tables, by table."""
    with engine.connect() as connection:
        return {
            table.name: {tuple(row) for row in connection.execute(sa.select(table))}
            for table in TABLES
        }


def exported(settings):
    """Every row of the files, by table, as pandas reads a folder of them."""
    found = {}
    for table in TABLES:
        folder = settings.exports / table.name
        frame = (
            pd.read_parquet(folder) if any(folder.glob("*.parquet")) else pd.DataFrame()
        )
        rows = [tuple(row) for row in frame.astype(object).itertuples(index=False)]
        assert len(set(map(plain, rows))) == len(rows)
        found[table.name] = {plain(row) for row in rows}
    return found


def plain(row):
    """Pandas' values as Python's; a date stays, a moment has its zone."""
    values = (
        each.to_pydatetime() if isinstance(each, pd.Timestamp) else each for each in row
    )
    return tuple(None if pd.isna(each) else each for each in values)


def older(rows, before):
    """The rows of origins before a day; the origin is their second column."""
    return {
        name: {row for row in some if row[1] < before} for name, some in rows.items()
    }


def rest(rows, before):
    return {
        name: {row for row in some if row[1] >= before} for name, some in rows.items()
    }


def test_months_that_are_older_are_exported_and_deleted_and_others_kept(
    fleet, settings
):
    before = stored(fleet)
    assert [len(rows) for rows in before.values()] == [98, 49, 98]
    outcome = export_old_forecasts(fleet, settings)
    assert outcome == forecast_export.ExportedForecasts(
        rows=4 * (14 + 7 + 14), files=6, before=date(2024, 3, 8)
    )
    assert exported(settings) == older(before, MARCH)
    assert stored(fleet) == rest(before, MARCH)
    names = sorted(path.name for path in settings.exports.rglob("*") if path.is_file())
    assert names == 3 * ["2024-01.parquet"] + 3 * ["2024-02.parquet"]


def test_files_are_their_owners_alone(fleet, settings):
    export_old_forecasts(fleet, settings)
    made = [settings.exports, *settings.exports.rglob("*")]
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in made}
    assert modes == {(True, 0o700), (False, 0o600)}


def test_exporting_again_changes_nothing(fleet, settings):
    export_old_forecasts(fleet, settings)
    files = {path: path.read_bytes() for path in settings.exports.rglob("*.parquet")}
    assert export_old_forecasts(fleet, settings).is_nothing
    assert files == {
        path: path.read_bytes() for path in settings.exports.rglob("*.parquet")
    }


class Killed(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("nth", range(6))
@pytest.mark.parametrize("point", ["before the rename", "after it"])
def test_killed_at_any_file_nothing_is_lost_and_the_next_export_ends_the_same(
    fleet, settings, monkeypatch, nth, point
):
    before, publish, calls = stored(fleet), month_files.publish, []

    def killed(staged, path):
        calls.append(path)
        if len(calls) <= nth:
            return publish(staged, path)
        if point == "after it":
            publish(staged, path)
        raise Killed

    monkeypatch.setattr(month_files, "publish", killed)
    with pytest.raises(Killed):
        export_old_forecasts(fleet, settings)
    there, here = stored(fleet), exported(settings)
    assert all(there[name] | here[name] == before[name] for name in before)
    monkeypatch.setattr(month_files, "publish", publish)
    export_old_forecasts(fleet, settings)
    assert exported(settings) == older(before, MARCH)
    assert stored(fleet) == rest(before, MARCH)
    assert not list(settings.exports.rglob("*.tmp"))


def test_forecasts_that_come_later_for_an_exported_month_are_added(
    fleet, settings, rng
):
    first = older(stored(fleet), MARCH)
    export_old_forecasts(fleet, settings)
    with fleet.begin() as connection:
        write(connection, date(2024, 1, 25), rng)
        write(connection, date(2024, 1, 30), rng)
    scoring.score_known_days(fleet, ZoneInfo("UTC"))
    again = older(stored(fleet), MARCH)
    export_old_forecasts(fleet, settings)
    replaced = {
        name: {row for row in rows if row[1] != date(2024, 1, 30)}
        for name, rows in first.items()
    }
    assert exported(settings) == {name: replaced[name] | again[name] for name in first}
    assert older(stored(fleet), MARCH) == {table.name: set() for table in TABLES}


@pytest.mark.parametrize("table", [forecasts, scores], ids=lambda table: table.name)
def test_rows_of_before_the_point_was_kept_get_the_median(fleet, settings, rng, table):
    export_old_forecasts(fleet, settings)
    path = month_files.path_of(settings.exports, table, JANUARY)
    old = pq.read_table(path)
    pq.write_table(old.drop_columns("point"), path)
    with fleet.begin() as connection:
        write(connection, date(2024, 1, 25), rng)
    scoring.score_known_days(fleet, ZoneInfo("UTC"))
    with fleet.connect() as connection:
        later = connection.execute(
            sa.select(table.c.point).where(table.c.origin_on == date(2024, 1, 25))
        )
        points = {*later.scalars(), *old["p50"].to_pylist()}
    export_old_forecasts(fleet, settings)
    assert set(pq.read_table(path)["point"].to_pylist()) == points


def test_a_file_that_cannot_be_read_keeps_the_rows_where_they_are(fleet, settings):
    path = month_files.path_of(settings.exports, scores, JANUARY)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"half a file")
    before = stored(fleet)
    with pytest.raises(
        BadInputError, match=r"2024-01.parquet cannot be read.*Move it away"
    ):
        export_old_forecasts(fleet, settings)
    assert stored(fleet) == before
    assert path.read_bytes() == b"half a file"


def test_sums_of_the_scores_go_with_them_and_none_is_scored_again(fleet, settings):
    with fleet.connect() as connection:
        kept = connection.execute(
            sa.select(score_totals).where(score_totals.c.origin_on >= MARCH)
        ).all()
    export_old_forecasts(fleet, settings)
    assert scoring.score_known_days(fleet, ZoneInfo("UTC")) == 0
    with fleet.connect() as connection:
        assert connection.execute(sa.select(score_totals)).all() == kept
    assert len(stored(fleet)["scores"]) == 3 * 14


def test_without_the_setting_everything_is_kept(fleet, tmp_path):
    before = stored(fleet)
    assert export_old_forecasts(fleet, Settings(home=tmp_path)) is None
    assert stored(fleet) == before


def test_the_command_exports_and_says_where(fleet, settings, database_url, monkeypatch):
    monkeypatch.setenv("HARBOR_DATABASE_URL", database_url)
    monkeypatch.setenv("HARBOR_HOME", str(settings.home))
    monkeypatch.setenv("HARBOR_KEEP_FORECASTS_DAYS", str(KEEP))
    before = stored(fleet)
    done = CliRunner().invoke(app, ["db", "prune"])
    assert f"exported: 140 rows, in 6 files in {settings.exports}." in done.output
    assert exported(settings) == older(before, MARCH)
    done = CliRunner().invoke(app, ["db", "prune", "--json"])
    nothing = {"rows": 0, "files": 0, "before": "2024-03-08"}
    assert json.loads(done.output)["forecasts"] == nothing
    assert "forecasts of the months of the last 365 days" in str(done.exception)


def test_without_forecasts_there_is_nothing_to_export(clean_engine, settings):
    assert export_old_forecasts(clean_engine, settings).is_nothing
    assert not settings.exports.exists()
