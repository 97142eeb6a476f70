"""`harbor train`: learn from what is known, and say how good it is."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import structlog
import typer

from pipelines.cli.console import progress, say, show_json, show_table
from pipelines.cli.stopping import kept
from pipelines.cli.workplace import AsJson, Workplace, past_day, workplace
from pipelines.demand import counting
from pipelines.runs.ledger import recorded
from pipelines.training import promotion
from pipelines.training import train as training
from pipelines.training.promotion import PromotionDecision
from pipelines.training.train import FitReporter, TrainedModel

if TYPE_CHECKING:
    from forecaster.model.two_stage_fit import Recipe

log = structlog.get_logger()

LINES_PER_FIT = 10
KEPT = "No model was recorded. The same command continues from the last checkpoint."
FITS = {"evaluation": "First fit (evaluation)", "production": "Second fit (production)"}

Epochs = Annotated[
    int | None,
    typer.Option(help="Passes over the history at most; it stops early.", min=1),
]
Seed = Annotated[int | None, typer.Option(help="Seed of the random numbers.", min=0)]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("train")(train)


def train(
    through: Annotated[
        str | None,
        typer.Option(help="Last day to train on. [default: the last day of data]"),
    ] = None,
    seed: Seed = None,
    epochs: Epochs = None,
    bfloat16: Annotated[
        bool, typer.Option("--bfloat16", help="Compute matrix products in bfloat16.")
    ] = False,
    profile: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write a profiler's trace of some steps to.",
            metavar="FOLDER",
        ),
    ] = None,
    warm_up: Annotated[
        bool,
        typer.Option(
            "--warm-up",
            help="Only fill the compile cache for the nights to come; train no model.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Trains a model, judges it, and makes it champion if it beats the naive forecast.

    Example: `harbor train --through 2026-03-31`
    """
    with kept(KEPT), workplace() as place:
        day = past_day(place, through, "--through") or counting.default_origin(
            place.engine
        )
        recipe = training.build_recipe(place.settings, seed, epochs, bfloat16)
        if warm_up:
            _warm_up(place, day, recipe, as_json)
            return
        if place.settings.process > 0:
            _help(place, day, recipe, as_json)
            return
        made, verdict = _learn(place, day, recipe, profile)
    if as_json:
        show_json(
            asdict(made) | {"promoted": verdict.promoted, "reason": verdict.reason}
        )
    else:
        _show(made)
        say(f"{'Champion' if verdict.promoted else 'Not promoted'}. {verdict.reason}")


def _learn(
    place: Workplace, day: date, recipe: "Recipe", profile: Path | None
) -> tuple[TrainedModel, PromotionDecision]:
    """Trains and judges, as one run of the ledger."""
    engine, settings = place.engine, place.settings
    with (
        recorded(engine, "train", day) as run,
        fit_progress() as report,
        _profiled(report, profile) as watched,
    ):
        made = training.train(engine, settings, day, recipe, watched, run)
        verdict = promotion.promote_if_better(engine, settings.artefacts, made.version)
        run.metrics |= verdict.metrics()
    return made, verdict


def _help(place: Workplace, day: date, recipe: "Recipe", as_json: bool) -> None:
    """Does the share of a process that is not the first."""
    settings = place.settings
    with fit_progress() as report:
        training.train_as_worker(place.engine, settings, day, recipe, report)
    if as_json:
        show_json({"process": settings.process, "trained_through": day})
    else:
        say(
            f"Process {settings.process} has done its share; process 0 records the model."
        )


def _warm_up(place: Workplace, day: date, recipe: "Recipe", as_json: bool) -> None:
    """Compiles for the nights to come, every process its own share."""
    with fit_progress() as report:
        metrics = training.precompile(place.engine, place.settings, day, recipe, report)
    if as_json:
        show_json({"trained_through": day, **metrics})
        return
    say(
        f"Compiled {metrics['compilations']} programs and found {metrics['cache_hits']} "
        f"in the cache, in {metrics['compile_seconds']:.1f} s. The next training on "
        "this kind of machine finds them all there."
    )


@contextmanager
def _profiled(report: FitReporter, folder: Path | None) -> Iterator[FitReporter]:
    """The reports, which also trace some steps into a folder where one is named."""
    if folder is None:
        yield report
        return
    from forecaster.model.profiling import traced_epochs

    with traced_epochs(folder) as traced:
        yield lambda fit: traced(report(fit))


def _show(made: TrainedModel) -> None:
    say(
        f"Model {made.version}, trained through {made.trained_through} in {made.seconds} s."
    )
    say(f"NumPy and Flax agree within {made.parity_error:.0e} log counts.")
    show_scores(made.scores, "Scores on the holdout days")
    if made.scores["network_share"] == 0:
        say(
            "Its network did not help on those days, so it delivers the baseline: the "
            "plain forecast without the network's correction."
        )


def show_scores(scores: dict[str, Any], title: str) -> None:
    """Shows a table of scores in percent.

    Args:
      scores: With `models`, and `network_share` where it is known.
      title: Of the table.
    """
    own = "baseline" if scores.get("network_share") == 0 else "gru"
    columns = ("mape", "wape", "bias", "mase", "coverage80", "days")
    names = ("model", "MAPE %", "WAPE %", "bias %", "MASE", "80 % band", "days")
    rows = [
        (own if name == "gru" else name, *(each[key] for key in columns))
        for name, each in scores["models"].items()
    ]
    show_table(title, names, rows)


@contextmanager
def fit_progress() -> Iterator[FitReporter]:
    """A bar per fit, on a terminal; and log lines now and then, for who follows the run."""
    with progress("Preparing", None) as bar:

        def of(fit: str) -> Callable[[int, int, float], None]:
            bar.update(bar.task_ids[0], visible=False)
            task = bar.add_task(FITS[fit], total=None)
            noted = _noted(fit)

            def told(epoch: int, epochs: int, best: float) -> None:
                noted(epoch, epochs, best)
                known = f", MAPE {100 * best:.2f} %" if best < float("inf") else ""
                bar.update(
                    task,
                    completed=epoch,
                    total=epochs,
                    description=f"{FITS[fit]}{known}",
                )

            return told

        yield of


def _noted(fit: str) -> Callable[[int, int, float], None]:
    """Logs a fit's progress, `LINES_PER_FIT` times in all."""
    before = 0

    def note(epoch: int, epochs: int, best: float) -> None:
        nonlocal before
        part = LINES_PER_FIT * epoch // epochs
        if part > before:
            # A fit without validation days, as the one that is served, has no best.
            known = {"best_mape": best} if math.isfinite(best) else {}
            log.info("fit", fit=fit, epoch=epoch, most=epochs, **known)
        before = part

    return note
