"""Tables of models and their forecasts."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from pipelines.schema.base import (
    NOW,
    Timestamp,
    doubles,
    metadata,
    model_version,
    numbered,
)

models = sa.Table(
    "models",
    metadata,
    sa.Column("version", sa.Text, primary_key=True),
    sa.Column("created_at", Timestamp, nullable=False, server_default=NOW),
    sa.Column("trained_through", sa.Date, nullable=False),
    sa.Column("data_watermark", sa.Text, nullable=False),
    sa.Column("filename", sa.Text, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    # evaluation: the fit on data before the holdout. hindcast: trained through an earlier day
    # than the model that makes live forecasts. Both are used for hindcasts only.
    sa.Column("role", sa.Text, nullable=False),
    # Scores of the evaluation fit over the holdout window, as the backtest prints them.
    sa.Column("scores", pg.JSONB, nullable=False, server_default=sa.text("'{}'")),
    sa.Column("decision_reason", sa.Text),
    sa.Column("promoted_at", Timestamp),
    sa.Column("run_id", sa.BigInteger, sa.ForeignKey("runs.run_id")),
    # When its artefact was deleted; null while it exists.
    sa.Column("pruned_at", Timestamp),
    sa.CheckConstraint(
        "role in ('challenger','champion','retired','rejected','evaluation','hindcast')",
        name="role",
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
    model_version(),
    # City of the depot when the forecast was made; this city's total includes the depot.
    sa.Column("city", sa.Text, nullable=False),
    # Orders per day.
    *doubles("p10", "p50", "p90"),
    # The point forecast, which is shown and scored; HARBOR_POINT chooses it.
    *doubles("point"),
    # model: from the depot's own history; cold_start: from depots of its city;
    # closed: known to be shut.
    sa.Column("basis", sa.Text, nullable=False),
    # False for a hindcast: see `pipelines.forecasting.forecast.is_live`.
    sa.Column("is_live", sa.Boolean, nullable=False),
    sa.Column("made_at", Timestamp, nullable=False),
    sa.Column("run_id", sa.BigInteger, sa.ForeignKey("runs.run_id")),
    sa.CheckConstraint("target_on > origin_on", name="future"),
    sa.CheckConstraint("0 <= p10 and p10 <= p50 and p50 <= p90", name="quantiles"),
    sa.CheckConstraint("p10 <= point and point <= p90", name="point"),
    sa.CheckConstraint("basis in ('model','cold_start','closed')", name="basis"),
)
sa.Index("ix_forecasts_target_on", forecasts.c.target_on)
sa.Index("ix_forecasts_origin_on", forecasts.c.origin_on)

# Published forecasts: one row each time a forecast is published. Appended, never changed.
# The views `shown_forecast` and `live_forecasts` read it.
publications = sa.Table(
    "publications",
    metadata,
    numbered("publication_id"),
    sa.Column("origin_on", sa.Date, nullable=False),
    model_version(primary_key=False),
    # Whether it counts in live accuracy: the forecast was live both when it was made and when
    # it was published. See `pipelines.forecasting.forecast.is_live`.
    sa.Column("is_live", sa.Boolean, nullable=False),
    sa.Column("published_at", Timestamp, nullable=False),
    # The run that made the forecast.
    sa.Column("run_id", sa.BigInteger, sa.ForeignKey("runs.run_id")),
)
sa.Index("ix_publications_origin_on", publications.c.origin_on)

_publication_columns = [sa.Column(c.name, c.type) for c in publications.columns]
# View of the last publication, which the pages show.
shown_forecast = sa.Table("shown_forecast", sa.MetaData(), *_publication_columns)

# Totals of the fleet and of each city: a total has its own median, and an interval that is
# narrower than the sum of the depots' intervals.
forecast_totals = sa.Table(
    "forecast_totals",
    metadata,
    # '' for the whole fleet.
    sa.Column("city", sa.Text, primary_key=True),
    sa.Column("origin_on", sa.Date, primary_key=True),
    sa.Column("target_on", sa.Date, primary_key=True),
    model_version(),
    # Orders per day.
    *doubles("p10", "p50", "p90"),
    # Number of depots in the total: those that are open on that day.
    sa.Column("depots", sa.Integer, nullable=False),
    sa.CheckConstraint("target_on > origin_on", name="future"),
    sa.CheckConstraint("0 <= p10 and p10 <= p50 and p50 <= p90", name="quantiles"),
)

# Distribution of a day's orders over its hours, on the days ahead of the last published forecast:
# see `forecaster.hours`. Empty if the fleet's orders have no times.
hour_shares = sa.Table(
    "hour_shares",
    metadata,
    sa.Column("depot_id", sa.Text, sa.ForeignKey("depots.depot_id"), primary_key=True),
    sa.Column("target_on", sa.Date, primary_key=True),
    sa.Column("origin_on", sa.Date, nullable=False),
    # Share of each hour of the depot's local time, from midnight; adds up to 1. When clocks
    # change, a repeated hour has the share of both, and a skipped hour has 0.
    sa.Column("share", pg.ARRAY(sa.REAL), nullable=False),
    # How closely single days of depots and of cities follow their shares; larger is closer.
    *doubles("concentration", "city_concentration"),
)
