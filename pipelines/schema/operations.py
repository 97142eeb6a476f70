"""The tables that planners write: overrides, settings of each city, decisions on its vans."""

import sqlalchemy as sa

from pipelines.schema.base import NOW, Timestamp, metadata, numbered

# Overrides by planners, appended only by the function `add_overrides`. The newest row of a
# depot's day applies.
overrides = sa.Table(
    "overrides",
    metadata,
    numbered("override_id"),
    sa.Column("depot_id", sa.Text, sa.ForeignKey("depots.depot_id"), nullable=False),
    sa.Column("target_on", sa.Date, nullable=False),
    # Planned orders; null: the plan returns to the forecast.
    sa.Column("orders", sa.Double),
    # The point forecast published at that time, and its origin and model.
    sa.Column("point", sa.Double, nullable=False),
    sa.Column("origin_on", sa.Date, nullable=False),
    sa.Column("model_version", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("made_by", sa.Text, nullable=False),
    sa.Column("made_at", Timestamp, nullable=False, server_default=NOW),
    # The override that this row undoes: the number and the reason before it apply again.
    sa.Column("undoes", sa.BigInteger),
    sa.CheckConstraint("orders between 0 and 100000", name="orders"),
    sa.CheckConstraint("length(btrim(reason)) between 1 and 500", name="reason"),
    sa.CheckConstraint("length(btrim(made_by)) between 1 and 100", name="made_by"),
)
sa.Index(
    "ix_overrides_depot_day",
    overrides.c.depot_id,
    overrides.c.target_on,
    overrides.c.override_id,
)

# Planning settings of cities, appended only by the function `save_city_settings`. The newest
# row of a city applies; a city without one is planned with estimates.
city_settings = sa.Table(
    "city_settings",
    metadata,
    numbered("settings_id"),
    sa.Column("city", sa.Text, nullable=False),
    # Vans and orders per van are either both set or both null: estimated.
    sa.Column("vans", sa.Integer),
    # Orders that one van carries per day.
    sa.Column("orders_per_van", sa.Double),
    # Share of a depot's days on which its vans are to carry all orders.
    sa.Column("service_level", sa.Double, nullable=False),
    sa.Column("drivers_per_van", sa.Double, nullable=False),
    # Shifts, as in "06-14, 14-22"; empty if not set.
    sa.Column("shifts", sa.Text, nullable=False, server_default=sa.text("''")),
    # The settings that this row undoes.
    sa.Column("undoes", sa.BigInteger),
    sa.Column("made_by", sa.Text, nullable=False),
    sa.Column("made_at", Timestamp, nullable=False, server_default=NOW),
    sa.CheckConstraint("(vans is null) = (orders_per_van is null)", name="estimated"),
    sa.CheckConstraint("vans between 0 and 100000", name="vans"),
    sa.CheckConstraint("orders_per_van between 1 and 100000", name="orders_per_van"),
    sa.CheckConstraint("service_level between 0.5 and 0.99", name="service_level"),
    sa.CheckConstraint("drivers_per_van between 1 and 5", name="drivers_per_van"),
    sa.CheckConstraint("length(shifts) <= 100", name="shifts"),
    sa.CheckConstraint("length(btrim(made_by)) between 1 and 100", name="made_by"),
)
sa.Index("ix_city_settings_city", city_settings.c.city, city_settings.c.settings_id)

# Decisions about the vans of a city on a day, appended only by the function `decide_vans`. The
# newest row of a city and day that is not undone applies; an undo appends a copy of the decision
# that applies again.
van_decisions = sa.Table(
    "van_decisions",
    metadata,
    numbered("decision_id"),
    sa.Column("city", sa.Text, nullable=False),
    sa.Column("target_on", sa.Date, nullable=False),
    # Null: nothing is decided, or the decision was taken back.
    sa.Column("kind", sa.Text),
    # Vans hired in addition to those of the settings, and vans of the settings that cannot drive.
    sa.Column("extra", sa.Integer, nullable=False),
    sa.Column("off_road", sa.Integer, nullable=False),
    sa.Column("note", sa.Text, nullable=False, server_default=sa.text("''")),
    # The decision that this row undoes.
    sa.Column("undoes", sa.BigInteger),
    sa.Column("made_by", sa.Text, nullable=False),
    sa.Column("made_at", Timestamp, nullable=False, server_default=NOW),
    sa.CheckConstraint("kind in ('hire', 'accept', 'ask')", name="kind"),
    sa.CheckConstraint("extra between 0 and 100000", name="extra"),
    sa.CheckConstraint("kind is not null or extra = 0", name="hired"),
    sa.CheckConstraint("off_road between 0 and 100000", name="off_road"),
    sa.CheckConstraint("length(note) <= 500", name="note"),
    sa.CheckConstraint("length(btrim(made_by)) between 1 and 100", name="made_by"),
)
sa.Index(
    "ix_van_decisions_day",
    van_decisions.c.city,
    van_decisions.c.target_on,
    van_decisions.c.decision_id,
)
