"""Old orders are dropped; the demand counted from them stays, and never changes again."""

from datetime import date

import sqlalchemy as sa

from pipelines.store.demand import SERVICE_DAY

# Wall-clock times lie within a day of the service day, whatever the zones.
FREEZE_DEPOTS = f"""
insert into frozen_depots (depot_id, first_on)
select o.depot_id, min({SERVICE_DAY})
from orders o join depots d using (depot_id)
where o.ordered_local < :end
group by o.depot_id
on conflict (depot_id) do update
set first_on = least(frozen_depots.first_on, excluded.first_on)
"""
DROP = "delete from orders where ordered_local < :end"
FREEZE_DAYS = """
insert into frozen_days (before_on, orders_dropped) values (:before, :dropped)
on conflict (before_on) do update
set orders_dropped = frozen_days.orders_dropped + excluded.orders_dropped
"""
SPARE_DAYS = 2
"""Orders of the last frozen days stay: their depots' zones may yet be mended."""


def frozen_before(connection: sa.Connection) -> date | None:
    """The first day that is not frozen; None where none is."""
    return connection.scalar(sa.text("select max(before_on) from frozen_days"))


def drop_orders(connection: sa.Connection, before: date) -> int:
    """Freezes the days before one, drops their orders, and returns how many.

    Args:
      connection: Inside a transaction in which demand has just been counted.
      before: The first day that keeps its orders.
    """
    end = sa.text("select cast(:before as date) - :spare")
    asked = {"before": before, "spare": SPARE_DAYS}
    until = {"end": connection.scalar(end, asked)}
    connection.execute(sa.text(FREEZE_DEPOTS), until)
    dropped = connection.execute(sa.text(DROP), until).rowcount
    told = {"before": before, "dropped": dropped}
    connection.execute(sa.text(FREEZE_DAYS), told)
    return int(dropped)
