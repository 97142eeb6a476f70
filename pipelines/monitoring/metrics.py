"""Metrics of a snapshot: the night's steps, the data, the forecast, the service levels."""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from pipelines.monitoring.metric import Metric, metric
from pipelines.monitoring.run_metrics import measured
from pipelines.monitoring.service_levels import WINDOWS, Levels
from pipelines.monitoring.snapshot import Snapshot

ENDED = ("done", "failed")


def snapshot_metrics(snapshot: Snapshot) -> Iterator[Metric]:
    """All that a look tells; little where it has seen nothing."""
    up = snapshot.trouble is None
    yield metric("up", "Whether the last look found a database to read.", up)
    yield metric(
        "ready", "Whether a forecast can be shown.", snapshot.not_ready is None
    )
    yield metric(
        "snapshot_timestamp_seconds", "When the database was looked at.", snapshot.at
    )
    yield metric(
        "schema_current",
        "Whether the tables are this program's.",
        snapshot.schema_is_current,
    )
    if not up:
        return
    yield from _steps(snapshot)
    yield from measured(snapshot)
    yield from _forecasts(snapshot)
    yield from _data(snapshot)
    yield from _champion(snapshot.tallies)
    yield from _backfills(snapshot)
    yield from _services(snapshot)
    for levels in snapshot.levels:
        yield from _levels(levels)


def _steps(snapshot: Snapshot) -> Iterator[Metric]:
    for step, by_state in snapshot.runs.items():
        ended = [by_state[state] for state in ENDED if state in by_state]
        if ended:
            yield from _ended(step, max(ended, key=lambda run: run["run_id"]))
        if "done" in by_state:
            yield from _done(step, by_state["done"])
        if "running" in by_state:
            yield metric(
                "step_start_timestamp_seconds",
                "When the step that runs now began.",
                by_state["running"]["started_at"],
                step=step,
            )


def _ended(step: str, last: dict[str, Any]) -> Iterator[Metric]:
    description = "Whether the step's newest run that is over failed."
    yield metric("step_failed", description, last["state"] == "failed", step=step)
    description = "When the step's newest run that is over ended."
    yield metric(
        "step_end_timestamp_seconds", description, last["finished_at"], step=step
    )


def _done(step: str, done: dict[str, Any]) -> Iterator[Metric]:
    description = "When the step's newest run that was done ended."
    yield metric(
        "step_success_timestamp_seconds", description, done["finished_at"], step=step
    )
    description = "How long the step's newest run that was done took."
    took = (done["finished_at"] - done["started_at"]).total_seconds()
    yield metric("step_seconds", description, took, step=step)


def _forecasts(snapshot: Snapshot) -> Iterator[Metric]:
    description = "Whole days from the newest origin to the one that is due."
    behind = _behind(snapshot.due_on, snapshot.tallies["origin_on"])
    yield metric("forecast_lag_seconds", description, behind)
    metrics = snapshot.metrics("forecast")
    yield metric(
        "fallback_depots",
        "Depots that the last forecast gave the plain forecast.",
        None if metrics is None else metrics.get("gated", 0),
    )
    watched = snapshot.metrics("accuracy")
    yield metric(
        "accuracy_alarms",
        "Alarms of the last night about the accuracy of live forecasts.",
        None if watched is None else len(watched.get("alarms", ())),
    )
    yield metric(
        "worse_than_naive_streak",
        "Newest days in a row on which the seasonal naive was better.",
        None if watched is None else watched.get("worse_days"),
    )


