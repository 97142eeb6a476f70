"""Read queries of the dashboard, each returning a documented table.

Results are cached for all sessions and keyed by `Freshness`, so that a stale result
cannot be served after a nightly run.

database   read-only connections with short timeouts, to a replica if there is one
freshness  freshness of data and forecast, the cache key
fleet, depot, scores, overrides and pipeline have the queries by topic, each with its SQL.
"""

from dashboard.queries.database import read_table, settings
from dashboard.queries.depot import (
    as_of,
    depot_days,
    depot_status,
    depots,
    panel_tables,
    past_forecasts,
)
from dashboard.queries.fleet import (
    city_shares,
    clock,
    daily_totals,
    fleet_events,
    fleet_week,
    last_day,
    load_model,
    models,
    running_cities,
    running_depots,
)
from dashboard.queries.freshness import due_on, freshness, zone
from dashboard.queries.overrides import changes, newest_change
from dashboard.queries.pipeline import (
    calendar,
    files,
    rejected_rows,
    run_in_progress,
    runs,
)
from dashboard.queries.scores import (
    ScoreFilter,
    accuracy,
    band_coverage,
    depot_accuracy,
    largest_errors,
    override_accuracy,
    scored_days,
)
