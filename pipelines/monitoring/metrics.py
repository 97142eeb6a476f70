"""A look as numbers: the steps of the night, the data, the forecast, the levels."""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from pipelines.monitoring.metric import Number, one
from pipelines.monitoring.run_metrics import measured
from pipelines.monitoring.service_levels import WINDOWS, Levels
from pipelines.monitoring.snapshot import Look

ENDED = ("done", "failed")


def numbers(look: Look) -> Iterator[Number]:
    """All that a look tells; little where it has seen nothing."""
    up = look.trouble is None
    yield one("up", "Whether the last look found a database to read.", up)
    yield one("ready", "Whether a forecast can be shown.", look.not_ready is None)
    yield one("looked_timestamp_seconds", "When the database was looked at.", look.at)
    yield one(
        "schema_current",
        "Whether the tables are this program's.",
        look.schema_is_current,
    )
    if not up:
        return
    yield from _steps(look)
    yield from measured(look)
    yield from _forecasts(look)
    yield from _data(look)
    yield from _champion(look.tallies)
    yield from _backfills(look)
    yield from _services(look)
    for levels in look.levels:
        yield from _levels(levels)


def _steps(look: Look) -> Iterator[Number]:
    for step, by_state in look.runs.items():
        ended = [by_state[state] for state in ENDED if state in by_state]
        if ended:
            yield from _ended(step, max(ended, key=lambda run: run["run_id"]))
        if "done" in by_state:
            yield from _done(step, by_state["done"])
        if "running" in by_state:
            yield one(
                "step_heartbeat_timestamp_seconds",
                "The last sign of life of the step that runs now.",
                by_state["running"]["heartbeat_at"],
                step=step,
            )


def _ended(step: str, last: dict[str, Any]) -> Iterator[Number]:
    says = "Whether the step's newest run that is over failed."
    yield one("step_failed", says, last["state"] == "failed", step=step)
    says = "When the step's newest run that is over ended."
    yield one("step_end_timestamp_seconds", says, last["finished_at"], step=step)


def _done(step: str, done: dict[str, Any]) -> Iterator[Number]:
    says = "When the step's newest run that was done ended."
    yield one("step_success_timestamp_seconds", says, done["finished_at"], step=step)
    says = "How long the step's newest run that was done took."
    took = (done["finished_at"] - done["started_at"]).total_seconds()
    yield one("step_seconds", says, took, step=step)


def _forecasts(look: Look) -> Iterator[Number]:
    says = "Whole days from the newest origin to the one that is due."
    behind = _behind(look.due_on, look.tallies["origin_on"])
    yield one("forecast_behind_seconds", says, behind)
    metrics = look.metrics("forecast")
    yield one(
        "naive_gate_depots",
        "Depots that the last forecast gave the plain forecast.",
        None if metrics is None else metrics.get("gated", 0),
    )
    watched = look.metrics("watch")
    yield one(
        "accuracy_alarms",
        "Alarms of the last night about the accuracy of live forecasts.",
        None if watched is None else len(watched.get("alarms", ())),
    )
    yield one(
        "accuracy_worse_in_a_row",
        "Newest days in a row on which the seasonal naive was better.",
        None if watched is None else watched.get("worse_days"),
    )


def _data(look: Look) -> Iterator[Number]:
    tallies = look.tallies
    says = "Whole days from the newest day of any depot to the day that is due."
    yield one("data_behind_seconds", says, _behind(look.due_on, tallies["newest_on"]))
    yield one("depots", "Depots known.", tallies["depots"])
    yield one("file_loaded_timestamp_seconds", "Newest file.", tallies["file_at"])
    metrics = look.metrics("ingest")
    yield one(
        "files_refused",
        "Files of the inbox that the last night refused.",
        None if metrics is None else metrics.get("refused", 0),
    )
    if look.slow is None:
        return
    says = "Whole days from the newest day of the depot furthest behind to the day due."
    oldest = _behind(look.due_on, look.slow.oldest_on)
    yield one("data_oldest_depot_behind_seconds", says, oldest)
    yield one("depots_late", "Depots that lack the day that is due.", look.slow.late)
    rows = look.slow.rows
    yield one("files_loaded", "Files loaded so far.", rows["files"])
    yield one("rows_accepted", "Rows that changed something.", rows["accepted"])
    yield one("rows_rejected", "Rows put aside so far.", rows["rejected"])
    yield one("rows_quarantined", "Rows still put aside.", rows["quarantined"])


