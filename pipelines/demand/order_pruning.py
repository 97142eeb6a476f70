"""Drops orders older than a setting; daily demand keeps every day."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.settings import Settings
from pipelines.store import demand, ingest, order_retention


@dataclass(frozen=True)
class DroppedOrders:
    """The number of dropped orders, and the first day whose orders are kept.

    `froze` tells whether days were frozen that were not before.
    """

    orders: int
    before: date
    froze: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing was dropped or frozen."""
        return not (self.orders or self.froze)


def drop_old_orders(
    engine: sa.Engine, settings: Settings, now: datetime
) -> DroppedOrders | None:
    """Counts demand, freezes the days before `keep_orders_days`, and drops their orders.

    Safe to repeat. Orders that come later for a frozen day are not counted, and are dropped
    the next time. Returns None if the setting keeps every order.
    """
    if settings.keep_orders_days is None:
        return None
    fleet_day = now.astimezone(settings.zone).date()
    before = fleet_day - timedelta(days=settings.keep_orders_days)
    with engine.begin() as connection:
        # A concurrent load could insert orders between counting and dropping.
        ingest.lock(connection, "orders")
        today = counting.first_incomplete_day(connection, now)
        demand.recount(connection, today, now, settings.look_back_days)
        # Frozen days stay frozen, even if the setting has been raised since.
        frozen = order_retention.frozen_before(connection)
        before = max(before, frozen or before)
        return DroppedOrders(
            order_retention.drop_orders(connection, before), before, before != frozen
        )
