"""`harbor nightly`: everything that happens in a night, once."""

import logging
from typing import Annotated

import typer

from pipelines.cli.console import say, show_json
from pipelines.cli.logs import configure_logs
from pipelines.cli.stopping import kept
from pipelines.cli.train import fit_progress
from pipelines.cli.workplace import AsJson, past_day, workplace
from pipelines.nightly.run import run_nightly
from pipelines.nightly.steps import NightlyRun
from pipelines.scheduling import parent_watchdog

KEPT = "Finished steps are kept. 'harbor nightly' continues from there."
DATABASE_AWAY_S = 90
"""A server that restarts is waited for: nobody is there at night to start again."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("nightly")(nightly)


def nightly(
    origin: Annotated[
        str | None,
        typer.Option(
            help="Last day the night may see. [default: the last day of data]"
        ),
    ] = None,
    exit_with_parent: Annotated[
        bool,
        typer.Option(
            "--exit-with-parent", hidden=True, help="End when standard input closes."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Loads the inbox, counts demand, scores, trains, judges, promotes and forecasts.

    Run again after an interruption, it continues from there. If the night is done and no
    new data has come in, it does nothing and ends with 3.

    Example: `harbor nightly --origin 2026-03-31`
    """
    configure_logs(logging.INFO)
    if exit_with_parent:
        parent_watchdog.exit_with_parent()
    with kept(KEPT), workplace(DATABASE_AWAY_S) as place, fit_progress() as report:
        day = past_day(place, origin, "--origin")
        night = NightlyRun(place.engine, place.settings, place.now, day, report)
        done = run_nightly(night)
    if as_json:
        show_json(done)
        return
    if refused := done["steps"]["ingest"].get("refused"):
        say(
            f"Files of the inbox that were refused: {refused}. 'harbor runs show "
            f"{done['run_id']}' lists them with the reasons."
        )
    say(
        f"The night of {done['origin']} is done. See 'harbor runs show {done['run_id']}'."
    )
