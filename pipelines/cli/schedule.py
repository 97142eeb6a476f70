"""`harbor schedule`: the scheduler of the nightly run."""

import logging
from datetime import UTC, datetime
from threading import Event
from typing import Any
from zoneinfo import ZoneInfo

from forecaster.errors import DatabaseError
from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo, show_json, show_table
from pipelines.cli.context import AsJson, CommandContext, open_context

app = CommandGroup("schedule", "When the nightly run starts.")


@app.command("run")
def run(as_json: AsJson = False) -> None:
    """Starts the nightly run every night, until it is stopped.

    A second scheduler stands by, and takes over when the first is gone. If the newest
    night was missed, it is run late. With --json it first prints when the next night is
    scheduled.

    Example: `harbor schedule run`
    """
    import structlog
    from sqlalchemy.exc import SQLAlchemyError

    from pipelines.cli.logs import configure_logs
    from pipelines.scheduling import schedule

    configure_logs(logging.INFO)
    stopped = Event()
    with open_context() as context:
        upcoming = context.settings.next_night(context.now)
    if as_json:
        show_json({"next": upcoming.isoformat()})
    echo(f"The next night starts on {upcoming:%a %d %b at %H:%M %Z}. Ctrl-C stops.")
    while not stopped.is_set():
        # Reopened in each pass, which restarts the embedded database if it has stopped.
        try:
            with open_context() as context:
                schedule.run_scheduler(context.engine, context.settings, stopped)
        except (SQLAlchemyError, DatabaseError) as error:
            reason = str(error).strip().splitlines()[0]
            structlog.get_logger().warning("database_unavailable", reason=reason)
        stopped.wait(schedule.LEADER_POLL_S)


@app.command("show")
def show(as_json: AsJson = False) -> None:
    """Shows when the next night is scheduled, in local time and UTC, and how the last one ended.

    Example: `harbor schedule show`
    """
    with open_context() as context:
        overview = _overview(context)
    if as_json:
        show_json(overview)
    else:
        _show(overview)


def _overview(context: CommandContext) -> dict[str, Any]:
    from pipelines.scheduling import schedule
    from pipelines.store.runs import NOT_SKIPPED, newest_night

    settings, engine, now = context.settings, context.engine, context.now
    upcoming = settings.next_night(now)
    with engine.connect() as connection:
        last_night = newest_night(connection, NOT_SKIPPED)
    return {
        "next": upcoming.isoformat(),
        "next_utc": upcoming.astimezone(UTC).isoformat(),
        "next_origin": schedule.origin_at(engine, settings, upcoming),
        "timezone": settings.timezone,
        "due_now": schedule.due_origin(engine, settings, now),
        "scheduler_runs": schedule.has_leader(engine),
        "last_night": last_night,
    }


def _show(overview: dict[str, Any]) -> None:
    from pipelines.scheduling.schedule import CATCH_UP_MINUTES, MAX_ATTEMPTS

    last_night, zone = overview["last_night"], ZoneInfo(overview["timezone"])
    upcoming = datetime.fromisoformat(overview["next"])
    next_times = _times(upcoming, zone)
    rows = [("next", overview["next_origin"], *next_times, "scheduled", None)]
    if last_night is not None:
        times = _times(last_night["started_at"], zone)
        state, run_id = last_night["state"], last_night["run_id"]
        rows.insert(0, ("last", last_night["origin_on"], *times, state, run_id))
    columns = ("night", "origin", f"local ({zone})", "UTC", "state", "run")
    show_table("The nightly run", columns, rows)
    if last_night is None:
        echo("No night has run yet.")
    if overview["due_now"]:
        echo(
            f"The night of {overview['due_now']} is due, and not done. The scheduler tries it "
            f"{MAX_ATTEMPTS} times, {CATCH_UP_MINUTES} minutes apart, and then leaves it to the "
            "next; 'harbor nightly' runs it at once."
        )
    if not overview["scheduler_runs"]:
        echo("No scheduler is running. Start one with 'harbor schedule run'.")


def _times(timestamp: datetime, zone: ZoneInfo) -> tuple[str, str]:
    local, utc = timestamp.astimezone(zone), timestamp.astimezone(UTC)
    return f"{local:%a %d %b %Y %H:%M %Z}", f"{utc:%a %d %b %H:%M}"
