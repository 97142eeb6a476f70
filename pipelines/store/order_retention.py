"""Drops old orders and freezes their days; the demand counted from them stays."""

from datetime import date

import sqlalchemy as sa

from pipelines.store import order_counts

DROP_ORDERS = "delete from orders where ordered_local < :end"
# Prevents the withdrawal of a file from restoring an order that has been dropped. Runs before
# `DROP_ORDERS`, while the orders to be dropped can still be looked up by their key.
DROP_SUPERSEDED = """
delete from superseded_rows s
where s.table_name = 'orders' and (
    (s.content ->> 'ordered_local')::timestamp < :end
    or exists (
        select from orders o
        where o.order_id = s.content ->> 'order_id'
          and o.id_namespace = s.content ->> 'id_namespace'
          and o.ordered_local < :end))
"""
FREEZE_DAYS = (
    "insert into frozen_days (before_on) values (:before) on conflict do nothing"
)


def frozen_before(connection: sa.Connection) -> date | None:
    """The first day that is not frozen; None if no day is frozen."""
    return connection.scalar(sa.text("select max(before_on) from frozen_days"))


def drop_orders(connection: sa.Connection, before: date) -> int:
    """Freezes the days before `before`, drops their orders, and returns the number dropped.

    Called in a transaction in which demand has just been counted. Superseded rows of the dropped
    orders, and superseded orders as old as they are, are deleted too.
    """
    # Orders that may belong to a day that is not frozen are kept, so that no count changes.
    until = {"end": before - order_counts.SHIFT}
    connection.execute(sa.text(DROP_SUPERSEDED), until)
    dropped = connection.execute(sa.text(DROP_ORDERS), until).rowcount
    connection.execute(sa.text(FREEZE_DAYS), {"before": before})
    return int(dropped)
