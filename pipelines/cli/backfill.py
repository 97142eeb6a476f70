"""`harbor backfill`: forecasts for past origins, as they would have been."""

from dataclasses import asdict
from typing import Annotated

import typer

from pipelines.backfill import Slot, run_backfill
from pipelines.cli.console import progress, say, show_json, show_table
from pipelines.cli.workplace import AsJson, as_date, workplace
from pipelines.ledger import recorded

app = typer.Typer(name="backfill", help="Hindcasts of past days.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Hindcasts of past days."""


@app.command("run")
def run(
    first: Annotated[str, typer.Option("--from", help="First origin.")],
    last: Annotated[str, typer.Option("--to", help="Last origin.")],
    as_json: AsJson = False,
) -> None:
    """Forecasts from every past origin with a model that saw nothing later.

    Example: `harbor backfill run --from 2026-03-01 --to 2026-03-31`
    """
    first_on, last_on = as_date(first, "--from"), as_date(last, "--to")
    assert first_on is not None, "the option is required"
    assert last_on is not None, "the option is required"
    if last_on < first_on:
        raise typer.BadParameter(
            f"--to is {last_on}, but must not lie before --from ({first_on}). Swap them."
        )
    with (
        workplace() as place,
        recorded(place.engine, "backfill", last_on) as ledger_run,
        progress("Hindcasting", (last_on - first_on).days + 1) as bar,
    ):
        slots = run_backfill(
            place.engine,
            place.settings,
            first_on,
            last_on,
            place.now,
            ledger_run,
            lambda _: bar.advance(bar.task_ids[0]),
        )
    if as_json:
        show_json([asdict(slot) for slot in slots])
    else:
        _show(slots)


def _show(slots: list[Slot]) -> None:
    rows = [(str(slot.origin), slot.model or "left out", slot.reason) for slot in slots]
    show_table("Hindcasts", ("origin", "model", "reason"), rows)
    left_out = sum(slot.model is None for slot in slots)
    say(f"{len(slots) - left_out} origins forecast, {left_out} left out.")
