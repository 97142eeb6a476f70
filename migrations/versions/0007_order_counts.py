"""Keep orders counted by the day, and which days must be counted anew.

Triggers mark days, so that no way of writing orders is missed. A load that has marked the
days of its rows says so, for the rows of ten million would be kept twice otherwise.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

MARK_ALL = """
create function harbor_mark_all_days() returns trigger language plpgsql as $$
begin
    if coalesce(current_setting('harbor.days_are_marked', true), '') <> 'yes' then
        insert into dirty_days (day_on) values ('-infinity');
    end if;
    return null;
end $$
"""
# The service day lies within two days of the wall-clock time, whatever the zones.
MARK_CHANGED = """
create function harbor_mark_changed_days() returns trigger language plpgsql as $$
begin
    insert into dirty_days (day_on)
    select distinct ordered_local::date + shift
    from (select ordered_local from before union all select ordered_local from after) o
    cross join generate_series(-2, 2) as shift;
    return null;
end $$
"""
MARK_ALL_IF_ZONES = """
create function harbor_mark_all_if_zones_change() returns trigger language plpgsql as $$
begin
    if exists (select depot_id, timezone from after
               except select depot_id, timezone from before) then
        insert into dirty_days (day_on) values ('-infinity');
    end if;
    return null;
end $$
"""
# Orders may have come before their depot did; those of a load do not.
MARK_ALL_IF_NEW = """
create function harbor_mark_all_if_new_depots() returns trigger language plpgsql as $$
begin
    if coalesce(current_setting('harbor.days_are_marked', true), '') <> 'yes'
       and exists (select from after) then
        insert into dirty_days (day_on) values ('-infinity');
    end if;
    return null;
end $$
"""
TRIGGERS = """
create trigger orders_inserted after insert on orders
    for each statement execute function harbor_mark_all_days();
create trigger orders_deleted after delete on orders
    for each statement execute function harbor_mark_all_days();
create trigger orders_truncated after truncate on orders
    for each statement execute function harbor_mark_all_days();
create trigger orders_updated after update on orders
    referencing old table as before new table as after
    for each statement execute function harbor_mark_changed_days();
create trigger depots_inserted after insert on depots
    referencing new table as after
    for each statement execute function harbor_mark_all_if_new_depots();
create trigger depots_updated after update on depots
    referencing old table as before new table as after
    for each statement execute function harbor_mark_all_if_zones_change();
"""


def upgrade() -> None:
    op.create_table(
        "order_counts",
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("service_on", sa.Date(), nullable=False),
        sa.Column("orders", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("service_on", "depot_id", name="pk_order_counts"),
    )
    op.create_table(
        "dirty_days",
        sa.Column("mark_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("day_on", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("mark_id", name="pk_dirty_days"),
    )
    for function in (MARK_ALL, MARK_CHANGED, MARK_ALL_IF_ZONES, MARK_ALL_IF_NEW):
        op.execute(function)
    for trigger in TRIGGERS.strip().split(";\n"):
        op.execute(trigger.rstrip(";"))
    op.execute("insert into dirty_days (day_on) values ('-infinity')")
    # What was known of depots whose first orders are gone.
    op.execute(
        "insert into order_counts (depot_id, service_on, orders) "
        "select depot_id, first_on, 0 from frozen_depots"
    )
    op.drop_table("frozen_depots")


def downgrade() -> None:
    op.create_table(
        "frozen_depots",
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("first_on", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("depot_id", name="pk_frozen_depots"),
    )
    op.execute(
        "insert into frozen_depots select depot_id, min(service_on) from order_counts "
        "where exists (select from frozen_days) group by depot_id"
    )
    for name in ("inserted", "deleted", "truncated", "updated"):
        op.execute(f"drop trigger orders_{name} on orders")
    for name in ("inserted", "updated"):
        op.execute(f"drop trigger depots_{name} on depots")
    for name in (
        "all_days",
        "changed_days",
        "all_if_zones_change",
        "all_if_new_depots",
    ):
        op.execute(f"drop function harbor_mark_{name}()")
    op.drop_table("dirty_days")
    op.drop_table("order_counts")
