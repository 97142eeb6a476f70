"""The metrics of the fleet: read from the database, and converted for Prometheus.

Timestamps are seconds since 1970, so that a query computes an age as `time()` minus the metric.
An unknown value is absent, never 0.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import sqlalchemy as sa
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from pipelines.forecasting.live_accuracy import LOOK_BACK_DAYS
from pipelines.runs.locks import is_free
from pipelines.scheduling.schedule import LEADER_LOCK
from pipelines.settings import Settings
from pipelines.store import accuracy, demand, late_depots, monitoring
from pipelines.store.monitoring import Sample, sample

COMPILE_CACHE_PERIOD = timedelta(days=30)
READY_AFTER = timedelta(minutes=30)
"""Time from the start of a night to its deadline, if HARBOR_READY_BY is not set."""
MAX_DAYS_BACK = 2
"""Enough days to find a deadline that has passed: one is at most a day after its night starts."""

HELP = {
    "up": "Whether the database could be read within the last minutes.",
    "snapshot_timestamp_seconds": "When the watch last read the database, or tried to.",
    "schema_current": "Whether the tables are of this release.",
    "watch_started_timestamp_seconds": "When 'harbor watch' began.",
    "deployment_in_progress": "Whether the watch began under 10 minutes ago, or the tables are of another release.",
    "home_disk_free_bytes": "Free bytes on the disk of HARBOR_HOME.",
    "home_disk_used_bytes": "Used bytes on the disk of HARBOR_HOME.",
    "dashboard_up": "Whether the dashboard answered the last probe.",
    "dashboard_seconds": "Duration of the last probe: the first page's queries, and the answer.",
    "notifications_failed_total": "Notifications that a channel did not accept.",
    "step_failed": "Whether the step failed in the newest night, or the newest backup failed.",
    "step_success_timestamp_seconds": "End of the step's newest completed run.",
    "step_seconds": "Duration of the step's newest completed run.",
    "step_start_timestamp_seconds": "Start of the step that runs now.",
    "forecast_ready": "Whether the forecast of the newest due night is there.",
    "last_nightly_on_time": "Whether the forecast of the newest due night was ready by its deadline.",
    "last_nightly_margin_seconds": "From that forecast's completion to the deadline; below 0 if late.",
    "forecast_lag_seconds": "From the shown forecast's origin to the origin that is due, in whole days.",
    "accuracy_alarms": "Alarms of the last night about live accuracy.",
    "worse_than_naive_streak": "Consecutive newest days that were worse than the seasonal naive.",
    "data_lag_seconds": "From the fleet's newest counted day to the day that is due, in whole days.",
    "data_oldest_depot_lag_seconds": "From the last counted day of the depot furthest behind to the day that is due.",
    "depots": "Depots known.",
    "depots_late": "Depots without a count of the day that is due.",
    "files_refused": "Files of the inbox that the last night refused.",
    "files_loaded_total": "Files loaded.",
    "rows_accepted_total": "Accepted rows that were new or changed an earlier row.",
    "rows_rejected_total": "Rows rejected.",
    "rows_quarantined": "Rows in quarantine.",
    "champion_info": "Always 1; the label version names the champion.",
    "champion_trained_through_timestamp_seconds": "The last day that the champion was trained on.",
    "scheduler_is_leader": "Whether a scheduler holds the lead.",
    "database_bytes": "Size of the database.",
    "database_sessions": "Sessions on the database.",
    "training_compilations": "Programs compiled by the last training.",
    "training_cache_hits": "Programs that the last training read from the compile cache.",
    "training_cache_misses": "Compile-cache look-ups of the last training that missed.",
    "training_compile_seconds": "Compile time of the last training.",
    "training_first_step_seconds": "Time to compile and run one step, before the last training's first epoch.",
    "training_step_seconds": "Mean duration of a step of the last training, once compiled.",
    "training_device_memory_peak_bytes": "Peak memory of one device in the last training.",
    "training_device_memory_limit_bytes": "Memory of one device that the last training could use.",
    "training_host_memory_peak_bytes": "Peak memory of the last training's process.",
    "training_cold_trainings": "Trainings of the last 30 days with a compile-cache miss.",
    "training_cache_hit_ratio": "Share of compile-cache look-ups that hit, over the trainings of the last 30 days.",
    "inference_seconds": "Duration of the last forecast, without reading and writing.",
    "inference_host_memory_peak_bytes": "Peak memory of the last forecast's process.",
    "live_mape_ratio": "Mean of |forecast - actual| / actual over four live weeks.",
    "live_wape_ratio": "Sum of |forecast - actual| over the sum of actuals, days without orders included; of forecasts that both naive ones cover.",
    "live_bias_ratio": "Sum of forecast - actual over the sum of actuals; above 0 is too high; of the same forecasts as WAPE.",
    "live_coverage_ratio": "Share of actuals inside the 80 % interval over four weeks.",
    "live_scored": "Scored depot-day forecasts of four weeks that the naive forecasts cover, too.",
    "live_city_mape_ratio": "MAPE by city.",
    "live_city_coverage_ratio": "Share of actuals inside the 80 % interval, by city.",
    "live_horizon_mape_ratio": "MAPE by days ahead.",
}
"""Help text of each metric, by name without the prefix `harbor_`."""


def families(
    samples: Iterable[Sample],
) -> list[CounterMetricFamily | GaugeMetricFamily]:
    """Groups samples by name; one that ends in `_total` is a counter."""
    grouped: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for name, value, labels in samples:
        if name not in grouped:
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            grouped[name] = kind(f"harbor_{name}", HELP[name], labels=list(labels))
        grouped[name].add_metric(list(labels.values()), value)
    return list(grouped.values())


def current_samples(
    connection: sa.Connection, settings: Settings, now: datetime
) -> Iterator[Sample]:
    """Samples read every few seconds: runs, the newest data and forecast."""
    zones = demand.zones(connection)
    due_on = settings.due_on(now, zones)
    since = now - COMPILE_CACHE_PERIOD
    open_on = late_depots.newest_open_day(connection, due_on)
    yield from monitoring.read_samples(connection, monitoring.OVERVIEW, open_on=open_on)
    yield from monitoring.read_samples(connection, monitoring.STEPS)
    yield from monitoring.run_samples(connection)
    yield from monitoring.read_samples(
        connection, monitoring.COMPILE_CACHE, since=since
    )
    yield from monitoring.read_samples(connection, monitoring.CHAMPION)
    yield sample("scheduler_is_leader", not is_free(connection, LEADER_LOCK))

    night = newest_due_night(settings, zones, now)
    first_at = monitoring.first_night_at(connection)
    if first_at is None or night.starts_at < first_at:
        return
    # Without --origin no night forecasts from a closed day, so an older forecast will do.
    since_on = max(
        late_depots.newest_open_day(connection, night.origin_on),
        # An older forecast is over on the day after.
        night.origin_on - timedelta(days=settings.horizon - 1),
    )
    ready_at = monitoring.forecast_ready_at(connection, since_on, night.origin_on)
    is_on_time = ready_at is not None and ready_at <= night.ready_by
    yield sample("forecast_ready", ready_at is not None)
    yield sample("last_nightly_on_time", is_on_time)
    if ready_at is not None:
        margin = night.ready_by - ready_at
        yield sample("last_nightly_margin_seconds", margin.total_seconds())


@dataclass(frozen=True)
class DueNight:
    """A nightly run that was due; its forecast uses no data from after `origin_on`."""

    origin_on: date
    starts_at: datetime
    ready_by: datetime


def newest_due_night(
    settings: Settings, zones: Mapping[str, int], now: datetime
) -> DueNight:
    """Returns the newest night whose deadline has passed; `zones` counts active depots by zone."""
    today = now.astimezone(settings.zone).date()
    days = (today - timedelta(days=n) for n in range(MAX_DAYS_BACK + 1))
    nights = (_night_of(settings, zones, day) for day in days)
    return next(night for night in nights if night.ready_by <= now)


def _night_of(settings: Settings, zones: Mapping[str, int], day: date) -> DueNight:
    """Returns the night that begins on a day of the fleet's own zone."""
    starts_at = settings.night_on(day)
    origin_on = settings.origin_of(starts_at, zones)
    if settings.ready_by is None:
        # In UTC, because adding time to a local time ignores clock changes.
        return DueNight(origin_on, starts_at, starts_at.astimezone(UTC) + READY_AFTER)
    clock = time.fromisoformat(settings.ready_by)
    at_night = time.fromisoformat(settings.nightly_at)
    ready_on = day if clock > at_night else day + timedelta(days=1)
    ready_by = datetime.combine(ready_on, clock, settings.zone)
    if ready_by <= starts_at:  # A clock change has moved the start past it.
        wait = datetime.combine(day, clock) - datetime.combine(day, at_night)
        ready_by = (starts_at.astimezone(UTC) + wait).astimezone(settings.zone)
    return DueNight(origin_on, starts_at, ready_by)


