"""Tables of scores and their totals."""

import sqlalchemy as sa

from pipelines.schema.base import (
    Timestamp,
    doubles,
    metadata,
    model_version,
    numbered,
)

# Forecasts whose actual is known, with the naive forecasts from the same origin.
scores = sa.Table(
    "scores",
    metadata,
    sa.Column("depot_id", sa.Text, sa.ForeignKey("depots.depot_id"), primary_key=True),
    sa.Column("origin_on", sa.Date, primary_key=True),
    sa.Column("target_on", sa.Date, primary_key=True),
    model_version(),
    *doubles("actual", "p10", "p50", "p90", "point"),
    # Both null where no earlier same weekday had an actual.
    sa.Column("seasonal_naive", sa.Double),
    sa.Column("median4", sa.Double),
    sa.Column("is_live", sa.Boolean, nullable=False),
    sa.CheckConstraint(
        "(seasonal_naive is null) = (median4 is null)", name="baselines"
    ),
)
# Finds the largest errors of a day without a scan of the others.
sa.Index(
    "ix_scores_target_on_abs_error",
    scores.c.target_on,
    scores.c.is_live,
    sa.func.abs(scores.c.point - scores.c.actual),
)
sa.Index("ix_scores_origin_on", scores.c.origin_on, scores.c.target_on)

# Forecasts that must be compared with their scores: those of an origin, those of a target day,
# or all of them if both are null. Written by `store.scores_due`.
scores_due = sa.Table(
    "scores_due",
    metadata,
    numbered("due_id"),
    sa.Column("origin_on", sa.Date),
    sa.Column("target_on", sa.Date),
)

# Sums of `scores`, so that no page adds up every depot-day; `store.score_totals` renews them
# with the scores. Two grains: by target day and city (`depot_id` is null), and by depot over
# all days of an origin (`target_on` is null).
score_totals = sa.Table(
    "score_totals",
    metadata,
    sa.Column("is_live", sa.Boolean, nullable=False),
    sa.Column("target_on", sa.Date),
    sa.Column("origin_on", sa.Date, nullable=False),
    sa.Column("city", sa.Text, nullable=False),
    sa.Column("depot_id", sa.Text, sa.ForeignKey("depots.depot_id")),
    model_version(primary_key=False),
    # Whether the naive forecasts cover these days as well.
    sa.Column("has_naive", sa.Boolean, nullable=False),
    # Whether the actuals are above 0, so that a percentage error is defined.
    sa.Column("is_nonzero", sa.Boolean, nullable=False),
    # When the newest of these forecasts was made.
    sa.Column("made_at", Timestamp, nullable=False),
    # Number of scores, and number of those with the actual between p10 and p90.
    sa.Column("n", sa.BigInteger, nullable=False),
    sa.Column("n_in_interval", sa.BigInteger, nullable=False),
    # Orders. An error is forecast - actual, `ape` is |error| / actual.
    *doubles("actual_sum", "error_sum", "abs_error_sum", "ape_sum"),
    # The same sums for the seasonal naive, and for the median of four; 0 without them.
    *doubles("naive_error_sum", "naive_abs_error_sum", "naive_ape_sum"),
    *doubles("median_error_sum", "median_abs_error_sum", "median_ape_sum"),
    sa.CheckConstraint("(target_on is null) <> (depot_id is null)", name="grain"),
)
# Finds the few rows by city among thousands by depot.
sa.Index(
    "uq_score_totals_city",
    *(
        score_totals.c[name]
        for name in (
            "target_on", "is_live", "origin_on", "city", "model_version",
            "has_naive", "is_nonzero",
        )
    ),
    unique=True,
    postgresql_where=score_totals.c.target_on.is_not(None),
)  # fmt: skip
sa.Index("ix_score_totals_origin_on", score_totals.c.origin_on)
