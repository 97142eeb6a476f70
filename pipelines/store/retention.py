"""Old orders are dropped; the demand counted from them stays, and never changes again."""

from datetime import date

import sqlalchemy as sa

from pipelines.store import order_counts

DROP = "delete from orders where ordered_local < :end"
FREEZE_DAYS = """
insert into frozen_days (before_on, orders_dropped) values (:before, :dropped)
on conflict (before_on) do update
set orders_dropped = frozen_days.orders_dropped + excluded.orders_dropped
"""


def frozen_before(connection: sa.Connection) -> date | None:
    """The first day that is not frozen; None where none is."""
    return connection.scalar(sa.text("select max(before_on) from frozen_days"))


def drop_orders(connection: sa.Connection, before: date) -> int:
    """Freezes the days before one, drops their orders, and returns how many.

    Args:
      connection: Inside a transaction in which demand has just been counted.
      before: The first day that keeps its orders.
    """
    with order_counts.days_are_marked(connection):
        # None that may lie on a day which is not frozen.
        until = {"end": before - order_counts.SHIFT}
        dropped = connection.execute(sa.text(DROP), until).rowcount
    told = {"before": before, "dropped": dropped}
    connection.execute(sa.text(FREEZE_DAYS), told)
    return int(dropped)
