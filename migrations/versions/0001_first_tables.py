"""Make the first tables: what came in, daily demand, runs, models, forecasts, scores.

Revision ID: 0001
Revises: none
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "daily_counts",
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("service_on", sa.Date(), nullable=False),
        sa.Column("orders", sa.BigInteger(), nullable=True),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("orders >= 0", name="ck_daily_counts_orders"),
        sa.PrimaryKeyConstraint("depot_id", "service_on", name="pk_daily_counts"),
    )
    op.create_table(
        "demand_versions",
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("service_on", sa.Date(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("orders", sa.BigInteger(), nullable=True),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("superseded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "recorded_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("orders >= 0", name="ck_demand_versions_orders"),
        sa.PrimaryKeyConstraint(
            "depot_id", "service_on", "version", name="pk_demand_versions"
        ),
    )
    op.create_index(
        "ix_demand_versions_service_on", "demand_versions", ["service_on"], unique=False
    )
    op.create_index(
        "uq_demand_versions_current",
        "demand_versions",
        ["depot_id", "service_on"],
        unique=True,
        postgresql_where=sa.text("superseded_at IS NULL"),
    )
    op.create_table(
        "depots",
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("city", sa.Text(), nullable=False),
        sa.Column("timezone", sa.Text(), nullable=False),
        sa.Column("country", sa.Text(), nullable=False),
        sa.Column("subdivision", sa.Text(), nullable=True),
        sa.Column("vans", sa.Integer(), nullable=True),
        sa.Column("opened_on", sa.Date(), nullable=True),
        sa.Column("closed_on", sa.Date(), nullable=True),
        sa.Column(
            "closed_weekdays",
            postgresql.ARRAY(sa.SmallInteger()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("is_complete", sa.Boolean(), nullable=False),
        sa.CheckConstraint("depot_id <> ''", name="ck_depots_depot_id"),
        sa.CheckConstraint("vans >= 0", name="ck_depots_vans"),
        sa.PrimaryKeyConstraint("depot_id", name="pk_depots"),
    )
    op.create_table(
        "events",
        sa.Column(
            "event_id", sa.BigInteger(), sa.Identity(always=True), nullable=False
        ),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("starts_on", sa.Date(), nullable=False),
        sa.Column("ends_on", sa.Date(), nullable=False),
        sa.Column("city", sa.Text(), nullable=True),
        sa.Column("depot_id", sa.Text(), nullable=True),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("known_from", sa.Date(), nullable=True),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("city is null or depot_id is null", name="ck_events_scope"),
        sa.CheckConstraint("ends_on >= starts_on", name="ck_events_order"),
        sa.PrimaryKeyConstraint("event_id", name="pk_events"),
        sa.UniqueConstraint(
            "kind",
            "starts_on",
            "ends_on",
            "city",
            "depot_id",
            name="uq_events_kind",
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_table(
        "files",
        sa.Column("file_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("reading", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("accepted", sa.BigInteger(), nullable=False),
        sa.Column("unchanged", sa.BigInteger(), nullable=False),
        sa.Column("rejected", sa.BigInteger(), nullable=False),
        sa.Column("ignored_columns", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column(
            "loaded_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "kind in ('depots','orders','daily','events')", name="ck_files_kind"
        ),
        sa.PrimaryKeyConstraint("file_id", name="pk_files"),
        sa.UniqueConstraint("sha256", "reading", name="uq_files_sha256_reading"),
    )
    op.create_table(
        "orders",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("ordered_local", sa.DateTime(), nullable=False),
        sa.Column("utc_offset_minutes", sa.SmallInteger(), nullable=True),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("order_id", name="pk_orders"),
    )
    op.create_table(
        "public_holidays",
        sa.Column("country", sa.Text(), nullable=False),
        sa.Column("subdivision", sa.Text(), nullable=False),
        sa.Column("day_on", sa.Date(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "country", "subdivision", "day_on", name="pk_public_holidays"
        ),
    )
    op.create_table(
        "runs",
        sa.Column("run_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("parent_id", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column(
            "heartbeat_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "counts",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state in ('running','done','failed','skipped')", name="ck_runs_state"
        ),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["runs.run_id"], name="fk_runs_parent_id"
        ),
        sa.PrimaryKeyConstraint("run_id", name="pk_runs"),
    )
    op.create_index("ix_runs_parent_id", "runs", ["parent_id"], unique=False)
    op.create_table(
        "models",
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("trained_through", sa.Date(), nullable=False),
        sa.Column("data_watermark", sa.Text(), nullable=False),
        sa.Column("filename", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column(
            "scores",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("promoted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "role in ('challenger','champion','retired','rejected','judge')",
            name="ck_models_role",
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_models_run_id"),
        sa.PrimaryKeyConstraint("version", name="pk_models"),
    )
    op.create_index(
        "uq_models_champion",
        "models",
        ["role"],
        unique=True,
        postgresql_where=sa.text("role = 'champion'"),
    )
    op.create_table(
        "quarantine",
        sa.Column(
            "quarantine_id", sa.BigInteger(), sa.Identity(always=True), nullable=False
        ),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.Column("line", sa.BigInteger(), nullable=True),
        sa.Column("column_name", sa.Text(), nullable=True),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("raw", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["file_id"],
            ["files.file_id"],
            name="fk_quarantine_file_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("quarantine_id", name="pk_quarantine"),
    )
    op.create_index("ix_quarantine_file_id", "quarantine", ["file_id"], unique=False)
    op.create_table(
        "forecasts",
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=False),
        sa.Column("target_on", sa.Date(), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=False),
        sa.Column("p10", sa.Double(), nullable=False),
        sa.Column("p50", sa.Double(), nullable=False),
        sa.Column("p90", sa.Double(), nullable=False),
        sa.Column("basis", sa.Text(), nullable=False),
        sa.Column("is_live", sa.Boolean(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "basis in ('model','similar','closed')", name="ck_forecasts_basis"
        ),
        sa.CheckConstraint(
            "0 <= p10 and p10 <= p50 and p50 <= p90", name="ck_forecasts_quantiles"
        ),
        sa.CheckConstraint("target_on > origin_on", name="ck_forecasts_future"),
        sa.ForeignKeyConstraint(
            ["depot_id"], ["depots.depot_id"], name="fk_forecasts_depot_id"
        ),
        sa.ForeignKeyConstraint(
            ["model_version"], ["models.version"], name="fk_forecasts_model_version"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name="fk_forecasts_run_id"
        ),
        sa.PrimaryKeyConstraint(
            "depot_id", "origin_on", "target_on", "model_version", name="pk_forecasts"
        ),
    )
    op.create_index("ix_forecasts_origin_on", "forecasts", ["origin_on"], unique=False)
    op.create_index("ix_forecasts_target_on", "forecasts", ["target_on"], unique=False)
    op.create_table(
        "scores",
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=False),
        sa.Column("target_on", sa.Date(), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=False),
        sa.Column("actual", sa.Double(), nullable=False),
        sa.Column("p10", sa.Double(), nullable=False),
        sa.Column("p50", sa.Double(), nullable=False),
        sa.Column("p90", sa.Double(), nullable=False),
        sa.Column("seasonal_naive", sa.Double(), nullable=True),
        sa.Column("median4", sa.Double(), nullable=True),
        sa.Column("is_live", sa.Boolean(), nullable=False),
        sa.Column(
            "scored_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["depot_id"], ["depots.depot_id"], name="fk_scores_depot_id"
        ),
        sa.ForeignKeyConstraint(
            ["model_version"], ["models.version"], name="fk_scores_model_version"
        ),
        sa.PrimaryKeyConstraint(
            "depot_id", "origin_on", "target_on", "model_version", name="pk_scores"
        ),
    )
    op.create_index("ix_scores_target_on", "scores", ["target_on"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_scores_target_on", table_name="scores")
    op.drop_table("scores")
    op.drop_index("ix_forecasts_target_on", table_name="forecasts")
    op.drop_index("ix_forecasts_origin_on", table_name="forecasts")
    op.drop_table("forecasts")
    op.drop_index("ix_quarantine_file_id", table_name="quarantine")
    op.drop_table("quarantine")
    op.drop_index(
        "uq_models_champion",
        table_name="models",
        postgresql_where=sa.text("role = 'champion'"),
    )
    op.drop_table("models")
    op.drop_index("ix_runs_parent_id", table_name="runs")
    op.drop_table("runs")
    op.drop_table("public_holidays")
    op.drop_table("orders")
    op.drop_table("files")
    op.drop_table("events")
    op.drop_table("depots")
    op.drop_index(
        "uq_demand_versions_current",
        table_name="demand_versions",
        postgresql_where=sa.text("superseded_at IS NULL"),
    )
    op.drop_index("ix_demand_versions_service_on", table_name="demand_versions")
    op.drop_table("demand_versions")
    op.drop_table("daily_counts")
