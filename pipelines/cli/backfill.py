"""`harbor backfill`: forecasts for past origins, as they would have been."""

from collections.abc import Sequence
from typing import Annotated

import typer

from forecaster.errors import BadInputError
from pipelines.backfill import BackfillRequest, control, make_plan, run_backfill
from pipelines.backfill.plan import Slot
from pipelines.backfill.request import DEFAULT_STEPS, ONLY, STEPS
from pipelines.cli.backfill_applying import apply_and_tell
from pipelines.cli.backfill_plans import (
    plan_as_json,
    read,
    show_failures,
    show_plan,
    show_plans,
    standing,
    watch_plan,
    why,
)
from pipelines.cli.console import progress, say, show_json, show_table
from pipelines.cli.stopping import kept
from pipelines.cli.workplace import AsJson, as_date, workplace

app = typer.Typer(
    name="backfill",
    help="Forecasts for past days, as they would have been made then.",
    no_args_is_help=True,
)

First = Annotated[str, typer.Option("--from", help="First day to forecast from.")]
Last = Annotated[str, typer.Option("--to", help="Last day to forecast from.")]
PlanId = Annotated[
    int,
    typer.Argument(
        metavar="ID", help="Number of the plan; 'harbor backfill status' lists them."
    ),
]


@app.callback()
def _group() -> None:
    """Forecasts for past days, as they would have been made then."""


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
            help=f"Steps to plan, separated by commas: {', '.join(STEPS)}.",
        ),
    ] = ",".join(DEFAULT_STEPS),
    only: Annotated[
        str,
        typer.Option(metavar="SLOTS", help=f"Which days to plan: {', '.join(ONLY)}."),
    ] = "missing",
    newest_first: Annotated[
        bool, typer.Option("--newest-first", help="Start with the last day.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Shows slot by slot what a backfill would do and why; changes nothing yet.

    Example: `harbor backfill plan --from 2026-03-01 --to 2026-03-31 --city Delft`
    """
    asked = _asked(first, last, depot, city, what, only, newest_first)
    with workplace() as place:
        made = make_plan(place.engine, place.settings, asked)
    if as_json:
        show_json(plan_as_json(made))
    else:
        show_plan(made)


@app.command("apply")
def apply(backfill_id: PlanId, as_json: AsJson = False) -> None:
    """Applies a plan, unless data or models have changed since. Ctrl-C pauses it.

    Example: `harbor backfill apply 3`
    """
    apply_and_tell(backfill_id, as_json)


@app.command("resume")
def resume(backfill_id: PlanId, as_json: AsJson = False) -> None:
    """Continues a plan that was paused or interrupted.

    Example: `harbor backfill resume 3`
    """
    apply_and_tell(backfill_id, as_json)


@app.command("retry")
def retry(
    backfill_id: PlanId,
    failed: Annotated[
        bool, typer.Option("--failed", help="Try the failed slots again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Tries the failed slots of a plan again.

    Example: `harbor backfill retry 3 --failed`
    """
    if not failed:
        raise typer.BadParameter("Add --failed: only failed slots can be tried again.")
    with workplace() as place:
        control.queue_failed(place.engine, backfill_id)
    apply_and_tell(backfill_id, as_json)


@app.command("pause")
def pause(backfill_id: PlanId, as_json: AsJson = False) -> None:
    """Pauses a plan that is being applied, after its current slot.

    Example: `harbor backfill pause 3`
    """
    with workplace() as place:
        _tell(control.pause(place.engine, backfill_id), as_json)


@app.command("cancel")
def cancel(backfill_id: PlanId, as_json: AsJson = False) -> None:
    """Cancels a plan for good; the forecasts it has written stay.

    Example: `harbor backfill cancel 3`
    """
    with workplace() as place:
        _tell(control.cancel(place.engine, backfill_id), as_json)


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
    with workplace() as place:
        if backfill_id is None:
            show_plans(place, as_json)
            return
        if watch:
            watch_plan(place, backfill_id)
        found = read(place, backfill_id)
        if as_json:
            show_json(plan_as_json(found))
        else:
            say(standing(place, found))
            show_failures(found)


@app.command("run")
def run(first: First, last: Last, as_json: AsJson = False) -> None:
    """Forecasts from each past day with a model that was trained on nothing later.

    Plans and applies in one go, and replaces hindcasts that are there already.

    Example: `harbor backfill run --from 2026-03-01 --to 2026-03-31`
    """
    asked = _asked(first, last)
    with (
        kept(
            "Its plan is paused. 'harbor backfill status' lists it, 'harbor backfill "
            "resume' continues it."
        ),
        workplace() as place,
        progress("Hindcasting", len(asked.origins)) as bar,
    ):
        done = run_backfill(
            place.engine,
            place.settings,
            asked.first,
            asked.last,
            place.now,
            lambda _: bar.advance(bar.task_ids[0]),
        )
    slots = done.of("forecast")
    if as_json:
        show_json(
            [
                {"origin": slot.origin_on, "model": slot.model, "reason": why(slot)}
                for slot in slots
            ]
        )
    else:
        _show_hindcasts(slots)


def _show_hindcasts(slots: Sequence[Slot]) -> None:
    rows = [
        (str(slot.origin_on), slot.model or "left out", why(slot)) for slot in slots
    ]
    show_table("Hindcasts", ("origin", "model", "reason"), rows)
    left_out = sum(slot.model is None for slot in slots)
    say(f"Days forecast from: {len(slots) - left_out}; left out: {left_out}.")


def _asked(
    first: str,
    last: str,
    depots: list[str] | None = None,
    cities: list[str] | None = None,
    what: str = ",".join(DEFAULT_STEPS),
    only: str = "missing",
    newest_first: bool = False,
) -> BackfillRequest:
    first_on, last_on = as_date(first, "--from"), as_date(last, "--to")
    assert first_on is not None, "the option is required"
    assert last_on is not None, "the option is required"
    steps = tuple(step.strip() for step in what.split(",") if step.strip())
    try:
        return BackfillRequest(
            first_on, last_on, tuple(depots or ()), tuple(cities or ()),
            steps, only, newest_first,
        )  # fmt: skip
    except BadInputError as error:
        raise typer.BadParameter(str(error)) from None


def _tell(sentence: str, as_json: bool) -> None:
    if as_json:
        show_json({"said": sentence})
    else:
        say(sentence)
