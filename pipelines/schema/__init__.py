"""SQLAlchemy tables, and the SQL conditions over them that several packages use.

Dates end in `_on` and are a depot's local service day; timestamps end in `_at` and carry a
zone, except `ordered_local`, the wall-clock time given in the file.
"""

from pipelines.schema.base import metadata
from pipelines.schema.demand import (
    changed_days,
    demand_versions,
    frozen_days,
    order_counts,
)
from pipelines.schema.forecasting import (
    forecast_totals,
    forecasts,
    hour_shares,
    models,
    publications,
    shown_forecast,
)
from pipelines.schema.incoming import (
    daily_counts,
    demo_fleet,
    depots,
    event_versions,
    events,
    file_repeats,
    files,
    orders,
    public_holidays,
    quarantine,
    signal_versions,
    superseded_rows,
)
from pipelines.schema.ledger import (
    run_lines,
    runs,
)
from pipelines.schema.operations import city_settings, overrides, van_decisions
from pipelines.schema.scoring import (
    score_totals,
    scores,
    scores_due,
)
