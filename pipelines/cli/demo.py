"""`harbor demo`: a whole fleet on this machine, from nothing to the dashboard."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.console import echo, progress, show_json
from pipelines.cli.context import AsJson, Port, open_context
from pipelines.cli.dashboard import serve
from pipelines.cli.stopping import report_interruption
from pipelines.cli.train import fit_progress

if TYPE_CHECKING:
    from pipelines.demo.stages import Advance, DemoContext

INTERRUPTION_MESSAGE = (
    "Stages that were done are kept. The same command continues from there."
)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("demo")(demo)


def demo(
    depots: Annotated[int, typer.Option(help="Depots to invent.", min=1, max=200)] = 24,
    days: Annotated[int, typer.Option(help="Days of history.", min=70, max=3650)] = 548,
    seed: Annotated[
        int, typer.Option(help="The same seed gives the same fleet.", min=0)
    ] = 0,
    no_serve: Annotated[
        bool, typer.Option("--no-serve", help="Stop without serving the dashboard.")
    ] = False,
    port: Port = 8501,
    as_json: AsJson = False,
) -> None:
    """Invents a fleet, loads its files, trains, lives its last nights and serves the dashboard.

    Run again, it continues where it stopped.

    Example: `harbor demo --depots 6 --days 200 --no-serve`
    """
    from pipelines.cli.logs import configure_logs
    from pipelines.demo.stages import DemoContext

    # What happens to its nights is part of the story, and on its pages.
    configure_logs(logging.ERROR)
    with report_interruption(INTERRUPTION_MESSAGE), open_context() as context:
        demo_context = DemoContext(
            context.engine, context.settings, context.now, seed, depots, days
        )
        done = _run_stages(demo_context)
        echo(f"Ready after {sum(each['seconds'] for each in done):.0f} s.")
        if as_json:
            show_json({"stages": done})
        if not no_serve:
            serve(context, "127.0.0.1", port)


def _run_stages(demo_context: DemoContext) -> list[dict[str, Any]]:
    from pipelines.demo import nights, stages

    return [
        _stage(
            "Inventing a fleet",
            lambda advance: stages.write_fleet(demo_context, advance),
        ),
        _stage(
            "Loading its files",
            lambda advance: stages.load_files(demo_context, advance),
        ),
        _train(demo_context),
        _stage(
            "Hindcasting and scoring",
            lambda advance: stages.hindcast(demo_context, advance),
        ),
        _stage(
            "Living its last nights",
            lambda advance: nights.live_through(demo_context, advance),
        ),
    ]


def _stage(label: str, work: Callable[[Advance], str]) -> dict[str, Any]:
    """Runs a stage, and prints its name, duration and outcome."""
    started = time.perf_counter()
    echo(f"{label} …")
    with progress(label, None) as bar:

        def advance(done: float, total: float) -> None:
            bar.update(bar.task_ids[0], completed=done, total=total)

        outcome = work(advance)
    return _done(label, started, outcome)


def _train(demo_context: DemoContext) -> dict[str, Any]:
    from pipelines.demo import stages

    started = time.perf_counter()
    echo("Training …")
    with fit_progress() as report:
        outcome = stages.train_model(demo_context, report)
    return _done("Training", started, outcome)


def _done(label: str, started: float, outcome: str) -> dict[str, Any]:
    seconds = time.perf_counter() - started
    echo(f"  {seconds:5.1f} s  {outcome}")
    return {"stage": label, "seconds": round(seconds, 1), "outcome": outcome}
