"""`harbor nightly`: runs the nightly run once."""

import logging

from pipelines.cli.console import echo, show_json
from pipelines.cli.context import AsJson, Origin, open_context, past_day
from pipelines.cli.stopping import report_interruption
from pipelines.cli.train import fit_progress

INTERRUPTION_MESSAGE = "Finished steps are kept. 'harbor nightly' continues from there."
DATABASE_TIMEOUT_S = 90
"""Long enough for a server to restart, because at night nobody repeats the command."""


def nightly(
    origin: Origin = None,
    as_json: AsJson = False,
) -> None:
    """Loads the inbox, counts demand, scores, prunes, trains, promotes and forecasts.

    Pruning deletes old model files, and orders and forecasts older than HARBOR_KEEP_ORDERS_DAYS
    and HARBOR_KEEP_FORECASTS_DAYS, if these are set. Before training, the accuracy of the
    live forecasts is checked.

    After an interruption, the same command continues. If the night is done and no new data
    has come in, it does nothing and exits with 3.

    Example: `harbor nightly --origin 2026-03-31`
    """
    from pipelines.cli.logs import configure_logs
    from pipelines.nightly.run import refused_files, run_nightly
    from pipelines.nightly.steps import NightlyContext

    configure_logs(logging.INFO)
    with (
        report_interruption(INTERRUPTION_MESSAGE),
        open_context(DATABASE_TIMEOUT_S) as context,
        fit_progress() as report,
    ):
        day = past_day(context, origin, "--origin")
        result = run_nightly(
            NightlyContext(context.engine, context.settings, context.now, day, report)
        )
    if as_json:
        show_json(result)
        return
    if refused := result["steps"]["ingest"].get("refused"):
        echo(refused_files(refused, result["run_id"]))
    if unpublished := result["unpublished"]:
        echo(f"{unpublished} 'harbor nightly' tries again.")
    echo(
        f"The night of {result['origin']} is done. See 'harbor runs show {result['run_id']}'."
    )
