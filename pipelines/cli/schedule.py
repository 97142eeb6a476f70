"""`harbor schedule`: the clock of the nightly run."""

import logging
from datetime import UTC

import typer

from pipelines import schedule
from pipelines.cli.console import say, show_json
from pipelines.cli.logs import configure_logs
from pipelines.cli.workplace import AsJson, workplace
from pipelines.store.runs import last_night

app = typer.Typer(
    name="schedule", help="The clock of the nightly run.", no_args_is_help=True
)


@app.command("run")
def run(as_json: AsJson = False) -> None:
    """Runs the night every night, until it is stopped.

    With --json it first says when the next one is.

    Example: `harbor schedule run`
    """
    configure_logs(logging.INFO)
    with workplace() as place:
        upcoming = schedule.next_night(place.settings, place.now)
        if as_json:
            show_json({"next": upcoming.isoformat()})
        say(f"The next night runs on {upcoming:%a %d %b at %H:%M %Z}. Ctrl-C stops.")
        schedule.run_clock(place.engine, place.settings)


@app.command("show")
def show(as_json: AsJson = False) -> None:
    """Says when the night runs next, and how the last one ended.

    Example: `harbor schedule show`
    """
    with workplace() as place:
        upcoming = schedule.next_night(place.settings, place.now)
        with place.engine.connect() as connection:
            last = last_night(connection)
    if as_json:
        show_json({"next": upcoming.isoformat(), "last": last})
        return
    utc = upcoming.astimezone(UTC)
    say(f"Next night: {upcoming:%a %d %b %Y %H:%M %Z} ({utc:%H:%M} UTC).")
    if last is None:
        say("No night has run yet.")
    else:
        say(
            f"Last night: run {last['run_id']}, {last['state']}, {last['started_at']:%c}."
        )
