"""The four views keep their promise, for a user who is only a member of harbor_reader."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from pipelines.database import roles
from pipelines.demand import counting
from pipelines.schema import metadata
from pipelines.schema.reader_views import READER_VIEWS
from pipelines.store.accuracy import Period
from tests.pages import ROOT
from tests.pipelines import in_process
from tests.pipelines.make import (
    DAYS,
    LAST,
    add_champion,
    add_counts,
    add_event,
    count_fleet,
    forecast_from,
    live_scores,
    midnight_after,
    scalar,
    score_known_days,
)

PAGE = ROOT / "deploy" / "docs" / "other-systems.md"
USER = "test_metabase"
NUMBER, TEXT, DAY = "double precision", "text", "date"
TYPES = {
    "latest_forecasts": {
        "depot_id": TEXT, "city": TEXT, "origin_on": DAY, "target_on": DAY,
        "horizon": "integer", "p10": NUMBER, "p50": NUMBER, "p90": NUMBER, "point": NUMBER,
        "planned": NUMBER, "basis": TEXT, "model_version": TEXT, "is_live": "boolean",
        "made_at": "timestamp with time zone",
    },
    "latest_totals": {
        "city": TEXT, "origin_on": DAY, "target_on": DAY, "horizon": "integer",
        "p10": NUMBER, "p50": NUMBER, "p90": NUMBER, "planned": NUMBER, "model_version": TEXT,
    },
    "daily_scores": {
        "depot_id": TEXT, "city": TEXT, "origin_on": DAY, "target_on": DAY,
        "horizon": "integer", "actual": NUMBER, "p10": NUMBER, "p50": NUMBER, "p90": NUMBER,
        "point": NUMBER, "seasonal_naive": NUMBER, "median4": NUMBER, "model_version": TEXT,
        "is_live": "boolean", "is_shown": "boolean",
    },
    "daily_demand": {
        "depot_id": TEXT, "city": TEXT, "service_on": DAY, "orders": "bigint",
        "is_observed": "boolean", "is_closed": "boolean",
        "known_at": "timestamp with time zone",
    },
}  # fmt: skip
"""The promise, written out: whoever changes it breaks what others have built."""
PLAN = """
insert into overrides
  (depot_id, target_on, orders, point, origin_on, model_version, reason, made_by)
