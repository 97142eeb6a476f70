"""What the model is asked anew with."""

from datetime import date
from typing import Any

import pandas as pd

from dashboard.queries.database import snapshot
from dashboard.queries.sql import depot as statements


def panel_tables(depot: str, first: date, through: date) -> dict[str, pd.DataFrame]:
    """What the panel of all depots that reach a depot's forecast is built from.

    These are the depots of its city, or the whole fleet where none of the city has a
    known day.

    Args:
      depot: A depot_id.
      first: First day of demand.
      through: Last day of demand.

    Returns:
      depots, demand, events and holidays, as `forecaster.data.panel_builder.build_panel` takes them.
    """
    asked: dict[str, Any] = {"depot": depot, "first": first, "through": through}
    with snapshot() as read:
        return {
            "depots": read(statements.ALIKE_DEPOTS, **asked),
            "demand": read(statements.ALIKE_DEMAND, numbers=["orders"], **asked),
            "events": read(statements.ALL_EVENTS),
            "holidays": read(statements.ALIKE_HOLIDAYS, **asked),
        }
