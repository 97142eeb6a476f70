"""Creates every table, the view `events`, triggers for changed days, and `add_override`.

Revision ID: 0001_initial
Revises: none
"""

from pathlib import Path

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001_initial"
down_revision = None

SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    op.create_table(
        "backfills",
        sa.Column(
            "backfill_id", sa.BigInteger(), sa.Identity(always=True), nullable=False
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("request", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("snapshot", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("requested_action", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state in ('planned','running','paused','cancelled','done','failed')",
            name=op.f("ck_backfills_state"),
        ),
        sa.CheckConstraint(
            "requested_action in ('pause','cancel')",
            name=op.f("ck_backfills_requested_action"),
        ),
        sa.PrimaryKeyConstraint("backfill_id", name=op.f("pk_backfills")),
    )
    op.create_table(
        "demo_fleet",
        sa.Column("seed", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("n_depots", sa.Integer(), nullable=False),
        sa.Column("n_days", sa.Integer(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("seed", name=op.f("pk_demo_fleet")),
    )
    op.create_table(
        "daily_counts",
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("service_on", sa.Date(), nullable=False),
        sa.Column("orders", sa.BigInteger(), nullable=True),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("orders >= 0", name=op.f("ck_daily_counts_orders")),
        sa.PrimaryKeyConstraint("depot_id", "service_on", name=op.f("pk_daily_counts")),
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
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.CheckConstraint("orders >= 0", name=op.f("ck_demand_versions_orders")),
        sa.PrimaryKeyConstraint(
            "depot_id", "service_on", "version", name=op.f("pk_demand_versions")
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
        sa.CheckConstraint("depot_id <> ''", name=op.f("ck_depots_depot_id")),
        sa.CheckConstraint("vans >= 0", name=op.f("ck_depots_vans")),
        sa.PrimaryKeyConstraint("depot_id", name=op.f("pk_depots")),
    )
    op.create_table(
        "changed_days",
        sa.Column("mark_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("day_on", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("mark_id", name=op.f("pk_changed_days")),
    )
    op.create_table(
        "event_versions",
        sa.Column(
            "event_id",
            sa.Text(),
            server_default=sa.text("gen_random_uuid()::text"),
            nullable=False,
        ),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("starts_on", sa.Date(), nullable=False),
        sa.Column("ends_on", sa.Date(), nullable=False),
        sa.Column("city", sa.Text(), nullable=True),
        sa.Column("depot_id", sa.Text(), nullable=True),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("known_from", sa.Date(), nullable=True),
        sa.Column(
            "withdrawn", sa.Boolean(), server_default=sa.text("false"), nullable=False
        ),
        sa.Column(
            "known_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("superseded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("file_id", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "city is null or depot_id is null", name=op.f("ck_event_versions_scope")
        ),
        sa.CheckConstraint(
            "ends_on >= starts_on", name=op.f("ck_event_versions_order")
        ),
        sa.PrimaryKeyConstraint("event_id", "version", name=op.f("pk_event_versions")),
    )
    op.create_index(
        "uq_event_versions_current",
        "event_versions",
        ["event_id"],
        unique=True,
        postgresql_where=sa.text("superseded_at IS NULL"),
    )
    op.create_table(
        "files",
        sa.Column("file_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("options_sha256", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column(
            "source", sa.Text(), server_default=sa.text("'default'"), nullable=False
        ),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("accepted", sa.BigInteger(), nullable=False),
        sa.Column("unchanged", sa.BigInteger(), nullable=False),
        sa.Column("rejected", sa.BigInteger(), nullable=False),
        sa.Column("ignored_columns", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column(
            "loaded_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "kind in ('depots','orders','daily','events')", name=op.f("ck_files_kind")
        ),
        sa.PrimaryKeyConstraint("file_id", name=op.f("pk_files")),
    )
    op.create_index(
        "uq_files_sha256_options_sha256",
        "files",
        ["sha256", "options_sha256"],
        unique=True,
        postgresql_where=sa.text("withdrawn_at IS NULL"),
    )
    op.create_table(
        "file_repeats",
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.Column("repeats_file_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["file_id"], ["files.file_id"], name=op.f("fk_file_repeats_file_id")
        ),
        sa.ForeignKeyConstraint(
            ["repeats_file_id"],
            ["files.file_id"],
            name=op.f("fk_file_repeats_repeats_file_id"),
        ),
        sa.PrimaryKeyConstraint(
            "file_id", "repeats_file_id", name=op.f("pk_file_repeats")
        ),
    )
    op.create_table(
        "superseded_rows",
        sa.Column(
            "superseded_id", sa.BigInteger(), sa.Identity(always=True), nullable=False
        ),
        sa.Column("table_name", sa.Text(), nullable=False),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("superseded_id", name=op.f("pk_superseded_rows")),
    )
    op.create_table(
        "frozen_days",
        sa.Column("before_on", sa.Date(), nullable=False),
        sa.Column("orders_dropped", sa.BigInteger(), nullable=False),
        sa.Column(
            "frozen_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("before_on", name=op.f("pk_frozen_days")),
    )
    op.create_table(
        "order_counts",
        sa.Column("service_on", sa.Date(), nullable=False),
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("orders", sa.BigInteger(), nullable=False),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("service_on", "depot_id", name=op.f("pk_order_counts")),
    )
    op.create_table(
        "orders",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column(
            "id_namespace", sa.Text(), server_default=sa.text("''"), nullable=False
        ),
        sa.Column("ordered_local", sa.DateTime(), nullable=False),
        sa.Column("utc_offset_minutes", sa.SmallInteger(), nullable=True),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("order_id", "id_namespace", name=op.f("pk_orders")),
    )
    op.create_index(
        "ix_orders_ordered_local",
        "orders",
        ["ordered_local"],
        unique=False,
        postgresql_using="brin",
    )
    op.create_table(
        "public_holidays",
        sa.Column("country", sa.Text(), nullable=False),
        sa.Column("subdivision", sa.Text(), nullable=False),
        sa.Column("day_on", sa.Date(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "country", "subdivision", "day_on", name=op.f("pk_public_holidays")
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
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "metrics",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("pid", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "state in ('running','done','failed','skipped')", name=op.f("ck_runs_state")
        ),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["runs.run_id"], name=op.f("fk_runs_parent_id")
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_parent_id"), "runs", ["parent_id"], unique=False)
    op.create_table(
        "backfill_slots",
        sa.Column("backfill_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=True),
        sa.Column("is_included", sa.Boolean(), nullable=False),
        sa.Column("reason_code", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=True),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("estimate_s", sa.Double(), nullable=True),
        sa.Column("replaced_rows", sa.BigInteger(), nullable=False),
        sa.Column("newest_made_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "is_included = (state <> 'skipped')",
            name=op.f("ck_backfill_slots_is_included"),
        ),
        sa.CheckConstraint(
            "state in ('skipped','waiting','done','failed')",
            name=op.f("ck_backfill_slots_state"),
        ),
        sa.CheckConstraint(
            "step in ('train','forecast','score')",
            name=op.f("ck_backfill_slots_step"),
        ),
        sa.ForeignKeyConstraint(
            ["backfill_id"],
            ["backfills.backfill_id"],
            name=op.f("fk_backfill_slots_backfill_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name=op.f("fk_backfill_slots_run_id")
        ),
        sa.PrimaryKeyConstraint(
            "backfill_id", "position", name=op.f("pk_backfill_slots")
        ),
    )
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
        sa.Column("decision_reason", sa.Text(), nullable=True),
        sa.Column("promoted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.Column("pruned_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "role in ('challenger','champion','retired','rejected','evaluation')",
            name=op.f("ck_models_role"),
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name=op.f("fk_models_run_id")
        ),
        sa.PrimaryKeyConstraint("version", name=op.f("pk_models")),
    )
    op.create_index(
        "uq_models_champion",
        "models",
        ["role"],
        unique=True,
        postgresql_where=sa.text("role = 'champion'"),
    )
    op.create_table(
        "overrides",
        sa.Column(
            "override_id", sa.BigInteger(), sa.Identity(always=True), nullable=False
        ),
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("target_on", sa.Date(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("orders", sa.Double(), nullable=True),
        sa.Column("p50", sa.Double(), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column(
            "made_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "action in ('set','lock','unlock','withdraw')",
            name=op.f("ck_overrides_action"),
        ),
        sa.CheckConstraint(
            "case when action = 'withdraw' then orders is null else coalesce(orders >= 0 and orders < 1e7, false) end",
            name=op.f("ck_overrides_orders"),
        ),
        sa.CheckConstraint(
            "length(btrim(made_by)) between 1 and 100",
            name=op.f("ck_overrides_made_by"),
        ),
        sa.CheckConstraint(
            "length(btrim(reason)) between 1 and 500", name=op.f("ck_overrides_reason")
        ),
        sa.ForeignKeyConstraint(
            ["depot_id"], ["depots.depot_id"], name=op.f("fk_overrides_depot_id")
        ),
        sa.PrimaryKeyConstraint("override_id", name=op.f("pk_overrides")),
    )
    op.create_index(
        "ix_overrides_depot_day",
        "overrides",
        ["depot_id", "target_on", "override_id"],
        unique=False,
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
        sa.Column("replayed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("dismissed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("dismissed_because", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "(dismissed_at is null) = (dismissed_because is null)",
            name=op.f("ck_quarantine_dismissed"),
        ),
        sa.ForeignKeyConstraint(
            ["file_id"],
            ["files.file_id"],
            name=op.f("fk_quarantine_file_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("quarantine_id", name=op.f("pk_quarantine")),
    )
    op.create_index(
        op.f("ix_quarantine_file_id"), "quarantine", ["file_id"], unique=False
    )
    op.create_table(
        "run_lines",
        sa.Column("line_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("fields", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["runs.run_id"],
            name=op.f("fk_run_lines_run_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("line_id", name=op.f("pk_run_lines")),
    )
    op.create_index(op.f("ix_run_lines_run_id"), "run_lines", ["run_id"], unique=False)
    op.create_table(
        "forecast_totals",
        sa.Column("city", sa.Text(), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=False),
        sa.Column("target_on", sa.Date(), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=False),
        sa.Column("p10", sa.Double(), nullable=False),
        sa.Column("p90", sa.Double(), nullable=False),
        sa.CheckConstraint(
            "0 <= p10 and p10 <= p90",
            name=op.f("ck_forecast_totals_quantiles"),
        ),
        sa.CheckConstraint(
            "target_on > origin_on", name=op.f("ck_forecast_totals_future")
        ),
        sa.ForeignKeyConstraint(
            ["model_version"],
            ["models.version"],
            name=op.f("fk_forecast_totals_model_version"),
        ),
        sa.PrimaryKeyConstraint(
            "city",
            "origin_on",
            "target_on",
            "model_version",
            name=op.f("pk_forecast_totals"),
        ),
    )
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
            "basis in ('model','cold_start','closed')", name=op.f("ck_forecasts_basis")
        ),
        sa.CheckConstraint(
            "0 <= p10 and p10 <= p50 and p50 <= p90",
            name=op.f("ck_forecasts_quantiles"),
        ),
        sa.CheckConstraint("target_on > origin_on", name=op.f("ck_forecasts_future")),
        sa.ForeignKeyConstraint(
            ["depot_id"], ["depots.depot_id"], name=op.f("fk_forecasts_depot_id")
        ),
        sa.ForeignKeyConstraint(
            ["model_version"],
            ["models.version"],
            name=op.f("fk_forecasts_model_version"),
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name=op.f("fk_forecasts_run_id")
        ),
        sa.PrimaryKeyConstraint(
            "depot_id",
            "origin_on",
            "target_on",
            "model_version",
            name=op.f("pk_forecasts"),
        ),
    )
    op.create_index("ix_forecasts_origin_on", "forecasts", ["origin_on"], unique=False)
    op.create_index("ix_forecasts_target_on", "forecasts", ["target_on"], unique=False)
    op.create_table(
        "score_totals",
        sa.Column("is_live", sa.Boolean(), nullable=False),
        sa.Column("target_on", sa.Date(), nullable=True),
        sa.Column("origin_on", sa.Date(), nullable=False),
        sa.Column("city", sa.Text(), nullable=False),
        sa.Column("depot_id", sa.Text(), nullable=True),
        sa.Column("model_version", sa.Text(), nullable=False),
        sa.Column("has_baselines", sa.Boolean(), nullable=False),
        sa.Column("is_nonzero", sa.Boolean(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("n_in_interval", sa.BigInteger(), nullable=False),
        sa.Column("actual_sum", sa.Double(), nullable=False),
        sa.Column("error_sum", sa.Double(), nullable=False),
        sa.Column("abs_error_sum", sa.Double(), nullable=False),
        sa.Column("ape_sum", sa.Double(), nullable=False),
        sa.Column("naive_error_sum", sa.Double(), nullable=False),
        sa.Column("naive_abs_error_sum", sa.Double(), nullable=False),
        sa.Column("naive_ape_sum", sa.Double(), nullable=False),
        sa.Column("median_error_sum", sa.Double(), nullable=False),
        sa.Column("median_abs_error_sum", sa.Double(), nullable=False),
        sa.Column("median_ape_sum", sa.Double(), nullable=False),
        sa.CheckConstraint(
            "(target_on is null) <> (depot_id is null)",
            name=op.f("ck_score_totals_grain"),
        ),
        sa.ForeignKeyConstraint(
            ["depot_id"], ["depots.depot_id"], name=op.f("fk_score_totals_depot_id")
        ),
        sa.ForeignKeyConstraint(
            ["model_version"],
            ["models.version"],
            name=op.f("fk_score_totals_model_version"),
        ),
    )
    op.create_index(
        "uq_score_totals_city",
        "score_totals",
        [
            "target_on",
            "is_live",
            "origin_on",
            "city",
            "model_version",
            "has_baselines",
            "is_nonzero",
        ],
        unique=True,
        postgresql_where=sa.text("target_on IS NOT NULL"),
    )
    op.create_index(
        "ix_score_totals_origin_on", "score_totals", ["origin_on"], unique=False
    )
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
        sa.CheckConstraint(
            "(seasonal_naive is null) = (median4 is null)",
            name=op.f("ck_scores_baselines"),
        ),
        sa.ForeignKeyConstraint(
            ["depot_id"], ["depots.depot_id"], name=op.f("fk_scores_depot_id")
        ),
        sa.ForeignKeyConstraint(
            ["model_version"], ["models.version"], name=op.f("fk_scores_model_version")
        ),
        sa.PrimaryKeyConstraint(
            "depot_id",
            "origin_on",
            "target_on",
            "model_version",
            name=op.f("pk_scores"),
        ),
    )
    op.create_index(
        "ix_scores_origin_on", "scores", ["origin_on", "target_on"], unique=False
    )
    op.create_index(
        "ix_scores_target_on_abs_error",
        "scores",
        ["target_on", "is_live", sa.literal_column("abs(p50 - actual)")],
        unique=False,
    )

    _run_script("0001_events.sql")
    _run_script("0001_changed_days.sql")
    _run_script("0001_superseded_rows.sql")
    _run_script("0001_overrides.sql")


def downgrade() -> None:
    _run_script("0001_down.sql")


def _run_script(name: str) -> None:
    """Runs a file of several statements; `{schema}` is the schema of the tables."""
    bind = op.get_bind()
    schema = bind.scalar(sa.text("select quote_ident(current_schema())"))
    script = (SQL / name).read_text().replace("{schema}", str(schema))
    bind.connection.driver_connection.execute(script)
