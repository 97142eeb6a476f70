"""`harbor backfill`: plans and applies hindcasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from forecaster.errors import BadInputError, HarborError
from pipelines.cli.choices import (
    BACKFILL_SLOTS,
    BACKFILL_STEPS,
    DEFAULT_BACKFILL_STEPS,
)
from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo, progress, show_json, show_result, show_table
from pipelines.cli.context import AsJson, CommandContext, as_date, open_context
from pipelines.cli.stopping import report_interruption

if TYPE_CHECKING:
    from pipelines.backfill import (
        BackfillPlan,
        BackfillRequest,
        ProgressCallbacks,
        Slot,
    )

app = CommandGroup(
    name="backfill",
    help="Forecasts for past days, as they would have been made then.",
    no_args_is_help=True,
)

First = Annotated[str, typer.Option("--from", help="First origin.")]
Last = Annotated[str, typer.Option("--to", help="Last origin.")]
PlanId = Annotated[
    int,
    typer.Argument(
        metavar="ID", help="Number of the plan; 'harbor backfill status' lists them."
    ),
]


@app.command("plan")
def plan(
    first: First,
    last: Last,
    depot: Annotated[
        list[str] | None, typer.Option(help="Only this depot; may be repeated.")
    ] = None,
    city: Annotated[
        list[str] | None,
        typer.Option(help="Only the depots of this city; may be repeated."),
    ] = None,
    what: Annotated[
        str,
        typer.Option(
            metavar="STEP,...",
            help=f"Steps to plan, separated by commas: {', '.join(BACKFILL_STEPS)}.",
        ),
    ] = ",".join(DEFAULT_BACKFILL_STEPS),
    only: Annotated[
        str,
        typer.Option(
            metavar="TASKS", help=f"Which tasks to plan: {', '.join(BACKFILL_SLOTS)}."
        ),
    ] = "missing",
    as_json: AsJson = False,
) -> None:
    """Shows task by task what a backfill would do and why; changes nothing yet.

    Example: `harbor backfill plan --from 2026-03-01 --to 2026-03-31 --city Delft`
    """
    from pipelines.backfill import make_plan
    from pipelines.cli.backfill_plans import plan_as_json, show_plan

    steps = tuple(step.strip() for step in what.split(",") if step.strip())
    request = _request(
        first, last, tuple(depot or ()), tuple(city or ()), what=steps, only=only
    )
    with open_context() as context:
        planned = make_plan(context.engine, context.settings, request)
    if as_json:
        show_json(plan_as_json(planned))
    else:
        show_plan(planned)


@app.command("apply")
def apply(backfill_id: PlanId, as_json: AsJson = False) -> None:
    """Applies a plan, unless data or models have changed since. Ctrl-C pauses it.

    Example: `harbor backfill apply 3`
    """
    from pipelines.cli.backfill_plans import show_progress

    with open_context() as context:
        applied = _apply(context, backfill_id)
        show_progress(context, applied, as_json)
    if applied.failed:
        raise HarborError(
            f"{len(applied.failed)} of {len(applied.slots)} tasks failed. 'harbor "
            f"backfill retry {backfill_id} --failed' tries them again."
        )


@app.command("resume")
def resume(backfill_id: PlanId, as_json: AsJson = False) -> None:
    """Continues a plan that was paused or interrupted.

    Example: `harbor backfill resume 3`
    """
    apply(backfill_id, as_json)


@app.command("retry")
def retry(
    backfill_id: PlanId,
    failed: Annotated[
        bool, typer.Option("--failed", help="Try the failed tasks again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Tries the failed tasks of a plan again.

    Example: `harbor backfill retry 3 --failed`
    """
    from pipelines.backfill import control

    if not failed:
        raise typer.BadParameter("Add --failed: only failed tasks can be tried again.")
    with open_context() as context:
        control.queue_failed(context.engine, backfill_id)
    apply(backfill_id, as_json)


@app.command("pause")
def pause(backfill_id: PlanId, as_json: AsJson = False) -> None:
    """Pauses a plan that is being applied, after its current task.

    Example: `harbor backfill pause 3`
    """
    from pipelines.backfill import control

    with open_context() as context:
        message = control.pause(context.engine, backfill_id)
    show_result({"message": message}, message, as_json)


