"""Queries of a new origin touch each row a few times, also before its rows are analysed."""

import pytest
import sqlalchemy as sa

from pipelines.planning import days_ahead
from pipelines.schema import reader_views
from pipelines.schema.planned_orders import PLANNED_PARTS

DEPOTS, ORIGINS = 400, 12
FLEET = f"""
insert into depots (depot_id, name, city, timezone, country, closed_weekdays,
                    is_complete)
select 'D' || n, 'D' || n, 'City ' || n % 4, 'Europe/Amsterdam', 'NL', '{{}}', true
from generate_series(1, {DEPOTS}) n;
insert into models (version, role, trained_through, data_watermark, filename, sha256, seed)
values ('m', 'champion', '2026-01-01', '', 'm', 'm', 0);
"""
FORECASTS = f"""
insert into forecasts (depot_id, origin_on, target_on, model_version, city, basis, p10, p50, p90,
                       point, is_live, made_at)
select 'D' || n, date '2026-01-01' + cast(:origin as integer),
       date '2026-01-01' + cast(:origin as integer) + ahead, 'm', 'City ' || n % 4, 'model', 1, 2, 3, 2, true,
       now()
from generate_series(1, {DEPOTS}) n, generate_series(1, 7) ahead
"""
TOTALS = """
insert into forecast_totals
select coalesce(city, ''), origin_on, target_on, model_version, sum(p10), sum(p50), sum(p90),
       count(*)
from forecasts
where origin_on = date '2026-01-01' + cast(:origin as integer)
group by grouping sets ((origin_on, target_on, model_version),
                        (city, origin_on, target_on, model_version))
"""
MOST_READS = 60
"""Times that a row of the forecast may be touched, all steps of a plan together."""


@pytest.fixture
def new_origin(clean_engine):
    """The day of an origin that the statistics do not know yet."""
    with clean_engine.begin() as connection:
        for statement in filter(str.strip, FLEET.split(";\n")):
            connection.execute(sa.text(statement))
        for origin in range(ORIGINS):
            for statement in (FORECASTS, TOTALS):
                connection.execute(sa.text(statement), {"origin": origin})
    with clean_engine.connect().execution_options(isolation_level="AUTOCOMMIT") as link:
        for table in ("depots", "forecasts", "forecast_totals", "scores"):
            link.execute(sa.text(f"analyze {table}"))
    with clean_engine.begin() as connection:
        for statement in (FORECASTS, TOTALS):
            connection.execute(sa.text(statement), {"origin": ORIGINS})
    yield f"2026-01-{ORIGINS + 1:02d}"
    # Other tests begin with the statistics of empty tables.
    with clean_engine.connect().execution_options(isolation_level="AUTOCOMMIT") as link:
        for table in ("forecasts", "forecast_totals", "depots"):
            link.execute(sa.text(f"truncate {table} cascade"))
            link.execute(sa.text(f"analyze {table}"))


def rows_touched(plan):
    """Rows that a step and those below it gave, however often each was run."""
    own = plan["Actual Rows"] * plan["Actual Loops"]
    removed = plan.get("Rows Removed by Join Filter", 0) * plan["Actual Loops"]
    return own + removed + sum(map(rows_touched, plan.get("Plans", [])))


def test_a_row_of_a_new_origin_is_touched_a_few_times(clean_engine, new_origin):
    parameters = {
        "origin": new_origin, "model": "m", "until": "2026-01-20", "since": "2026-01-01",
        "as_of": new_origin, "now": "2026-01-14 05:00+00",
    }  # fmt: skip
    statements = {
        "planned parts": PLANNED_PARTS,
        "totals": reader_views.TOTALS,
        "days ahead": days_ahead.FLEET_WEEK,
    }
    with clean_engine.connect() as connection:
        for name, statement in statements.items():
            explained = sa.text(f"explain (analyze, format json) {statement}")
            [[plan]] = connection.scalars(explained, parameters)
            assert rows_touched(plan["Plan"]) < MOST_READS * DEPOTS * 7, name
