"""How far off the forecasts were."""

import sqlalchemy as sa

from pipelines.schema.base import NOW, Moment, metadata

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
    "ix_scores_target_on_abs_error",
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
    sa.Column("n", sa.BigInteger, nullable=False),
    sa.Column("n_in_interval", sa.BigInteger, nullable=False),
    sa.Column("actual_sum", sa.Double, nullable=False),
    sa.Column("error_sum", sa.Double, nullable=False),
    sa.Column("abs_error_sum", sa.Double, nullable=False),
    # Of those with an actual above 0; an error is |forecast - actual| / actual.
    sa.Column("n_nonzero", sa.BigInteger, nullable=False),
    sa.Column("ape_sum", sa.Double, nullable=False),
    # Of these, those with a seasonal naive.
    sa.Column("n_with_naive_nonzero", sa.BigInteger, nullable=False),
    sa.Column("with_naive_ape_sum", sa.Double, nullable=False),
    sa.Column("with_naive_naive_ape_sum", sa.Double, nullable=False),
    # Of every score with both baselines.
    sa.Column("n_comparable", sa.BigInteger, nullable=False),
    sa.Column("n_comparable_in_interval", sa.BigInteger, nullable=False),
    sa.Column("comparable_actual_sum", sa.Double, nullable=False),
    sa.Column("comparable_error_sum", sa.Double, nullable=False),
    sa.Column("comparable_abs_error_sum", sa.Double, nullable=False),
    sa.Column("naive_error_sum", sa.Double, nullable=False),
    sa.Column("naive_abs_error_sum", sa.Double, nullable=False),
    sa.Column("median_error_sum", sa.Double, nullable=False),
    sa.Column("median_abs_error_sum", sa.Double, nullable=False),
    # Of these, those with an actual above 0.
    sa.Column("n_comparable_nonzero", sa.BigInteger, nullable=False),
    sa.Column("comparable_ape_sum", sa.Double, nullable=False),
    sa.Column("naive_ape_sum", sa.Double, nullable=False),
    sa.Column("median_ape_sum", sa.Double, nullable=False),
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
    sa.Column("n", sa.BigInteger, nullable=False),
    sa.Column("n_in_interval", sa.BigInteger, nullable=False),
    sa.Column("actual_sum", sa.Double, nullable=False),
    sa.Column("error_sum", sa.Double, nullable=False),
    sa.Column("abs_error_sum", sa.Double, nullable=False),
    # Of those with a seasonal naive, days without orders too.
    sa.Column("n_with_naive", sa.BigInteger, nullable=False),
    sa.Column("with_naive_abs_error_sum", sa.Double, nullable=False),
    sa.Column("with_naive_naive_abs_error_sum", sa.Double, nullable=False),
    # Of those with both baselines and an actual above 0.
    sa.Column("n_comparable_nonzero", sa.BigInteger, nullable=False),
    sa.Column("n_comparable_nonzero_in_interval", sa.BigInteger, nullable=False),
    sa.Column("comparable_nonzero_actual_sum", sa.Double, nullable=False),
    sa.Column("comparable_nonzero_error_sum", sa.Double, nullable=False),
    sa.Column("comparable_ape_sum", sa.Double, nullable=False),
    sa.Column("naive_ape_sum", sa.Double, nullable=False),
    sa.Column("median_ape_sum", sa.Double, nullable=False),
)
