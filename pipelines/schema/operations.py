"""The table of overrides."""

import sqlalchemy as sa

from pipelines.schema.base import NOW, Timestamp, metadata

# Overrides by planners, appended only by the function `add_override`. The newest row of a
# depot's day applies.
overrides = sa.Table(
    "overrides",
    metadata,
    sa.Column("override_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("depot_id", sa.Text, sa.ForeignKey("depots.depot_id"), nullable=False),
    sa.Column("target_on", sa.Date, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    # Orders planned from now on; null: those of the forecast again.
    sa.Column("orders", sa.Double),
    # The forecast published at that time, and its origin and model.
    sa.Column("p50", sa.Double, nullable=False),
    sa.Column("origin_on", sa.Date, nullable=False),
    sa.Column("model_version", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("made_by", sa.Text, nullable=False),
    sa.Column("made_at", Timestamp, nullable=False, server_default=NOW),
    sa.CheckConstraint("action in ('set','lock','unlock','withdraw')", name="action"),
    sa.CheckConstraint(
        "case when action = 'withdraw' then orders is null "
        "else coalesce(orders >= 0 and orders < 1e7, false) end",
        name="orders",
    ),
    sa.CheckConstraint("length(btrim(reason)) between 1 and 500", name="reason"),
    sa.CheckConstraint("length(btrim(made_by)) between 1 and 100", name="made_by"),
)
sa.Index(
    "ix_overrides_depot_day",
    overrides.c.depot_id,
    overrides.c.target_on,
    overrides.c.override_id,
)
