"""Tables of runs and their log lines."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from pipelines.schema.base import NOW, Timestamp, metadata, numbered

RUN_LOCK = 0x52_554E  # "RUN"
"""First key of the advisory lock that a run's session holds; the second is its run_id."""

HAS_SESSION = f"""(pg_is_in_recovery() or exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.classid = {RUN_LOCK}
      and l.objid::bigint = coalesce(runs.parent_id, runs.run_id) and l.objsubid = 2
      and l.database = (select oid from pg_database where datname = current_database())
))"""
"""Whether the session of a row of `runs` is alive; always true on a replica."""
RUN_STATE = f"""
case when runs.state = 'running' and not {HAS_SESSION} then 'failed' else runs.state end
"""
"""State of a run for readers: a running run whose session has ended counts as failed."""

runs = sa.Table(
    "runs",
    metadata,
    numbered("run_id"),
    # The nightly run or backfill this step belongs to; null for a step run by itself.
    sa.Column("parent_id", sa.BigInteger, sa.ForeignKey("runs.run_id"), index=True),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("origin_on", sa.Date),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("started_at", Timestamp, nullable=False, server_default=NOW),
    sa.Column("finished_at", Timestamp),
    sa.Column("metrics", pg.JSONB, nullable=False, server_default=sa.text("'{}'")),
    sa.Column("error", sa.Text),
    # Host and process id of the run.
    sa.Column("host", sa.Text),
    sa.Column("pid", sa.BigInteger),
    sa.CheckConstraint("state in ('running','done','failed','skipped')", name="state"),
)

# Log lines of runs, so that another process can follow a run.
run_lines = sa.Table(
    "run_lines",
    metadata,
    numbered("line_id"),
    sa.Column(
        "run_id",
        sa.BigInteger,
        sa.ForeignKey("runs.run_id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    sa.Column("written_at", Timestamp, nullable=False),
    sa.Column("level", sa.Text, nullable=False),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("fields", pg.JSONB, nullable=False),
)
