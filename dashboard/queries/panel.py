"""What the model is parameters anew with."""

from datetime import date
from typing import Any

import pandas as pd

from dashboard.queries.database import snapshot
from dashboard.sql import depot as sql


def panel_tables(depot: str, first: date, through: date) -> dict[str, pd.DataFrame]:
    """Tables for the panel of all depots that influence a depot's forecast.

    These are the depots of its city, or the whole fleet where none of the city has a
    known day.

    Args:
      depot: A depot_id.
      first: First day of demand.
      through: Last day of demand.

    Returns:
      depots, demand, events and holidays, as `forecaster.data.panel_builder.build_panel` takes them.
    """
    parameters: dict[str, Any] = {"depot": depot, "first": first, "through": through}
    with snapshot() as read:
        return {
            "depots": read(sql.PEER_DEPOTS, **parameters),
            "demand": read(sql.PEER_DEMAND, numbers=["orders"], **parameters),
            "events": read(sql.ALL_EVENTS),
            "holidays": read(sql.PEER_HOLIDAYS, **parameters),
        }
