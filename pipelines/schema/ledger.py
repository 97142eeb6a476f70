"""What ran, what it said, and what it was planned to do."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from pipelines.schema.base import NOW, Moment, metadata

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    # The nightly run or backfill this step belongs to; null for a step run alone.
    sa.Column("parent_id", sa.BigInteger, sa.ForeignKey("runs.run_id"), index=True),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("origin_on", sa.Date),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("started_at", Moment, nullable=False, server_default=NOW),
    sa.Column("heartbeat_at", Moment, nullable=False, server_default=NOW),
    sa.Column("finished_at", Moment),
    sa.Column("metrics", pg.JSONB, nullable=False, server_default=sa.text("'{}'")),
    sa.Column("error", sa.Text),
    # The process that the run is; null in rows of before this was kept.
    sa.Column("host", sa.Text),
    sa.Column("pid", sa.BigInteger),
    sa.CheckConstraint("state in ('running','done','failed','skipped')", name="state"),
)

# What a run logged, so that it can be followed from elsewhere.
run_lines = sa.Table(
    "run_lines",
    metadata,
    sa.Column("line_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column(
        "run_id",
        sa.BigInteger,
        sa.ForeignKey("runs.run_id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    sa.Column("written_at", Moment, nullable=False),
    sa.Column("level", sa.Text, nullable=False),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("fields", pg.JSONB, nullable=False),
)

# What somebody asked for, and what the ledger looked like then.
backfills = sa.Table(
    "backfills",
    metadata,
    sa.Column("backfill_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("created_at", Moment, nullable=False, server_default=NOW),
    sa.Column("asked", pg.JSONB, nullable=False),
    sa.Column("ledger", pg.JSONB, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    # What somebody at another terminal wants of the one who applies it.
    sa.Column("wanted", sa.Text),
    sa.CheckConstraint(
        "state in ('planned','running','paused','cancelled','done','failed')",
        name="state",
    ),
    sa.CheckConstraint("wanted in ('pause','cancel')", name="wanted"),
)

backfill_slots = sa.Table(
    "backfill_slots",
    metadata,
    sa.Column(
        "backfill_id",
        sa.BigInteger,
        sa.ForeignKey("backfills.backfill_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # In the order in which they are done; counts from 1.
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("origin_on", sa.Date),
    # False: it is in the plan only to say why nothing is done.
    sa.Column("is_in", sa.Boolean, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("model_version", sa.Text),
    sa.Column("rows", sa.BigInteger, nullable=False),
    # Seconds that past runs say it takes; null where there is none to go by.
    sa.Column("estimate_s", sa.Double),
    sa.Column("overwrites", sa.BigInteger, nullable=False),
    # When the newest of the forecasts it overwrites was made.
    sa.Column("newest_made_at", Moment),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("run_id", sa.BigInteger, sa.ForeignKey("runs.run_id")),
    sa.Column("finished_at", Moment),
    sa.CheckConstraint(
        "step in ('ingest','demand','train','forecast','score')", name="step"
    ),
    sa.CheckConstraint("state in ('left out','waiting','done','failed')", name="state"),
    sa.CheckConstraint("is_in = (state <> 'left out')", name="is_in"),
)
