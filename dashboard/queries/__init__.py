"""Every question the dashboard asks, each answered by a documented table.

Answers are shared by all sessions, so they are kept under the `Freshness` they were
given under: what was true before the night cannot be reached after it.
"""

from dashboard.queries.accuracy import accuracy, score_kinds
from dashboard.queries.depot import (
    depot_days,
    depots,
    events_ahead,
    lateness,
    past_forecasts,
)
from dashboard.queries.fleet import daily_totals, fleet_week, freshness
from dashboard.queries.panel import panel_tables

__all__ = [
    "accuracy",
    "daily_totals",
    "depot_days",
    "depots",
    "events_ahead",
    "fleet_week",
    "freshness",
    "lateness",
    "panel_tables",
    "past_forecasts",
    "score_kinds",
]
