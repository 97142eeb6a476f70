"""Keep sums of the scores by day, city and model, and by depot; find scores by origin.

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
DEPOT_COUNTS = ("scored", "inside", "with_naive", "compared", "compared_inside")
DEPOT_SUMS = (
    "volume",
    "gap",
    "miss",
    "with_naive_miss",
    "with_naive_naive_miss",
    "compared_volume",
    "compared_gap",
    "compared_error",
    "naive_error",
    "median_error",
)
FILL_DEPOTS = """
insert into depot_score_totals (
    is_live, origin_on, depot_id, model_version, made_at,
    scored, inside, volume, gap, miss,
    with_naive, with_naive_miss, with_naive_naive_miss,
    compared, compared_inside, compared_volume, compared_gap, compared_error,
    naive_error, median_error)
select is_live, origin_on, depot_id, model_version, max(made_at) as made_at,
       count(*) as scored, count(*) filter (where is_inside) as inside,
       sum(actual) as volume, sum(gap) as gap, sum(abs(gap)) as miss,
       count(naive_gap) as with_naive,
       coalesce(sum(abs(gap)) filter (where naive_gap is not null), 0)
           as with_naive_miss,
       coalesce(sum(abs(naive_gap)), 0) as with_naive_naive_miss,
       count(*) filter (where is_compared) as compared,
       count(*) filter (where is_compared and is_inside) as compared_inside,
       coalesce(sum(actual) filter (where is_compared), 0) as compared_volume,
       coalesce(sum(gap) filter (where is_compared), 0) as compared_gap,
       coalesce(sum(abs(gap) / divisor) filter (where is_compared), 0)
           as compared_error,
       coalesce(sum(abs(naive_gap) / divisor) filter (where is_compared), 0)
           as naive_error,
       coalesce(sum(abs(median_gap) / divisor) filter (where is_compared), 0)
           as median_error
from (
    select s.is_live, s.origin_on, s.depot_id, s.model_version, f.made_at, s.actual,
           s.actual between s.p10 and s.p90 as is_inside, s.p50 - s.actual as gap,
           s.seasonal_naive - s.actual as naive_gap,
           s.median4 - s.actual as median_gap, nullif(s.actual, 0) as divisor,
           s.actual > 0 and s.seasonal_naive is not null and s.median4 is not null
               as is_compared
    from scores s
    join forecasts f using (depot_id, origin_on, target_on, model_version)
) weighed
group by is_live, origin_on, depot_id, model_version
"""


def upgrade() -> None:
    op.create_index(
        "ix_scores_origin_on", "scores", ["origin_on", "target_on"], unique=False
    )
    op.create_index(
        "ix_scores_target_on_miss",
        "scores",
        ["target_on", "is_live", sa.text("abs(p50 - actual)")],
        unique=False,
    )
    op.drop_index("ix_scores_target_on", table_name="scores")
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
    op.create_table(
        "depot_score_totals",
        sa.Column("is_live", sa.Boolean(), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=False),
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in DEPOT_COUNTS),
        *(sa.Column(name, sa.Double(), nullable=False) for name in DEPOT_SUMS),
        sa.PrimaryKeyConstraint(
            "is_live", "origin_on", "depot_id", "model_version",
            name=op.f("pk_depot_score_totals"),
        ),
        sa.ForeignKeyConstraint(
            ["depot_id"], ["depots.depot_id"],
            name=op.f("fk_depot_score_totals_depot_id_depots"),
        ),
        sa.ForeignKeyConstraint(
            ["model_version"], ["models.version"],
            name=op.f("fk_depot_score_totals_model_version_models"),
        ),
    )  # fmt: skip
    op.execute(FILL_DEPOTS)


def downgrade() -> None:
    op.drop_table("depot_score_totals")
    op.drop_table("score_totals")
    op.create_index("ix_scores_target_on", "scores", ["target_on"], unique=False)
    op.drop_index("ix_scores_target_on_miss", table_name="scores")
    op.drop_index("ix_scores_origin_on", table_name="scores")
