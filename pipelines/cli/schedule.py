"""`harbor schedule`: the clock of the nightly run."""

import logging
from datetime import UTC, datetime
from threading import Event
from typing import Any
from zoneinfo import ZoneInfo

import structlog
import typer
from sqlalchemy.exc import SQLAlchemyError

from forecaster.errors import DatabaseError
from pipelines.cli.console import say, show_json, show_table
from pipelines.cli.logs import configure_logs
from pipelines.cli.workplace import AsJson, Workplace, workplace
from pipelines.scheduling import catch_up, schedule
from pipelines.settings import Settings
from pipelines.store.runs import last_night

log = structlog.get_logger()

app = typer.Typer(
    name="schedule", help="When the nightly run starts.", no_args_is_help=True
)


@app.command("run")
def run(as_json: AsJson = False) -> None:
    """Starts the nightly run every night, until it is stopped.

    A second scheduler stands by, and takes over when the first is gone. Missed nights are
    caught up as HARBOR_MISSED_NIGHTS says. With --json it first prints when the next
    night starts.

    Example: `harbor schedule run`
    """
    configure_logs(logging.INFO)
    stopped = Event()
    with workplace() as place:
        _greet(place, as_json)
    while not stopped.is_set():
        # Opened anew each time: the embedded database is started again if it went away.
        try:
            with workplace() as place:
                schedule.run_scheduler(place.engine, place.settings, stopped)
        except (SQLAlchemyError, DatabaseError) as error:
            reason = str(error).strip().splitlines()[0]
            log.warning("database_away", reason=reason, doing="waiting for it")
        stopped.wait(schedule.LEADER_POLL_S)


@app.command("show")
def show(as_json: AsJson = False) -> None:
    """Shows when the next night starts, in local time and UTC, and how the last one ended.

    Example: `harbor schedule show`
    """
    with workplace() as place:
        told = _overview(place)
    if as_json:
        show_json(told)
    else:
        _show(told, place.settings)


def _greet(place: Workplace, as_json: bool) -> None:
    upcoming = catch_up.next_nightly(place.settings, place.now)
    if as_json:
        show_json({"next": upcoming.isoformat()})
    say(f"The next night starts on {upcoming:%a %d %b at %H:%M %Z}. Ctrl-C stops.")


def _overview(place: Workplace) -> dict[str, Any]:
    settings, engine, now = place.settings, place.engine, place.now
    upcoming = catch_up.next_nightly(settings, now)
    due = catch_up.find_due(engine, settings, now)
    with engine.connect() as connection:
        last = last_night(connection, that_worked=True)
    return {
        "next": upcoming.isoformat(),
        "next_utc": upcoming.astimezone(UTC).isoformat(),
        "next_origin": catch_up.origin_at(engine, settings, upcoming),
        "timezone": settings.timezone,
        "clock_changes": [
            {"on": night.date(), "runs_at": night.isoformat()}
            for night in catch_up.nights_at_clock_change(settings, now)
        ],
        "missed_nights": settings.missed_nights,
        "due_now": due.run,
        "to_leave_out": due.leave_out,
        "scheduler_runs": schedule.has_leader(engine),
        "last": last,
    }


def _show(told: dict[str, Any], settings: Settings) -> None:
    last, zone = told["last"], told["timezone"]
    upcoming = datetime.fromisoformat(told["next"]).astimezone(ZoneInfo(zone))
    rows = [("next", told["next_origin"], *_both(upcoming, upcoming), "waits", None)]
    if last is not None:
        began = last["started_at"]
        local = began.astimezone(ZoneInfo(zone))
        row = ("last", last["origin_on"], *_both(local, began), last["state"])
        rows.insert(0, (*row, last["run_id"]))
    columns = ("night", "origin", f"local ({zone})", "UTC", "state", "run")
    show_table("The nightly run", columns, rows)
    for change in told["clock_changes"]:
        say(_clock_change(datetime.fromisoformat(change["runs_at"]), settings))
    _tell_due(told, settings.missed_nights)


def _clock_change(night: datetime, settings: Settings) -> str:
    """What a night does whose hour the clocks leave out, or bring twice."""
    local = night.astimezone(settings.zone)
    happens = f"{local:%H:%M}" == settings.nightly_at
    what = (
        "comes twice as the clocks change"
        if happens
        else "is skipped as the clocks change"
    )
    return (
        f"On {local:%a %d %b %Y} {settings.nightly_at} {what}: that night runs once, at "
        f"{local:%H:%M %Z}."
    )


def _tell_due(told: dict[str, Any], policy: str) -> None:
    if told["last"] is None:
        say("No night has run yet.")
    if told["due_now"] or told["to_leave_out"]:
        due = ", ".join(map(str, told["due_now"])) or "none"
        out = ", ".join(map(str, told["to_leave_out"])) or "none"
        say(
            f"Missed nights (HARBOR_MISSED_NIGHTS is {policy!r}): to run now: {due}; "
            f"left out: {out}."
        )
    if not told["scheduler_runs"]:
        say("No scheduler is running. Start one with 'harbor schedule run'.")


def _both(local: datetime, utc: datetime) -> tuple[str, str]:
    return f"{local:%a %d %b %Y %H:%M %Z}", f"{utc.astimezone(UTC):%a %d %b %H:%M}"
