"""Read queries of the dashboard, each returning a documented table.

Results are cached for all sessions and keyed by `Freshness`, so that a stale result
cannot be served after a nightly run.
"""

from dashboard.queries.accuracy import (
    accuracy,
    depot_accuracy,
    largest_errors,
    override_accuracy,
    score_kinds,
)
from dashboard.queries.depot import (
    depot_days,
    depot_status,
    depots,
    events_ahead,
    past_forecasts,
)
from dashboard.queries.fleet import daily_totals, fleet_week, freshness
from dashboard.queries.models import models
from dashboard.queries.overrides import override_history, overrides_ahead
from dashboard.queries.panel import panel_tables
from dashboard.queries.pipeline import (
    CALENDAR_DAYS,
    backfills,
    calendar,
    files,
    rejected_rows,
    runs,
)

__all__ = [
    "CALENDAR_DAYS",
    "accuracy",
    "backfills",
    "calendar",
    "daily_totals",
    "depot_accuracy",
    "depot_days",
    "depot_status",
    "depots",
    "events_ahead",
    "files",
    "fleet_week",
    "freshness",
    "largest_errors",
    "models",
    "override_accuracy",
    "override_history",
    "overrides_ahead",
    "panel_tables",
    "past_forecasts",
    "rejected_rows",
    "runs",
    "score_kinds",
]
