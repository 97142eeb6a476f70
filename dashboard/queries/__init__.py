"""Every question the dashboard asks, each answered by a documented table.

Answers are shared by all sessions, so they are kept under the `Freshness` they were
given under: what was true before the night cannot be reached after it.
"""

from dashboard.queries.accuracy import (
    accuracy,
    depot_accuracy,
    score_kinds,
    value_of_overrides,
    worst_days,
)
from dashboard.queries.depot import (
    depot_days,
    depots,
    events_ahead,
    news,
    past_forecasts,
)
from dashboard.queries.fleet import daily_totals, fleet_week, freshness
from dashboard.queries.models import models
from dashboard.queries.overrides import override_history, overrides_ahead
from dashboard.queries.panel import panel_tables
from dashboard.queries.pipeline import (
    CALENDAR_DAYS,
    calendar,
    files,
    plans,
    rejected,
    runs,
)

__all__ = [
    "CALENDAR_DAYS",
    "accuracy",
    "calendar",
    "daily_totals",
    "depot_accuracy",
    "depot_days",
    "depots",
    "events_ahead",
    "files",
    "fleet_week",
    "freshness",
    "models",
    "news",
    "override_history",
    "overrides_ahead",
    "panel_tables",
    "past_forecasts",
    "plans",
    "rejected",
    "runs",
    "score_kinds",
    "value_of_overrides",
    "worst_days",
]