select depot_id, target_on, 123, point, origin_on, model_version, 'a fair', 'Anna'
from forecasts where depot_id = :depot and target_on = :target
"""


@pytest.fixture
def reader(engine, database_url):
    """A connection of a user of another system."""
    roles.ensure(engine)
    with engine.begin() as connection:
        connection.execute(sa.text(f"create user {USER} in role harbor_reader"))
    theirs = sa.create_engine(database_url.replace("harbor@", f"{USER}@"))
    with theirs.connect() as connection:
        yield connection
    theirs.dispose()
    with engine.begin() as connection:
        connection.execute(sa.text(f"drop user {USER}"))


@pytest.fixture
def fleet(clean_engine, tmp_path):
    """Two depots that were forecast five days ago, which is scored, and last night."""
    count_fleet(clean_engine, n_days=DAYS - 5)
    earlier = LAST - timedelta(days=5)
    add_champion(clean_engine, earlier, tmp_path)
    zone = ZoneInfo("UTC")
    forecast_from(clean_engine, tmp_path, earlier, midnight_after(earlier), zone)
    with clean_engine.begin() as connection:
        days = [LAST - timedelta(days=step) for step in range(5)]
        add_counts(connection, ("A0", "A1"), days, 70)
        add_event(connection, "closed", LAST + timedelta(days=2), depot_id="A1")
    counting.rebuild(clean_engine, midnight_after(LAST))
    forecast_from(clean_engine, tmp_path, LAST, midnight_after(LAST), zone)
    score_known_days(clean_engine)
    with clean_engine.begin() as connection:
        connection.execute(
            sa.text(PLAN), {"depot": "A0", "target": LAST + timedelta(days=1)}
        )
    return clean_engine


def test_the_columns_are_those_that_were_promised(reader):
    for view, columns in TYPES.items():
        statement = sa.text(
            "select attname, format_type(atttypid, atttypmod), col_description(attrelid, attnum)"
            " from pg_attribute where attrelid = cast(:view as regclass) and attnum > 0"
            " order by attnum"
        )
        found = reader.execute(statement, {"view": view}).all()
        assert {name: kind for name, kind, _ in found} == columns, view
        assert [name for name, *_ in found] == list(columns), view
        described = {name: comment for name, _, comment in found}
        assert described == READER_VIEWS[view].columns, view


def test_the_page_describes_every_column_as_the_database_does():
    assert PAGE.read_text().count("\n### `") == len(READER_VIEWS)
    for name, view in READER_VIEWS.items():
        lines = [f"### `{name}`", "", view.comment, "", "| column | |", "|---|---|"]
        lines += [f"| `{column}` | {text} |" for column, text in view.columns.items()]
        assert "\n".join(lines) in PAGE.read_text(), "\n".join(lines)


def test_the_tables_stay_private(reader):
    names = [*metadata.tables, "shown_forecast", "live_forecasts", "events"]
    for statement in (
        *(f"select * from {name} limit 1" for name in names),
        "create table mine (a int)",
        "delete from latest_forecasts",
        "select add_overrides('[]', 'a', 'b')",
        "select pg_advisory_lock(1)",
    ):
        with (
            pytest.raises(sa.exc.DBAPIError, match=r"denied|cannot delete"),
            reader.begin_nested(),
        ):
            reader.execute(sa.text(statement))


def rows_of(reader, statement):
    return [dict(row) for row in reader.execute(sa.text(statement)).mappings()]


def test_the_latest_forecast_is_the_one_of_the_command(fleet, reader):
    found = rows_of(
        reader, "select * from latest_forecasts order by depot_id, target_on"
    )
    assert len(found) == 2 * 7
    assert {row["origin_on"] for row in found} == {LAST}
    assert [row["horizon"] for row in found] == [*range(1, 8)] * 2
    assert found[0]["planned"] == 123
    assert found[0]["point"] != 123
    closed = found[7 + 1]
    assert (closed["basis"], closed["p90"], closed["planned"]) == ("closed", 0, 0)

    totals = rows_of(reader, "select * from latest_totals order by city, target_on")
    assert [row["city"] for row in totals] == [""] * 7 + ["Delft"] * 7
    day = [row for row in found if row["horizon"] == 3]
    total = next(row for row in totals if row["horizon"] == 3)
    assert total["p10"] < total["p50"] < total["p90"]
    assert total["p50"] == pytest.approx(sum(row["p50"] for row in day), rel=0.1)
    first = totals[0]
    level = first["p50"] / sum(row["p50"] for row in found if row["horizon"] == 1)
    expected = 123 + level * found[7]["p50"]
    assert first["planned"] == pytest.approx(expected)


def test_the_scores_add_up_to_the_live_accuracy(fleet, reader):
    (live,) = live_scores(fleet, ("model",), Period(28))
    (added,) = rows_of(
        reader,
        "select count(*) as days, 100 * sum(abs(point - actual)) / sum(actual) as wape,"
        " 100 * sum(point - actual) / sum(actual) as bias from daily_scores where is_shown",
    )
    assert added["days"] == live["days"] == 2 * 5
    assert (added["wape"], added["bias"]) == pytest.approx((live["wape"], live["bias"]))


def test_the_demand_tells_closed_and_unknown_days_from_zero(fleet, reader):
    def change(statement, day):
        with fleet.begin() as connection:
            connection.execute(sa.text(statement), {"day": day})

    change("update demand_versions set orders = null"
           " where depot_id = 'A0' and service_on = :day", LAST)  # fmt: skip
    change("update event_versions set starts_on = :day", LAST)
    found = reader.execute(
        sa.text(
            "select orders, is_observed, is_closed from daily_demand"
            f" where service_on = '{LAST}' order by depot_id"
        )
    ).all()
    assert found == [(None, False, False), (70, True, True)]
    days = (
        "select service_on, orders from daily_demand where depot_id = 'A1' order by 1"
    )
    before = rows_of(reader, days)
    assert len(before) == DAYS
    gap = LAST - timedelta(days=3)
    change("delete from demand_versions where service_on = :day", gap)
    reader.rollback()
    # A day that no file has named has a row, too, so that a lag by rows is one by days.
    without = [
        row | {"orders": None} if row["service_on"] == gap else row for row in before
    ]
    assert rows_of(reader, days) == without


def test_the_city_of_a_depot_that_no_file_has_named_is_as_documented(
    clean_engine, database_url, tmp_path
):
    file = tmp_path / "orders.csv"
    file.write_text("order_id,depot_id,ordered_at\no1,A,2026-03-01T10:00:00\n")
    places = {"HARBOR_DATABASE_URL": database_url, "HARBOR_HOME": str(tmp_path)}
    assert in_process.harbor("ingest", str(file), **places).returncode == 0
    counting.rebuild(clean_engine, datetime.now(UTC))
    documented = scalar(
        clean_engine,
        "select col_description('daily_demand'::regclass, attnum) from pg_attribute "
        "where attrelid = 'daily_demand'::regclass and attname = 'city'",
    )
    city = scalar(clean_engine, "select city from daily_demand")
    assert city == "Unassigned"
    assert f"`{city}`" in documented
