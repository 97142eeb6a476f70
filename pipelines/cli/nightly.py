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
from pipelines.nightly.steps import NightlyContext

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
    as_json: AsJson = False,
) -> None:
    """Loads the inbox, counts demand, scores, trains, promotes and forecasts.

    Run again after an interruption, it continues from there. If the night is done and no
    new data has come in, it does nothing and ends with 3.

    Example: `harbor nightly --origin 2026-03-31`
    """
    configure_logs(logging.INFO)
    with kept(KEPT), workplace(DATABASE_AWAY_S) as place, fit_progress() as report:
        day = past_day(place, origin, "--origin")
        context = NightlyContext(place.engine, place.settings, place.now, day, report)
        result = run_nightly(context)
    if as_json:
        show_json(result)
        return
    if refused := result["steps"]["ingest"].get("refused"):
        say(
            f"Files of the inbox that were refused: {refused}. 'harbor runs show "
            f"{result['run_id']}' lists them with the reasons."
        )
    say(
        f"The night of {result['origin']} is done. See 'harbor runs show {result['run_id']}'."
    )
