"""Tables of overrides, notices and dashboard probes."""

import sqlalchemy as sa

from pipelines.schema.base import NOW, Moment, metadata

# What planners know better; appended by the function `add_override` alone. The newest
# row of a depot's day counts.
overrides = sa.Table(
    "overrides",
    metadata,
    sa.Column("override_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("depot_id", sa.Text, sa.ForeignKey("depots.depot_id"), nullable=False),
    sa.Column("target_on", sa.Date, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    # Orders planned from now on; null: those of the forecast again.
    sa.Column("orders", sa.Double),
    # What the forecast shown said then, and where it came from.
    sa.Column("p50", sa.Double, nullable=False),
    sa.Column("origin_on", sa.Date, nullable=False),
    sa.Column("model_version", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("made_by", sa.Text, nullable=False),
    sa.Column("made_at", Moment, nullable=False, server_default=NOW),
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

# What people were told, once for each channel; kept, so that nothing is told twice.
notices = sa.Table(
    "notices",
    metadata,
    sa.Column("notice_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    # What it is about: the same trouble has the same key.
    sa.Column("key", sa.Text, nullable=False),
    # Such as webhook; never its address.
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("made_at", Moment, nullable=False, server_default=NOW),
    sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
    # Null: it is sent, or was given up.
    sa.Column("next_attempt_at", Moment),
    sa.Column("sent_at", Moment),
    sa.Column("error", sa.Text),
    sa.UniqueConstraint("key", "channel", name="uq_notices_key_channel"),
    sa.CheckConstraint("kind in ('failure','recovery','silence')", name="kind"),
    sa.CheckConstraint("sent_at is null or next_attempt_at is null", name="sent"),
)

# How the dashboard answered the watch, once a minute; kept for a hundred days.
dashboard_probes = sa.Table(
    "dashboard_probes",
    metadata,
    sa.Column("probed_at", Moment, primary_key=True),
    sa.Column("answered", sa.Boolean, nullable=False),
    # Until it had answered and its first page's numbers were read; null where not.
    sa.Column("seconds", sa.Double),
    sa.CheckConstraint("seconds >= 0", name="seconds"),
)