@app.command("cancel")
def cancel(backfill_id: PlanId, as_json: AsJson = False) -> None:
    """Cancels a plan for good; the forecasts it has written stay.

    Example: `harbor backfill cancel 3`
    """
    from pipelines.backfill import control

    with open_context() as context:
        message = control.cancel(context.engine, backfill_id)
    show_result({"message": message}, message, as_json)


@app.command("status")
def status(
    backfill_id: Annotated[
        int | None, typer.Argument(metavar="[ID]", help="[default: the newest plans]")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show its progress until it stops.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Shows the progress of a plan, or of the newest plans.

    Example: `harbor backfill status 3 --watch`
    """
    from pipelines.backfill import read_plan
    from pipelines.cli.backfill_plans import show_plans, show_progress, watch_plan

    with open_context() as context:
        if backfill_id is None:
            show_plans(context, as_json)
            return
        if watch:
            watch_plan(context, backfill_id)
        show_progress(context, read_plan(context.engine, backfill_id), as_json)


@app.command("run")
def run(first: First, last: Last, as_json: AsJson = False) -> None:
    """Forecasts from each past day with a model trained on or before it.

    Plans and applies in one go, and replaces hindcasts that are there already.

    Example: `harbor backfill run --from 2026-03-01 --to 2026-03-31`
    """
    from pipelines.backfill import run_backfill

    request = _request(first, last)
    paused = (
        "Its plan is paused. 'harbor backfill status' lists it, 'harbor backfill "
        "resume' continues it."
    )
    with (
        report_interruption(paused),
        open_context() as context,
        progress("Hindcasting", len(request.origins)) as bar,
    ):
        applied = run_backfill(
            context.engine,
            context.settings,
            request.first,
            request.last,
            context.now,
            lambda _: bar.advance(bar.task_ids[0]),
        )
    slots = applied.of("forecast")
    if as_json:
        show_json(
            [
                {"origin": slot.origin_on, "model": slot.model, "reason": slot.outcome}
                for slot in slots
            ]
        )
        return
    n_done = sum(slot.model is not None for slot in slots)
    rows = [
        (str(slot.origin_on), slot.model or "skipped", slot.outcome) for slot in slots
    ]
    show_table("Hindcasts", ("origin", "model", "reason"), rows)
    echo(f"Days forecast from: {n_done}; skipped: {len(slots) - n_done}.")


def _request(
    first: str,
    last: str,
    depots: tuple[str, ...] = (),
    cities: tuple[str, ...] = (),
    what: tuple[str, ...] = DEFAULT_BACKFILL_STEPS,
    only: str = "missing",
) -> BackfillRequest:
    from pipelines.backfill import BackfillRequest

    first_on, last_on = as_date(first, "--from"), as_date(last, "--to")
    try:
        return BackfillRequest(first_on, last_on, depots, cities, what, only)
    except BadInputError as error:
        raise typer.BadParameter(str(error)) from None


def _apply(context: CommandContext, backfill_id: int) -> BackfillPlan:
    from pipelines.backfill import apply_plan, read_plan

    paused = (
        f"Plan {backfill_id} is paused. 'harbor backfill resume {backfill_id}' "
        "continues it."
    )
    with (
        report_interruption(paused),
        _progress(len(read_plan(context.engine, backfill_id).waiting)) as callbacks,
    ):
        return apply_plan(
            context.engine, context.settings, backfill_id, context.now, callbacks
        )


@contextmanager
def _progress(n_slots: int) -> Iterator[ProgressCallbacks]:
    """A bar of slots, which also shows the progress of a training."""
    from pipelines.backfill import ProgressCallbacks

    label = "Backfilling"
    with progress(label, n_slots) as bar:
        task = bar.task_ids[0]

        def on_slot(_: Slot) -> None:
            bar.update(task, advance=1, description=label)

        def on_fit(fit: str) -> Callable[[int, int, float], None]:
            def on_epoch(epoch: int, epochs: int, _: float) -> None:
                bar.update(task, description=f"Training ({fit} {epoch}/{epochs})")

            return on_epoch

        yield ProgressCallbacks(on_slot=on_slot, on_message=echo, on_fit=on_fit)