def slow_samples(connection: sa.Connection, due_on: date) -> Iterator[Sample]:
    """Samples that take seconds in a large fleet: late depots, row totals, live accuracy.

    A depot is late if it lacks `due_on`, the newest day whose orders should be there by now.
    """
    yield from monitoring.read_samples(connection, monitoring.ROWS)
    expected = late_depots.expected(connection, due_on)
    late_since = [each.last_on for each in expected if each.is_late]
    yield sample("depots_late", len(late_since))
    lag = due_on - min(late_since, default=due_on)
    yield sample("data_oldest_depot_lag_seconds", lag.total_seconds())
    yield from _live_accuracy(connection)


def _live_accuracy(connection: sa.Connection) -> Iterator[Sample]:
    for row in accuracy.fleet_scores(connection, LOOK_BACK_DAYS):
        for score in ("mape", "wape", "bias"):
            if (value := getattr(row, score)) is not None:
                yield sample(f"live_{score}_ratio", value, model=row.model)
        if row.model == "shown":
            yield sample("live_coverage_ratio", row.coverage)
            yield sample("live_scored", row.n)
    for segment in ("city", "horizon"):
        period = accuracy.Period(LOOK_BACK_DAYS)
        for scores in accuracy.by_segments(connection, (segment,), period):
            labels = {segment: str(scores.segment[0])}
            if segment == "city":
                coverage = scores.n_in_interval / scores.n
                yield sample("live_city_coverage_ratio", coverage, **labels)
            if scores.n_comparable:
                mape = scores.ape_sum / scores.n_comparable
                yield sample(f"live_{segment}_mape_ratio", mape, **labels)
