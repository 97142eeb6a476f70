"""`harbor demo`: a whole fleet on this machine, from nothing to the dashboard."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.console import echo, progress, show_json
from pipelines.cli.context import AsJson, Port, open_context
from pipelines.cli.dashboard import server
from pipelines.cli.stopping import report_interruption
from pipelines.cli.train import fit_progress
from pipelines.monitoring import ports

if TYPE_CHECKING:
    from pipelines.demo.stages import Advance, DemoContext

ADDRESS = "127.0.0.1"
Stage = Callable[["DemoContext", Any], str]
"""Runs a stage with a progress reporter, and returns the outcome as text."""
INTERRUPTION_MESSAGE = (
    "Finished stages are kept. The same command continues from there."
)


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
    """Invents a fleet, serves the dashboard, trains, and simulates the last ten nightly runs.

    After an interruption, the same command continues.

    Example: `harbor demo --depots 6 --days 200 --no-serve`
    """
    from pipelines.cli.logs import configure_logs
    from pipelines.demo import nights, stages, today

    before_the_pages: dict[str, Stage] = {
        "Inventing a fleet": stages.write_fleet,
        "Loading its files": stages.load_files,
    }
    while_they_are_served: dict[str, Stage] = {
        "Training": stages.train_model,
        "Hindcasting and scoring": stages.hindcast,
        "Simulating its last nightly runs": nights.run_nights,
        "Loading what has come today": today.load_today,
    }
    # Warnings about simulated problems are not printed; the pages show them.
    configure_logs(logging.ERROR)
    if not no_serve:
        ports.require_free(ADDRESS, port)
    with report_interruption(INTERRUPTION_MESSAGE), open_context() as context:
        # Files that the demo has written need no parser in a separate process.
        settings = context.settings.model_copy(update={"parser_memory_mib": 0})
        demo_context = stages.DemoContext(
            context.engine, settings, context.now, seed, depots, days
        )
        results = _run_stages(demo_context, before_the_pages)
        with nullcontext() if no_serve else server(context, ADDRESS, port) as wait:
            results += _run_stages(demo_context, while_they_are_served)
            echo(f"Ready after {sum(each['seconds'] for each in results):.0f} s.")
            if as_json:
                show_json({"stages": results})
            if wait is not None:
                wait()


def _run_stages(
    demo_context: DemoContext, stages_by_label: dict[str, Stage]
) -> list[dict[str, Any]]:
    """Runs stages, and prints the name, duration and outcome of each."""
    from pipelines.demo import stages

    results = []
    for label, stage in stages_by_label.items():
        started = time.perf_counter()
        echo(f"{label} …")
        bar = fit_progress() if stage is stages.train_model else _stage_progress(label)
        with bar as report:
            outcome = stage(demo_context, report)
        seconds = time.perf_counter() - started
        echo(f"  {seconds:5.1f} s  {outcome}")
        results.append(
            {"stage": label, "seconds": round(seconds, 1), "outcome": outcome}
        )
    return results


@contextmanager
def _stage_progress(label: str) -> Iterator[Advance]:
    with progress(label, None) as bar:
        yield lambda done, total: bar.update(
            bar.task_ids[0], completed=done, total=total
        )
