"""Keep sums of the scores by day, origin, city and model; find scores by their origin.

The sums of the scores there are come first; from then on the step that scores renews them.

Revision ID: 0011
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0008"

COUNTS = (
    "scored",
    "inside",
    "positive",
    "beside_naive",
    "common",
    "common_inside",
    "compared",
)
SUMS = (
    "volume",
    "gap",
    "miss",
    "positive_error",
    "beside_naive_error",
    "beside_naive_naive_error",
    "common_volume",
    "common_gap",
    "common_miss",
    "naive_gap",
    "naive_miss",
    "median_gap",
    "median_miss",
    "compared_error",
    "naive_error",
    "median_error",
)
FILL = """
insert into score_totals (
    is_live, target_on, origin_on, city, model_version, made_at,
    scored, inside, volume, gap, miss, positive, positive_error,
    beside_naive, beside_naive_error, beside_naive_naive_error,
    common, common_inside, common_volume, common_gap, common_miss,
    naive_gap, naive_miss, median_gap, median_miss,
    compared, compared_error, naive_error, median_error)
with weighed as (
    select s.is_live, s.target_on, s.origin_on, d.city, s.model_version, f.made_at,
           s.actual, s.actual between s.p10 and s.p90 as is_inside,
           s.p50 - s.actual as gap, s.seasonal_naive - s.actual as naive_gap,
           s.median4 - s.actual as median_gap, nullif(s.actual, 0) as divisor,
           s.actual > 0 as is_positive, s.seasonal_naive is not null as has_naive,
           s.seasonal_naive is not null and s.median4 is not null as is_common
    from scores s
    join forecasts f using (depot_id, origin_on, target_on, model_version)
    join depots d using (depot_id)
)
select is_live, target_on, origin_on, city, model_version, max(made_at),
       count(*), count(*) filter (where is_inside), sum(actual), sum(gap), sum(abs(gap)),
       count(*) filter (where is_positive),
       coalesce(sum(abs(gap) / divisor) filter (where is_positive), 0),
       count(*) filter (where is_positive and has_naive),
       coalesce(sum(abs(gap) / divisor) filter (where is_positive and has_naive), 0),
       coalesce(sum(abs(naive_gap) / divisor) filter (where is_positive), 0),
       count(*) filter (where is_common),
       count(*) filter (where is_common and is_inside),
       coalesce(sum(actual) filter (where is_common), 0),
       coalesce(sum(gap) filter (where is_common), 0),
       coalesce(sum(abs(gap)) filter (where is_common), 0),
       coalesce(sum(naive_gap) filter (where is_common), 0),
       coalesce(sum(abs(naive_gap)) filter (where is_common), 0),
       coalesce(sum(median_gap) filter (where is_common), 0),
       coalesce(sum(abs(median_gap)) filter (where is_common), 0),
       count(*) filter (where is_common and is_positive),
       coalesce(sum(abs(gap) / divisor) filter (where is_common and is_positive), 0),
       coalesce(sum(abs(naive_gap) / divisor)
                filter (where is_common and is_positive), 0),
       coalesce(sum(abs(median_gap) / divisor)
                filter (where is_common and is_positive), 0)
from weighed
group by is_live, target_on, origin_on, city, model_version
"""


def upgrade() -> None:
    op.create_index("ix_scores_origin_on", "scores", ["origin_on"], unique=False)
    op.create_table(
        "score_totals",
        sa.Column("is_live", sa.Boolean(), nullable=False),
        sa.Column("target_on", sa.Date(), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=False),
        sa.Column("city", sa.Text(), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in COUNTS),
        *(sa.Column(name, sa.Double(), nullable=False) for name in SUMS),
        sa.PrimaryKeyConstraint(
            "is_live", "target_on", "origin_on", "city", "model_version",
            name=op.f("pk_score_totals"),
        ),
        sa.ForeignKeyConstraint(
            ["model_version"], ["models.version"],
            name=op.f("fk_score_totals_model_version_models"),
        ),
    )  # fmt: skip
    op.create_index(
        "ix_score_totals_origin_on", "score_totals", ["origin_on"], unique=False
    )
    op.execute(FILL)


def downgrade() -> None:
    op.drop_table("score_totals")
    op.drop_index("ix_scores_origin_on", table_name="scores")
