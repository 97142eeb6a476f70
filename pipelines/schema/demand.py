"""Tables of daily demand, and of the days to be recounted."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from pipelines.schema.base import CLOCK, Timestamp, metadata, numbered

# Appended, never overwritten: a correction closes the version before it.
demand_versions = sa.Table(
    "demand_versions",
    metadata,
    sa.Column("depot_id", sa.Text, primary_key=True),
    sa.Column("service_on", sa.Date, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    # Null: not observed.
    sa.Column("orders", sa.BigInteger),
    sa.Column("known_at", Timestamp, nullable=False),
    sa.Column("superseded_at", Timestamp),
    # Set last, so that it increases in commit order: see `store.load_timestamps`.
    sa.Column("recorded_at", Timestamp, nullable=False, server_default=CLOCK),
    sa.CheckConstraint("orders >= 0", name="orders"),
)
sa.Index(
    "uq_demand_versions_current",
    demand_versions.c.depot_id,
    demand_versions.c.service_on,
    unique=True,
    postgresql_where=demand_versions.c.superseded_at.is_(None),
)
sa.Index("ix_demand_versions_service_on", demand_versions.c.service_on)

# Orders before `before_on` were dropped; demand before it never changes.
frozen_days = sa.Table(
    "frozen_days",
    metadata,
    sa.Column("before_on", sa.Date, primary_key=True),
)

# Number of orders by the depot's local service day. Counts of frozen days never change.
order_counts = sa.Table(
    "order_counts",
    metadata,
    sa.Column("service_on", sa.Date, primary_key=True),
    sa.Column("depot_id", sa.Text, primary_key=True),
    sa.Column("orders", sa.BigInteger, nullable=False),
    # Orders in each hour of the depot's local time, from midnight.
    sa.Column("by_hour", pg.ARRAY(sa.Integer), nullable=False),
    # The first file with orders of the day; later files may correct them.
    sa.Column("file_id", sa.BigInteger, nullable=False),
    # The last file with orders of the day, and the local time of the day's last order.
    sa.Column("last_file_id", sa.BigInteger, nullable=False),
    sa.Column("last_time", sa.Time, nullable=False),
)

# Days whose orders must be counted again; may have duplicates; -infinity stands for every day.
# Every writer of orders or of depots' time zones adds rows: see `store.order_counts`.
changed_days = sa.Table(
    "changed_days",
    metadata,
    numbered("mark_id"),
    sa.Column("day_on", sa.Date, nullable=False),
)