def _behind(due_on: date | None, newest: date | None) -> float | None:
    """Seconds of whole days; a day that is ahead is not behind."""
    if due_on is None or newest is None:
        return None
    return max((due_on - newest).total_seconds(), 0)


def _champion(tallies: dict[str, Any]) -> Iterator[Number]:
    version = tallies["champion"]
    if version is None:
        return
    yield one("champion_info", "The model that is shown.", 1, version=version)
    yield one(
        "champion_promoted_timestamp_seconds",
        "When it became the champion.",
        tallies["promoted_at"],
    )
    yield one(
        "champion_trained_through_timestamp_seconds",
        "The last day it learnt from.",
        tallies["trained_through"],
    )


def _backfills(look: Look) -> Iterator[Number]:
    for state in ("running", "paused", "failed"):
        found = look.backfills.get(state, {})
        for key, says in (
            ("plans", "Backfills that are not at an end."),
            ("waiting", "Slots of theirs that wait."),
            ("failed", "Slots of theirs that failed."),
        ):
            name = "backfills_open" if key == "plans" else f"backfill_slots_{key}"
            yield one(name, says, found.get(key, 0), state=state)


def _services(look: Look) -> Iterator[Number]:
    tallies = look.tallies
    leads = look.scheduler_leads
    yield one("scheduler_leads", "Whether a scheduler holds the lead.", leads)
    yield one(
        "scheduler_beat_timestamp_seconds",
        "Its last sign of life.",
        tallies["scheduler_beat_at"],
    )
    yield one("database_bytes", "Size of the database.", tallies["database_bytes"])
    yield one("database_sessions", "Sessions on it.", tallies["sessions"])
    waiting, lost = tallies["notices_waiting"], tallies["notices_lost"]
    yield one("notices_waiting", "Notices that wait to be sent.", waiting)
    yield one("notices_lost", "Notices that were given up.", lost)


def _levels(levels: Levels) -> Iterator[Number]:
    window = f"{levels.days}d"
    for level in levels.all:
        labels = {"level": level.name, "window": window}
        if level.of == 0:
            continue
        yield one("level_of", "Nights, or probes, that count.", level.of, **labels)
        yield one("level_kept", "Of these, kept.", level.kept, **labels)
        yield one("level_wanted_ratio", "Share promised.", level.wanted, **labels)
        says = "Part of the failures allowed that is left; below 0 overspent."
        yield one("level_budget_left_ratio", says, level.budget_left, **labels)
    says = "95 % of the dashboard's answers took no longer."
    yield one("dashboard_p95_seconds", says, levels.answers.p95_s, window=window)
    if levels.nights and levels.days == WINDOWS[0]:
        yield from _last_night(levels)


def _last_night(levels: Levels) -> Iterable[Number]:
    night = levels.nights[-1]
    ready_at = night.ready_at
    margin = None if ready_at is None else (night.ready_by - ready_at).total_seconds()
    return (
        one(
            "forecast_ready",
            "Whether the forecast of the newest night that is due is there.",
            ready_at is not None,
        ),
        one("last_night_kept", "Whether it was there in time.", night.is_kept),
        one("last_night_margin_seconds", "How long before; below 0 late.", margin),
        one("last_night_origin_timestamp_seconds", "Its origin.", night.origin_on),
    )
