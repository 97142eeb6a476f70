"""`harbor`: thin commands over the functions of `pipelines`.

One module per group of commands. The modules import slow libraries only inside functions, so
that help texts and shell completion do not wait for a database driver. Only `main` turns an
expected error into one sentence and an exit code: 0 for success, 1 for a failure, 2 for wrong
usage, 3 if there was nothing to do.
"""

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Annotated

import typer

from forecaster.errors import HarborError
from pipelines.cli import (
    backfill,
    backtest,
    backup,
    dashboard,
    db,
    demo,
    depots,
    doctor,
    events,
    explain,
    files,
    forecast,
    ingest,
    models,
    nightly,
    notifications,
    quarantine,
    runs,
    schedule,
    scores,
    tpu,
    train,
    watch,
)
from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo
from pipelines.cli.stopping import INTERRUPTED

app = CommandGroup(
    name="harbor",
    help="Forecasts how many orders each depot will receive, every night.",
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        sys.stdout.write(f"harbor {version('harbor-fleet')}\n")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version of this program and exit.",
        ),
    ] = False,
) -> None:
    """Forecasts how many orders each depot will receive, every night."""


COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "ingest": ingest.ingest_files,
    "train": train.train,
    "backtest": backtest.backtest,
    "forecast": forecast.forecast,
    "explain": explain.explain,
    "nightly": nightly.nightly,
    "backfill": backfill.backfill,
    "dashboard": dashboard.dashboard,
    "watch": watch.watch,
    "doctor": doctor.doctor,
    "tpu-check": tpu.tpu_check,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
for group in (
    schedule, runs, models, scores, files, events, depots, quarantine, notifications,
    db, backup,
):  # fmt: skip
    app.add_typer(group.app)


def main() -> None:
    """Runs one command; prints an expected error as one sentence."""
    signal.signal(signal.SIGTERM, _leave)
    try:
        app()
    except Exception as error:
        from pipelines.runs.error_messages import describe_error, is_expected

        if not is_expected(error):
            raise
        echo(f"harbor: {describe_error(error)}")
        sys.exit(error.exit_code if isinstance(error, HarborError) else 1)
    except SystemExit as end:
        # Typer turns Ctrl-C into this exit code, and prints nothing.
        if end.code == INTERRUPTED:
            echo("harbor: Stopped.")
        raise


def _leave(number: int, _frame: FrameType | None) -> None:
    """Raises SystemExit, so that open resources are closed."""
    sys.exit(128 + number)
