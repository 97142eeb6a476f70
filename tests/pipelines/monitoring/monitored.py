"""A fleet with every metric of the watch, written straight into the tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta

import sqlalchemy as sa

from pipelines import schema
from pipelines.runs.ledger import recorded
from tests.dashboard.seed import seed
from tests.dashboard.seed_pipeline import seed_pipeline

NOBODY = "postgresql://nobody@127.0.0.1:1/none"
THROUGH = date(2026, 6, 9)
# A quarter to nine in the morning after the night of THROUGH, in the fleet's zone.
NOW = datetime.combine(THROUGH + timedelta(days=1), time(8, 45), UTC)
TRAINED = {
    "compilations": 7,
    "cache_hits": 6,
    "cache_misses": 1,
    "compile_seconds": 3.5,
    "first_step_seconds": 4.25,
    "step_seconds": 0.125,
    "device_memory_peak_bytes": 700,
    "device_memory_limit_bytes": 1000,
    "host_memory_peak_bytes": 900,
}
FORECAST = {
    "inference_seconds": 0.5,
    "inference_host_memory_peak_bytes": 256,
}
METRICS = {
    "train": TRAINED,
    "forecast": FORECAST,
    "accuracy": {"worse_days": 3, "alarms": ["It is worse."]},
    "ingest": {"files": 4, "refused": 1},
}
SET_METRICS = """
update runs set metrics = cast(:metrics as jsonb)
where run_id = (select max(run_id) from runs where step = :step and state = 'done'
                and (step <> 'ingest' or parent_id is not null))
"""


def seed_watched(engine: sa.Engine) -> None:
    """Three nights of which one failed, and numbers of each step."""
    seed(engine, THROUGH)
    seed_pipeline(engine, THROUGH)
    statement = sa.text(SET_METRICS).bindparams(sa.bindparam("metrics", type_=sa.JSON))
    with engine.begin() as connection:
        for step, metrics in METRICS.items():
            connection.execute(statement, {"step": step, "metrics": metrics})


@contextmanager
def running_night(engine: sa.Engine) -> Iterator[None]:
    """A night that began at NOW and runs while this is open."""
    with recorded(engine, "nightly", THROUGH) as run:
        began = sa.update(schema.runs).where(schema.runs.c.run_id == run.run_id)
        with run.engine.begin() as connection:
            connection.execute(began.values(started_at=NOW))
        yield
