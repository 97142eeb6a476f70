"""`harbor scores`: exports the scores of forecasts."""

from pathlib import Path
from typing import Annotated

import typer

from forecaster.errors import NothingToDoError
from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import show_result
from pipelines.cli.context import (
    AsJson,
    FirstDay,
    LastDay,
    day_range,
    open_context,
    require_folder,
)

SUFFIXES = (".csv", ".parquet")
app = CommandGroup("scores", "Scores of forecasts whose actuals are known.")


@app.command("export")
def export(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="File to write; its suffix, .csv or .parquet, sets the format.",
            dir_okay=False,
        ),
    ],
    first: FirstDay = None,
    last: LastDay = None,
    as_json: AsJson = False,
) -> None:
    """Writes the view daily_scores to a file: a row for each depot, origin, day and model.

    Example: `harbor scores export scores.parquet --from 2026-03-01 --to 2026-03-31`
    """
    from pipelines.forecasting.score_export import export_scores

    first_on, last_on = day_range(first, last)
    if file.suffix not in SUFFIXES:
        raise typer.BadParameter(
            f"FILE is {file}, but must end in {' or '.join(SUFFIXES)}. Rename it."
        )
    require_folder(file, "FILE")
    with open_context() as context:
        exported = export_scores(context.engine, file, first_on, last_on)
    if exported is None:
        raise NothingToDoError(
            "No forecast of these days has been scored. Each night scores those whose actuals "
            "have come in."
        )
    sentence = (
        f"{exported.rows:,} scores of {exported.first_on} to {exported.last_on} written to "
        f"{file}."
    )
    answer = {"path": str(file), **vars(exported)}
    show_result(answer, sentence, as_json)