def _data(snapshot: Snapshot) -> Iterator[Metric]:
    tallies = snapshot.tallies
    description = "Whole days from the newest day of any depot to the day that is due."
    yield metric(
        "data_lag_seconds", description, _behind(snapshot.due_on, tallies["newest_on"])
    )
    yield metric("depots", "Depots known.", tallies["depots"])
    yield metric("file_loaded_timestamp_seconds", "Newest file.", tallies["file_at"])
    metrics = snapshot.metrics("ingest")
    yield metric(
        "files_refused",
        "Files of the inbox that the last night refused.",
        None if metrics is None else metrics.get("refused", 0),
    )
    if snapshot.slow is None:
        return
    description = (
        "Whole days from the newest day of the depot furthest behind to the day due."
    )
    oldest = _behind(snapshot.due_on, snapshot.slow.oldest_on)
    yield metric("data_oldest_depot_lag_seconds", description, oldest)
    yield metric(
        "depots_late", "Depots that lack the day that is due.", snapshot.slow.late
    )
    rows = snapshot.slow.rows
    yield metric("files_loaded_total", "Files loaded so far.", rows["files"])
    yield metric(
        "rows_accepted_total", "Rows that changed something.", rows["accepted"]
    )
    yield metric("rows_rejected_total", "Rows put aside so far.", rows["rejected"])
    yield metric("rows_quarantined", "Rows still put aside.", rows["quarantined"])


def _behind(due_on: date | None, newest: date | None) -> float | None:
    """Seconds of whole days; a day that is ahead is not behind."""
    if due_on is None or newest is None:
        return None
    return max((due_on - newest).total_seconds(), 0)


def _champion(tallies: dict[str, Any]) -> Iterator[Metric]:
    version = tallies["champion"]
    if version is None:
        return
    yield metric("champion_info", "The model that is shown.", 1, version=version)
    yield metric(
        "champion_promoted_timestamp_seconds",
        "When it became the champion.",
        tallies["promoted_at"],
    )
    yield metric(
        "champion_trained_through_timestamp_seconds",
        "The last day it learnt from.",
        tallies["trained_through"],
    )


def _backfills(snapshot: Snapshot) -> Iterator[Metric]:
    for state in ("running", "paused", "failed"):
        found = snapshot.backfills.get(state, {})
        for key, description in (
            ("plans", "Backfills that are not at an end."),
            ("waiting", "Slots of theirs that wait."),
            ("failed", "Slots of theirs that failed."),
        ):
            name = "backfills_open" if key == "plans" else f"backfill_slots_{key}"
            yield metric(name, description, found.get(key, 0), state=state)


def _services(snapshot: Snapshot) -> Iterator[Metric]:
    tallies = snapshot.tallies
    leads = snapshot.scheduler_leads
    yield metric("scheduler_is_leader", "Whether a scheduler holds the lead.", leads)
    yield metric("database_bytes", "Size of the database.", tallies["database_bytes"])
    yield metric("database_sessions", "Sessions on it.", tallies["sessions"])
    waiting, lost = tallies["notices_waiting"], tallies["notices_lost"]
    yield metric("notices_waiting", "Notices that wait to be sent.", waiting)
    yield metric("notices_lost_total", "Notices that were given up.", lost)


def _levels(levels: Levels) -> Iterator[Metric]:
    window = f"{levels.days}d"
    for level in levels.all:
        labels = {"slo": level.name, "window": window}
        if level.of == 0:
            continue
        yield metric("slo_events", "Nights, or probes, that count.", level.of, **labels)
        yield metric("slo_good_events", "Of these, kept.", level.kept, **labels)
        yield metric("slo_target_ratio", "Share promised.", level.wanted, **labels)
        description = "Part of the failures allowed that is left; below 0 overspent."
        yield metric(
            "slo_error_budget_remaining_ratio", description, level.budget_left, **labels
        )
    description = "95 % of the dashboard's answers took no longer."
    yield metric(
        "dashboard_p95_seconds", description, levels.answers.p95_s, window=window
    )
    if levels.nights and levels.days == WINDOWS[0]:
        yield from _last_night(levels)


def _last_night(levels: Levels) -> Iterable[Metric]:
    night = levels.nights[-1]
    ready_at = night.ready_at
    margin = None if ready_at is None else (night.ready_by - ready_at).total_seconds()
    return (
        metric(
            "forecast_ready",
            "Whether the forecast of the newest night that is due is there.",
            ready_at is not None,
        ),
        metric("last_nightly_on_time", "Whether it was there in time.", night.is_kept),
        metric("last_nightly_margin_seconds", "How long before; below 0 late.", margin),
        metric("last_nightly_origin_timestamp_seconds", "Its origin.", night.origin_on),
    )
