"""Findings of `harbor doctor` about nightly runs: runs that died, and how the last one ended."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from pipelines.cli.doctor import Finding
from pipelines.forecasting import live_accuracy
from pipelines.planning.words import count
from pipelines.runs.ledger import fail_dead_runs
from pipelines.scheduling import schedule
from pipelines.settings import Settings
from pipelines.store import runs


def check_nights(engine: sa.Engine, settings: Settings) -> list[Finding]:
    """Marks dead runs as failed; checks the last night, the scheduler and the live accuracy."""
    dead = fail_dead_runs(engine)
    with engine.connect() as connection:
        night = runs.newest_night(connection, runs.NOT_SKIPPED)
        newest = runs.newest_night(connection, runs.STATES)
    # A skipped night is reported instead of the last one if it refused files.
    is_done = night is not None and night["state"] == "done"
    if is_done and newest and newest["metrics"].get("refused"):
        night = newest
    return [
        _dead_runs(dead),
        _last_night(night),
        _scheduler(engine, settings),
        *_accuracy(engine, settings),
    ]


def _dead_runs(dead: list[int]) -> Finding:
    if not dead:
        return Finding("runs", True, "none died without reporting its end")
    message = (
        f"{', '.join(map(str, dead))} died without reporting their end, and now count "
        f"as failed; 'harbor runs show {dead[0]}' says when. Start them again"
    )
    return Finding("runs", False, message)


def _scheduler(engine: sa.Engine, settings: Settings) -> Finding:
    """Checks the scheduler; its absence is not a failure, as cron may start the nights."""
    now = datetime.now(UTC)
    if not schedule.has_leader(engine):
        message = "none runs; 'harbor schedule run' starts one"
        return Finding("scheduler", True, message)
    is_over = now - settings.last_night(now) > schedule.GRACE_PERIOD
    if is_over and (missed := schedule.due_origin(engine, settings, now)):
        message = (
            f"runs, but the night of {missed} is not done; 'harbor runs list --step "
            "nightly' says why"
        )
        return Finding("scheduler", False, message)
    upcoming = f"{settings.next_night(now):%a %d %b %H:%M %Z}"
    return Finding("scheduler", True, f"runs; next night {upcoming}")


def _last_night(night: dict[str, Any] | None) -> Finding:
    if night is None:
        message = "no night has run yet; 'harbor nightly' runs one"
        return Finding("last night", True, message)
    began = f"{night['started_at'].astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    run = f"run {night['run_id']} of {night['origin_on'] or 'no origin'}, {began}"
    if night["state"] == "failed":
        return Finding("last night", False, f"{run}, failed: {night['error']}")
    problem = _problem(night)
    ending = night["state"] if problem is None else f"{night['state']}, {problem}"
    return Finding("last night", problem is None, f"{run}, {ending}")


def _problem(night: dict[str, Any]) -> str | None:
    """The problem of a nightly run that was done, with advice; None if there was none."""
    metrics = night["metrics"]
    if refused := metrics.get("refused"):
        files = count(refused, "file of the inbox was", "files of the inbox were")
        return (
            f"but {files} refused, and will be every night; 'harbor runs show "
            f"{night['run_id']}' says why. Correct the refused files, or remove them"
        )
    if unpublished := metrics.get("unpublished"):
        return f"but: {unpublished.removesuffix('.')}"
    if late := metrics.get("late_depots"):
        return (
            f"made without orders of {count(late, 'depot')}: load them, if they have not come "
            "yet, and run 'harbor nightly' again"
        )
    if left := metrics.get("left_old"):
        return (
            f"but corrections of {left:,} depot-days lie too far back and were skipped; "
            "raise HARBOR_LOOK_BACK_DAYS to include them"
        )
    return None


def _accuracy(engine: sa.Engine, settings: Settings) -> list[Finding]:
    accuracy = live_accuracy.measure(engine, settings)
    if accuracy.alarms:
        return [Finding("accuracy", False, alarm) for alarm in accuracy.alarms]
    if accuracy.mape is None or accuracy.naive_mape is None:
        return [Finding("accuracy", True, "no live forecast has been scored yet")]
    message = (
        f"MAPE {100 * accuracy.mape:.1f} % over four weeks of live forecasts, "
        f"{100 * accuracy.naive_mape:.1f} % of the seasonal naive"
    )
    return [Finding("accuracy", True, message)]
