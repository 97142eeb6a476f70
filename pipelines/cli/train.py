"""`harbor train`: trains and evaluates a model, and shows its scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.console import echo, progress, show_json, show_result, show_table
from pipelines.cli.context import AsJson, open_context, past_day
from pipelines.cli.stopping import report_interruption

if TYPE_CHECKING:
    from pipelines.training.promotion import PromotionDecision
    from pipelines.training.train import FitReporter, TrainedModel

LINES_PER_FIT = 10
INTERRUPTION_MESSAGE = (
    "No model was recorded. The same command continues from the last checkpoint."
)
SCORE_COLUMNS = {
    "mape": "MAPE %",
    "wape": "WAPE %",
    "bias": "bias %",
    "mase": "MASE",
    "coverage80": "80 % band",
    "days": "days",
}
FITS = {"evaluation": "First fit (evaluation)", "production": "Second fit (production)"}

Epochs = Annotated[
    int | None,
    typer.Option(help="Passes over the history. [default: from its length]", min=1),
]
Seed = Annotated[int | None, typer.Option(help="Seed of the random numbers.", min=0)]


def train(
    through: Annotated[
        str | None,
        typer.Option(help="Last day to train on. [default: the last day of data]"),
    ] = None,
    seed: Seed = None,
    epochs: Epochs = None,
    warm_up: Annotated[
        bool,
        typer.Option(
            "--warm-up",
            help="Only fill the compile cache for the coming nights; train no model.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Trains a model, evaluates it on held-out days, and makes it champion if it passes.

    It passes if its data is at least as new as the champion's; if its MAPE on those days is at
    most the seasonal naive's, at most 1.02 times the champion's and an earlier champion's, and
    not equal to the champion's (unless its network has no share in the forecast); and if its
    canary, a trial forecast, passes.
    The first model of a fleet needs only the canary.

    Example: `harbor train --through 2026-03-31`
    """
    from pipelines.demand import counting
    from pipelines.demand.panels import shared_panels
    from pipelines.runs.ledger import recorded
    from pipelines.training import promotion
    from pipelines.training import train as train_module

    with report_interruption(INTERRUPTION_MESSAGE), open_context() as context:
        engine, settings = context.engine, context.settings
        day = past_day(context, through, "--through") or counting.default_origin(engine)
        recipe = train_module.build_recipe(settings, seed, epochs)
        if warm_up:
            with fit_progress() as report:
                metrics = train_module.precompile(engine, settings, day, recipe, report)
            _show_compilation(day, metrics, as_json)
        elif settings.process > 0:
            with fit_progress() as report:
                train_module.train_as_worker(engine, settings, day, recipe, report)
            process = settings.process
            sentence = (
                f"Process {process} has done its share; process 0 records the model."
            )
            show_result({"process": process, "trained_through": day}, sentence, as_json)
        else:
            with (
                recorded(engine, "train", day) as run,
                fit_progress() as report,
            ):
                panels = shared_panels(engine, day, settings.zone)
                model = train_module.train(run, settings, day, recipe, report, panels)
                decision = promotion.promote_if_better(
                    run.engine, settings.artefacts, panels, model.version
                )
                run.metrics |= decision.metrics()
            _show(model, decision, as_json)


def _show_compilation(day: date, metrics: dict[str, Any], as_json: bool) -> None:
    sentence = (
        f"Compiled {metrics['compilations']} programs and found {metrics['cache_hits']} "
        f"in the cache, in {metrics['compile_seconds']:.1f} s. The next training on "
        "this kind of machine finds them all there."
    )
    show_result({"trained_through": day, **metrics}, sentence, as_json)


def _show(model: TrainedModel, decision: PromotionDecision, as_json: bool) -> None:
    from forecaster.inference.network_share import describe_share

    promoted, reason = decision.promoted, decision.reason
    if as_json:
        show_json(asdict(model) | {"promoted": promoted, "reason": reason})
        return
    echo(
        f"Model {model.version}, trained through {model.trained_through} in "
        f"{model.seconds} s."
    )
    echo(f"NumPy and Flax agree within {model.parity_error:.0e} log counts.")
    show_scores(model.scores, "Scores on the holdout days")
    share = model.scores["network_share"]
    echo(f"Delivers: {describe_share(share)}.")
    if share == 0:
        echo(
            "Its network helped too little on those days, so it delivers the baseline: the "
            "plain forecast without the network's correction."
        )
    echo(f"{'Champion' if promoted else 'Not promoted'}. {reason}")


def show_scores(scores: dict[str, Any], title: str) -> None:
    """Shows a table of `scores["models"]` in percent."""
    own = "baseline" if scores.get("network_share") == 0 else "gru"
    rows = [
        (own if name == "gru" else name, *score_cells(each))
        for name, each in scores["models"].items()
    ]
    show_table(title, ("model", *SCORE_COLUMNS.values()), rows)


def score_cells(scores: Mapping[str, Any]) -> tuple[object, ...]:
    """The cells of one model's scores, in the order of `SCORE_COLUMNS`."""
    shown = {**scores, "coverage80": coverage_percent(scores["coverage80"])}
    return tuple(shown[column] for column in SCORE_COLUMNS)


def coverage_percent(coverage: float | None) -> int | None:
    """Coverage of an interval in whole percent, from the fraction that JSON shows."""
    return None if coverage is None else round(100 * coverage)


@contextmanager
def fit_progress() -> Iterator[FitReporter]:
    """Yields a reporter that shows a bar per fit and logs `LINES_PER_FIT` lines of each."""
    import structlog

    with progress("Preparing", None) as bar:

        def start(fit: str) -> Callable[[int, int], None]:
            bar.update(bar.task_ids[0], visible=False)
            task = bar.add_task(FITS[fit], total=None)
            logged = 0

            def report(epoch: int, epochs: int) -> None:
                nonlocal logged
                part = LINES_PER_FIT * epoch // epochs
                if part > logged:
                    structlog.get_logger().info(
                        "fit", fit=fit, epoch=epoch, most=epochs
                    )
                logged = part
                bar.update(task, completed=epoch, total=epochs)

            return report

        yield start
