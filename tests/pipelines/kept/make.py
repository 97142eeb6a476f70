"""Makes `schema-0001.sql`: a small fleet in the tables of the first migration.

    python -m tests.pipelines.kept.make > tests/pipelines/kept/schema-0001.sql

Not made anew when the schema changes: it stands for a database of an older release.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import sqlalchemy as sa

from pipelines import embedded, migrate
from pipelines.backup import clients

DATA = """
insert into depots (depot_id, name, city, timezone, country, closed_weekdays, is_complete)
values ('RTM', 'Rotterdam', 'Rotterdam', 'Europe/Amsterdam', 'NL', '{7}', true),
       ('LIS', 'Lisbon', 'Lisbon', 'Europe/Lisbon', 'PT', '{}', false);
insert into files (path, sha256, reading, kind, size_bytes, accepted, unchanged, rejected,
                   ignored_columns, loaded_at)
values ('orders.csv', repeat('a', 64), repeat('b', 64), 'orders', 9000, 200, 3, 1,
        '{note}', '2024-02-05 03:00+00'),
       ('daily.csv', repeat('c', 64), repeat('b', 64), 'daily', 90, 7, 0, 0, '{}',
        '2024-02-05 03:00+00');
insert into orders
select format('%s-%s-%s', depot_id, day, n), depot_id,
       '2024-01-01'::timestamp + make_interval(days => day, hours => 9 + n),
       case when depot_id = 'LIS' then 0 end, 1
from (values ('RTM', 3), ('LIS', 2)) as depot (depot_id, per_day),
     generate_series(0, 34) as day, generate_series(1, per_day + day % 3) as n;
insert into daily_counts
select 'LIS', date '2024-02-05' + day, nullif(4 + day, 6), 2 from generate_series(0, 6) as day;
insert into events (kind, starts_on, ends_on, city, value, known_from, file_id)
values ('closed', '2024-01-20', '2024-01-21', 'Lisbon', null, null, 1),
       ('promotion', '2024-02-01', '2024-02-03', null, 1.5, '2024-01-15', 1);
insert into public_holidays values ('NL', '', '2024-01-01', 'New Year''s Day');
insert into quarantine (file_id, line, column_name, value, reason, raw)
values (1, 17, 'ordered_at', 'soon', 'is no time', '{"ordered_at": "soon"}');
insert into demand_versions (depot_id, service_on, version, orders, known_at,
                             superseded_at, recorded_at)
select depot_id, ordered_local::date, 1, count(*),
       ordered_local::date + interval '1 day 4 hours', null, '2024-02-05 04:31+00'
from orders group by 1, 2;
insert into runs (step, origin_on, state, started_at, heartbeat_at, finished_at, counts)
values ('nightly', '2024-02-04', 'done', '2024-02-05 04:30+00', '2024-02-05 04:33+00',
        '2024-02-05 04:33+00', '{"origin": "2024-02-04"}');
insert into runs (parent_id, step, origin_on, state, started_at, heartbeat_at,
                  finished_at, counts, error)
values (1, 'train', '2024-02-04', 'failed', '2024-02-05 04:31+00',
        '2024-02-05 04:32+00', '2024-02-05 04:32+00', '{}', 'Too little history.');
insert into models (version, created_at, trained_through, data_watermark, filename, sha256,
                    seed, role, scores, reason, promoted_at, run_id)
values ('20240131-0a1b2c3d', '2024-02-01 04:40+00', '2024-01-31', 'w', 'm.npz',
        repeat('d', 64), 7, 'champion', '{"models": {"gru": {"mape": 8.5}}}',
        'It is the first model.', '2024-02-01 04:41+00', 1);
insert into forecasts
select depot_id, '2024-02-04', date '2024-02-04' + h, '20240131-0a1b2c3d', 1, 2.5, 4 + h,
       'model', true, '2024-02-05 04:33+00', 1
from depots, generate_series(1, 7) as h;
insert into scores
select depot_id, '2024-01-31', '2024-02-01', '20240131-0a1b2c3d', 4, 1, 2.5, 5, 3, null,
       true, '2024-02-05 04:31+00' from depots;
"""


def main() -> None:
    """Writes the dump to standard output, without what only psql understands."""
    with tempfile.TemporaryDirectory() as home, embedded.running(Path(home)) as url:
        engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
        migrate.upgrade(engine, "0001")
        with engine.begin() as connection:
            connection.exec_driver_sql(DATA.replace("%", "%%"))
        engine.dispose()
        options = [
            "--inserts",
            "--rows-per-insert=100",
            "--no-owner",
            "--no-privileges",
        ]
        dump = [
            clients._program("pg_dump"),
            *options,
            "--schema=public",
            f"--dbname={url}",
        ]
        text = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
    noise = (
        "\\",
        "--",
        "SET ",
        "SELECT pg_catalog.set_config",
        "CREATE SCHEMA",
        "COMMENT ON SCHEMA",
    )
    kept = [line for line in text.splitlines() if line and not line.startswith(noise)]
    sys.stdout.write("\n".join(kept) + "\n")


if __name__ == "__main__":
    main()
