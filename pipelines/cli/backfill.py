"""`harbor backfill`: forecasts for past days, as they would have been made then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from forecaster.errors import BadInputError
from pipelines.cli.console import echo, progress, show_json, show_table
from pipelines.cli.context import AsJson, as_date, open_context
from pipelines.cli.stopping import StoppedError, report_interruption, stop_requests

if TYPE_CHECKING:
    from pipelines.backfill import BackfillResult, ProgressCallbacks

INTERRUPTION_MESSAGE = (
    "Origins that were written are kept. Run the same command again: it continues from "
    "there."
)
STOPPING_MESSAGE = (
    "The backfill stops after the current group of origins; Ctrl-C again stops it now."
)


def backfill(
    first: Annotated[str, typer.Option("--from", help="First origin.")],
    last: Annotated[str, typer.Option("--to", help="Last origin.")],
    depot: Annotated[
        list[str] | None, typer.Option(help="Only this depot; may be repeated.")
    ] = None,
    city: Annotated[
        list[str] | None,
        typer.Option(help="Only the depots of this city; may be repeated."),
    ] = None,
    train: Annotated[
        bool,
        typer.Option(
            "--train", help="Train a model for origins that precede all trained models."
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Also replace hindcasts made with the same model and data."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show what would be done and why; change nothing."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Forecasts from each past day with a model trained on or before it, and scores it.

    A hindcast sees only what was known in the night after its origin. Live forecasts are
    kept, and so are hindcasts of the same model and data. After an interruption, the same
    command continues; Ctrl-C stops it after the current group of origins.
    If nothing is due, it does nothing and exits with 3.

    Example: `harbor backfill --from 2026-03-01 --to 2026-03-31 --dry-run`
    """
    from pipelines.backfill import BackfillRequest, preview_backfill, run_backfill

    first_on, last_on = as_date(first, "--from"), as_date(last, "--to")
    depots, cities = tuple(depot or ()), tuple(city or ())
    try:
        request = BackfillRequest(first_on, last_on, depots, cities, train, again)
    except BadInputError as error:
        raise typer.BadParameter(str(error)) from None
    if dry_run:
        with open_context() as context:
            result = preview_backfill(context.engine, context.settings, request)
        _show(result, _show_origins, as_json)
        return
    with (
        report_interruption(INTERRUPTION_MESSAGE),
        open_context() as context,
        stop_requests(STOPPING_MESSAGE) as stop,
        _progress(stop.is_requested) as callbacks,
    ):
        result = run_backfill(
            context.engine, context.settings, request, context.now, callbacks
        )
    _show(result, _summarise, as_json)
    if stop.is_requested() and result.n_waiting:
        raise StoppedError(
            f"Stopped, with {result.n_waiting} origins left to do. {INTERRUPTION_MESSAGE}",
            stop.exit_code,
        )


def _show(
    result: BackfillResult, show: Callable[[BackfillResult], None], as_json: bool
) -> None:
    if as_json:
        show_json(asdict(result))
    else:
        show(result)


def _show_origins(result: BackfillResult) -> None:
    rows = [
        (
            str(each.origin_on),
            "forecast" if each.is_due else "leave",
            each.model_version or "–",
            each.rows,
            each.replaced_rows,
            each.reason,
        )
        for each in result.origins
    ]
    columns = ("origin", "action", "model", "rows", "replaces", "reason")
    show_table("Origins", columns, rows)
    echo(
        f"{result.n_waiting} of {len(result.origins)} origins are due. Nothing was "
        "changed; without --dry-run they are forecast and scored."
    )


def _summarise(result: BackfillResult) -> None:
    from pipelines.backfill.run import origins_by_reason

    if result.trained is not None:
        echo(f"Trained the model {result.trained}.")
    left = [each for each in result.origins if not each.is_due]
    echo(
        f"Origins forecast: {result.n_forecast} ({result.rows:,} rows); left as they "
        f"are: {len(left)}. Depot-days scored: {result.scored:,}."
    )
    for reason, n_origins in origins_by_reason(left).items():
        echo(f"{n_origins} left: {reason}.")


@contextmanager
def _progress(must_stop: Callable[[], bool]) -> Iterator[ProgressCallbacks]:
    """Shows a progress bar of origins; its label has the epoch while a model is trained."""
    from pipelines.backfill import ProgressCallbacks

    label = "Hindcasting"
    with progress(label, None) as bar:
        task = bar.task_ids[0]

        def on_progress(n_written: int, n_due: int) -> None:
            bar.update(task, completed=n_written, total=n_due, description=label)

        def on_fit(fit: str) -> Callable[[int, int], None]:
            def on_epoch(epoch: int, epochs: int) -> None:
                bar.update(task, description=f"Training ({fit} {epoch}/{epochs})")

            return on_epoch

        yield ProgressCallbacks(on_progress, echo, on_fit, must_stop)
