"""SQLAlchemy tables and nothing else: the one truth about columns.

Dates end in `_on` and are a depot's local service day; moments end in `_at` and carry a
zone, except `ordered_local`, the wall-clock time as the file had it.
"""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

Moment = sa.DateTime(timezone=True)
NOW = sa.text("now()")

depots = sa.Table(
    "depots",
    metadata,
    sa.Column("depot_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("city", sa.Text, nullable=False),
    sa.Column("timezone", sa.Text, nullable=False),
    sa.Column("country", sa.Text, nullable=False),
    sa.Column("subdivision", sa.Text),
    sa.Column("vans", sa.Integer),
    sa.Column("opened_on", sa.Date),
    sa.Column("closed_on", sa.Date),
    # ISO weekdays, Monday is 1.
    sa.Column(
        "closed_weekdays",
        pg.ARRAY(sa.SmallInteger),
        nullable=False,
        server_default=sa.text("'{}'"),
    ),
    # False until a depots file has described a depot first seen in orders.
    sa.Column("is_complete", sa.Boolean, nullable=False),
    sa.CheckConstraint("vans >= 0", name="vans"),
    sa.CheckConstraint("depot_id <> ''", name="depot_id"),
)

files = sa.Table(
    "files",
    metadata,
    sa.Column("file_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    # sha256 of kind, column mapping and formats: the same bytes read in another way
    # are another load.
    sa.Column("reading", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    sa.Column("accepted", sa.BigInteger, nullable=False),
    sa.Column("unchanged", sa.BigInteger, nullable=False),
    sa.Column("rejected", sa.BigInteger, nullable=False),
    sa.Column("ignored_columns", pg.ARRAY(sa.Text), nullable=False),
    sa.Column("loaded_at", Moment, nullable=False, server_default=NOW),
    sa.UniqueConstraint("sha256", "reading", name="uq_files_sha256_reading"),
    sa.CheckConstraint("kind in ('depots','orders','daily','events')", name="kind"),
)

# No foreign keys on the two bulk tables: the load creates missing depots in the same
# transaction, and a key check per row would halve its speed.
orders = sa.Table(
    "orders",
    metadata,
    sa.Column("order_id", sa.Text, primary_key=True),
    sa.Column("depot_id", sa.Text, nullable=False),
    sa.Column("ordered_local", sa.DateTime(timezone=False), nullable=False),
    # Minutes east of UTC where the file gave an offset; null: the depot's own time.
    sa.Column("utc_offset_minutes", sa.SmallInteger),
    sa.Column("file_id", sa.BigInteger, nullable=False),
)
# Orders come in by the day, so old ones lie together: a few pages tell where.
sa.Index("ix_orders_ordered_local", orders.c.ordered_local, postgresql_using="brin")

daily_counts = sa.Table(
    "daily_counts",
    metadata,
    sa.Column("depot_id", sa.Text, primary_key=True),
    sa.Column("service_on", sa.Date, primary_key=True),
    # Null: the file has the day but not its count, so it is not observed.
    sa.Column("orders", sa.BigInteger),
    sa.Column("file_id", sa.BigInteger, nullable=False),
    sa.CheckConstraint("orders >= 0", name="orders"),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("event_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("starts_on", sa.Date, nullable=False),
    sa.Column("ends_on", sa.Date, nullable=False),
    # At most one of the two; neither: everywhere.
    sa.Column("city", sa.Text),
    sa.Column("depot_id", sa.Text),
    sa.Column("value", sa.Double),
    sa.Column("known_from", sa.Date),
    sa.Column("file_id", sa.BigInteger, nullable=False),
    sa.UniqueConstraint(
        "kind",
        "starts_on",
        "ends_on",
        "city",
        "depot_id",
        name="uq_events_kind",
        postgresql_nulls_not_distinct=True,
    ),
    sa.CheckConstraint("ends_on >= starts_on", name="order"),
    sa.CheckConstraint("city is null or depot_id is null", name="scope"),
)

public_holidays = sa.Table(
    "public_holidays",
    metadata,
    sa.Column("country", sa.Text, primary_key=True),
    # '' for a country as a whole.
    sa.Column("subdivision", sa.Text, primary_key=True),
    sa.Column("day_on", sa.Date, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
)

quarantine = sa.Table(
    "quarantine",
    metadata,
    sa.Column(
        "quarantine_id", sa.BigInteger, sa.Identity(always=True), primary_key=True
    ),
    sa.Column(
        "file_id",
        sa.BigInteger,
        sa.ForeignKey("files.file_id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    sa.Column("line", sa.BigInteger),
    sa.Column("column_name", sa.Text),
    sa.Column("value", sa.Text),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("raw", pg.JSONB, nullable=False),
    # When it went in after all; null: it is still put aside.
    sa.Column("replayed_at", Moment),
)

# Appended, never overwritten: a correction closes the version before it.
demand_versions = sa.Table(
    "demand_versions",
    metadata,
    sa.Column("depot_id", sa.Text, primary_key=True),
    sa.Column("service_on", sa.Date, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    # Null: not observed.
    sa.Column("orders", sa.BigInteger),
    sa.Column("known_at", Moment, nullable=False),
    sa.Column("superseded_at", Moment),
    sa.Column("recorded_at", Moment, nullable=False, server_default=NOW),
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

# Orders before such a day were dropped, and its demand and all before never changes.
frozen_days = sa.Table(
    "frozen_days",
    metadata,
    sa.Column("before_on", sa.Date, primary_key=True),
    sa.Column("orders_dropped", sa.BigInteger, nullable=False),
    sa.Column("frozen_at", Moment, nullable=False, server_default=NOW),
)

# Orders by their depot's local service day. Those of frozen days stay as they are.
order_counts = sa.Table(
    "order_counts",
    metadata,
    sa.Column("service_on", sa.Date, primary_key=True),
    sa.Column("depot_id", sa.Text, primary_key=True),
    sa.Column("orders", sa.BigInteger, nullable=False),
)

# Days whose orders must be counted anew, more than once perhaps; -infinity: every day.
# Marked by triggers, and by loads for the rows they bring.
dirty_days = sa.Table(
    "dirty_days",
    metadata,
    sa.Column("mark_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("day_on", sa.Date, nullable=False),
)

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
    sa.Column("counts", pg.JSONB, nullable=False, server_default=sa.text("'{}'")),
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

models = sa.Table(
    "models",
    metadata,
    sa.Column("version", sa.Text, primary_key=True),
    sa.Column("created_at", Moment, nullable=False, server_default=NOW),
    sa.Column("trained_through", sa.Date, nullable=False),
    sa.Column("data_watermark", sa.Text, nullable=False),
    sa.Column("filename", sa.Text, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    # judge: the fit that ended before the judged window; it serves hindcasts only.
    sa.Column("role", sa.Text, nullable=False),
    # Scores of the judge fit over the judged window, as the backtest prints them.
    sa.Column("scores", pg.JSONB, nullable=False, server_default=sa.text("'{}'")),
    sa.Column("reason", sa.Text),
    sa.Column("promoted_at", Moment),
    sa.Column("run_id", sa.BigInteger, sa.ForeignKey("runs.run_id")),
    # When its artefact was taken away; null while it is there.
    sa.Column("pruned_at", Moment),
    sa.CheckConstraint(
        "role in ('challenger','champion','retired','rejected','judge')", name="role"
    ),
)
sa.Index(
    "uq_models_champion",
    models.c.role,
    unique=True,
    postgresql_where=models.c.role == "champion",
)

forecasts = sa.Table(
    "forecasts",
    metadata,
    sa.Column("depot_id", sa.Text, sa.ForeignKey("depots.depot_id"), primary_key=True),
    sa.Column("origin_on", sa.Date, primary_key=True),
    sa.Column("target_on", sa.Date, primary_key=True),
    sa.Column(
        "model_version", sa.Text, sa.ForeignKey("models.version"), primary_key=True
    ),
    # Orders per day.
    sa.Column("p10", sa.Double, nullable=False),
    sa.Column("p50", sa.Double, nullable=False),
    sa.Column("p90", sa.Double, nullable=False),
    # model: from the depot's own history; similar: from depots of its city;
    # closed: known to be shut.
    sa.Column("basis", sa.Text, nullable=False),
    # False for a hindcast: see `forecasting.is_live`.
    sa.Column("is_live", sa.Boolean, nullable=False),
    sa.Column("made_at", Moment, nullable=False),
    sa.Column("run_id", sa.BigInteger, sa.ForeignKey("runs.run_id")),
    sa.CheckConstraint("target_on > origin_on", name="future"),
    sa.CheckConstraint("0 <= p10 and p10 <= p50 and p50 <= p90", name="quantiles"),
    sa.CheckConstraint("basis in ('model','similar','closed')", name="basis"),
)
sa.Index("ix_forecasts_target_on", forecasts.c.target_on)
sa.Index("ix_forecasts_origin_on", forecasts.c.origin_on)

# Of all depots together, and of each city's: not the sums of the depots' quantiles.
forecast_totals = sa.Table(
    "forecast_totals",
    metadata,
    # '' for the whole fleet.
    sa.Column("city", sa.Text, primary_key=True),
    sa.Column("origin_on", sa.Date, primary_key=True),
    sa.Column("target_on", sa.Date, primary_key=True),
    sa.Column(
        "model_version", sa.Text, sa.ForeignKey("models.version"), primary_key=True
    ),
    # Orders per day.
    sa.Column("p10", sa.Double, nullable=False),
    sa.Column("p50", sa.Double, nullable=False),
    sa.Column("p90", sa.Double, nullable=False),
    sa.CheckConstraint("target_on > origin_on", name="future"),
    sa.CheckConstraint("0 <= p10 and p10 <= p50 and p50 <= p90", name="quantiles"),
)

# One forecast whose day is now known, beside what the baselines said from that origin.
scores = sa.Table(
    "scores",
    metadata,
    sa.Column("depot_id", sa.Text, sa.ForeignKey("depots.depot_id"), primary_key=True),
    sa.Column("origin_on", sa.Date, primary_key=True),
    sa.Column("target_on", sa.Date, primary_key=True),
    sa.Column(
        "model_version", sa.Text, sa.ForeignKey("models.version"), primary_key=True
    ),
    sa.Column("actual", sa.Double, nullable=False),
    sa.Column("p10", sa.Double, nullable=False),
    sa.Column("p50", sa.Double, nullable=False),
    sa.Column("p90", sa.Double, nullable=False),
    # Null where the baseline had no day to repeat.
    sa.Column("seasonal_naive", sa.Double),
    sa.Column("median4", sa.Double),
    sa.Column("is_live", sa.Boolean, nullable=False),
    sa.Column("scored_at", Moment, nullable=False, server_default=NOW),
)
# So that the worst of a day are found without looking at the others.
sa.Index(
    "ix_scores_target_on_miss",
    scores.c.target_on,
    scores.c.is_live,
    sa.func.abs(scores.c.p50 - scores.c.actual),
)
sa.Index("ix_scores_origin_on", scores.c.origin_on, scores.c.target_on)

# Sums of `scores`, so that no reader groups every depot's day anew: renewed with them, by
# `store.score_totals`. Of several models from one origin each has its rows here.
score_totals = sa.Table(
    "score_totals",
    metadata,
    sa.Column("is_live", sa.Boolean, primary_key=True),
    sa.Column("target_on", sa.Date, primary_key=True),
    sa.Column("origin_on", sa.Date, primary_key=True),
    sa.Column("city", sa.Text, primary_key=True),
    sa.Column(
        "model_version", sa.Text, sa.ForeignKey("models.version"), primary_key=True
    ),
    # When the newest of these forecasts was made.
    sa.Column("made_at", Moment, nullable=False),
    # Of every score: how many, of them inside the band, orders, forecast - actual, and
    # |forecast - actual|.
    sa.Column("scored", sa.BigInteger, nullable=False),
    sa.Column("inside", sa.BigInteger, nullable=False),
    sa.Column("volume", sa.Double, nullable=False),
    sa.Column("gap", sa.Double, nullable=False),
    sa.Column("miss", sa.Double, nullable=False),
    # Of those with an actual above 0; an error is |forecast - actual| / actual.
    sa.Column("positive", sa.BigInteger, nullable=False),
    sa.Column("positive_error", sa.Double, nullable=False),
    # Of these, those with a seasonal naive.
    sa.Column("beside_naive", sa.BigInteger, nullable=False),
    sa.Column("beside_naive_error", sa.Double, nullable=False),
    sa.Column("beside_naive_naive_error", sa.Double, nullable=False),
    # Of every score with both baselines.
    sa.Column("common", sa.BigInteger, nullable=False),
    sa.Column("common_inside", sa.BigInteger, nullable=False),
    sa.Column("common_volume", sa.Double, nullable=False),
    sa.Column("common_gap", sa.Double, nullable=False),
    sa.Column("common_miss", sa.Double, nullable=False),
    sa.Column("naive_gap", sa.Double, nullable=False),
    sa.Column("naive_miss", sa.Double, nullable=False),
    sa.Column("median_gap", sa.Double, nullable=False),
    sa.Column("median_miss", sa.Double, nullable=False),
    # Of these, those with an actual above 0.
    sa.Column("compared", sa.BigInteger, nullable=False),
    sa.Column("compared_error", sa.Double, nullable=False),
    sa.Column("naive_error", sa.Double, nullable=False),
    sa.Column("median_error", sa.Double, nullable=False),
)
sa.Index("ix_score_totals_origin_on", score_totals.c.origin_on)

# The same by origin and depot, over all its days ahead.
depot_score_totals = sa.Table(
    "depot_score_totals",
    metadata,
    sa.Column("is_live", sa.Boolean, primary_key=True),
    sa.Column("origin_on", sa.Date, primary_key=True),
    sa.Column("depot_id", sa.Text, sa.ForeignKey("depots.depot_id"), primary_key=True),
    sa.Column(
        "model_version", sa.Text, sa.ForeignKey("models.version"), primary_key=True
    ),
    sa.Column("made_at", Moment, nullable=False),
    sa.Column("scored", sa.BigInteger, nullable=False),
    sa.Column("inside", sa.BigInteger, nullable=False),
    sa.Column("volume", sa.Double, nullable=False),
    sa.Column("gap", sa.Double, nullable=False),
    sa.Column("miss", sa.Double, nullable=False),
    # Of those with a seasonal naive, days without orders too.
    sa.Column("with_naive", sa.BigInteger, nullable=False),
    sa.Column("with_naive_miss", sa.Double, nullable=False),
    sa.Column("with_naive_naive_miss", sa.Double, nullable=False),
    # Of those with both baselines and an actual above 0.
    sa.Column("compared", sa.BigInteger, nullable=False),
    sa.Column("compared_inside", sa.BigInteger, nullable=False),
    sa.Column("compared_volume", sa.Double, nullable=False),
    sa.Column("compared_gap", sa.Double, nullable=False),
    sa.Column("compared_error", sa.Double, nullable=False),
    sa.Column("naive_error", sa.Double, nullable=False),
    sa.Column("median_error", sa.Double, nullable=False),
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
    sa.Column("sentence", sa.Text, nullable=False),
    sa.Column("made_at", Moment, nullable=False, server_default=NOW),
    sa.Column("tries", sa.Integer, nullable=False, server_default=sa.text("0")),
    # Null: it is sent, or was given up.
    sa.Column("next_try_at", Moment),
    sa.Column("sent_at", Moment),
    sa.Column("error", sa.Text),
    sa.UniqueConstraint("key", "channel", name="uq_notices_key_channel"),
    sa.CheckConstraint("kind in ('failure','recovery','silence')", name="kind"),
    sa.CheckConstraint("sent_at is null or next_try_at is null", name="sent"),
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

# The newest sign of life of a process that is no run, such as the scheduler that leads.
beats = sa.Table(
    "beats",
    metadata,
    sa.Column("process", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.BigInteger, nullable=False),
    sa.Column("beat_at", Moment, nullable=False),
)
