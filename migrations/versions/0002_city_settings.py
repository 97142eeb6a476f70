"""Creates `city_settings`, and the functions by which planners write.

`add_overrides` takes many days at once and replaces `add_override`; an unlocked day that
nobody had set is the forecast's again.

Revision ID: 0002_city_settings
Revises: 0001_initial
"""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0002_city_settings"
down_revision = "0001_initial"

SQL = Path(__file__).parents[1] / "sql"
ORDERS_BY_ACTION = (
    "case action when 'withdraw' then orders is null "
    "when 'unlock' then orders is null or (orders >= 0 and orders < 1e7) "
    "else coalesce(orders >= 0 and orders < 1e7, false) end"
)
ORDERS_OF_0001 = "case when action = 'withdraw' then orders is null else coalesce(orders >= 0 and orders < 1e7, false) end"


def upgrade() -> None:
    op.create_table(
        "city_settings",
        sa.Column(
            "settings_id", sa.BigInteger(), sa.Identity(always=True), nullable=False
        ),
        sa.Column("city", sa.Text(), nullable=False),
        sa.Column("vans", sa.Integer(), nullable=False),
        sa.Column("orders_per_van", sa.Double(), nullable=False),
        sa.Column("service_level", sa.Double(), nullable=False),
        sa.Column("drivers_per_van", sa.Double(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column(
            "made_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "vans between 0 and 100000", name=op.f("ck_city_settings_vans")
        ),
        sa.CheckConstraint(
            "orders_per_van between 1 and 100000",
            name=op.f("ck_city_settings_orders_per_van"),
        ),
        sa.CheckConstraint(
            "service_level between 0.5 and 0.99",
            name=op.f("ck_city_settings_service_level"),
        ),
        sa.CheckConstraint(
            "drivers_per_van between 1 and 5",
            name=op.f("ck_city_settings_drivers_per_van"),
        ),
        sa.CheckConstraint(
            "length(btrim(made_by)) between 1 and 100",
            name=op.f("ck_city_settings_made_by"),
        ),
        sa.PrimaryKeyConstraint("settings_id", name=op.f("pk_city_settings")),
    )
    op.create_index(
        "ix_city_settings_city", "city_settings", ["city", "settings_id"], unique=False
    )
    _replace_check(ORDERS_BY_ACTION)
    _run_script("add_overrides.sql")
    _run_script("0002_city_settings.sql")


def downgrade() -> None:
    _run_script("0002_down.sql")
    _replace_check(ORDERS_OF_0001)
    op.drop_table("city_settings")
    _run_script("0001_overrides.sql")


def _replace_check(condition: str) -> None:
    name = op.f("ck_overrides_orders")
    op.drop_constraint(name, "overrides", type_="check")
    op.create_check_constraint(name, "overrides", condition)


def _run_script(name: str) -> None:
    """Runs a file of several statements; `{schema}` is the schema of the tables."""
    bind = op.get_bind()
    schema = bind.scalar(sa.text("select quote_ident(current_schema())"))
    script = (SQL / name).read_text().replace("{schema}", str(schema))
    script = script.replace("{shown}", "p50")
    bind.connection.driver_connection.execute(script)
