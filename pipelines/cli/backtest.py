"""`harbor backtest`: hold the last days out, and see how far off the forecasts are."""

from typing import Annotated

import typer

from forecaster import backtest as backtests
from forecaster.baselines import BASELINES
from pipelines import demand, training
from pipelines.cli.console import say, show_json
from pipelines.cli.train import Epochs, Seed, fit_progress, show_scores
from pipelines.cli.workplace import AsJson, workplace
from pipelines.ledger import recorded
from pipelines.panels import read_panel


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("backtest")(backtest)


def backtest(
    holdout_days: Annotated[int, typer.Option(help="Last days held out.", min=1)] = 30,
    horizon: Annotated[int, typer.Option(help="Days forecast.", min=1, max=63)] = 7,
    stride: Annotated[int, typer.Option(help="Days between origins.", min=1)] = 1,
    against: Annotated[
        str, typer.Option(help="Baselines to stand beside it, comma-separated.")
    ] = ",".join(training.BASELINES),
    seed: Seed = None,
    epochs: Epochs = None,
    as_json: AsJson = False,
) -> None:
    """Trains on what precedes the last days, then forecasts them from every origin.

    Example: `harbor backtest --holdout-days 30 --against seasonal_naive,median4`
    """
    names = tuple(name.strip() for name in against.split(",") if name.strip())
    if strange := sorted(set(names) - set(BASELINES)):
        raise typer.BadParameter(
            f"--against names {', '.join(strange)}; there are {', '.join(BASELINES)}."
        )
    with workplace() as place:
        origin = demand.default_origin(place.engine)
        panel = read_panel(place.engine, origin)
        plan = backtests.plan(panel, holdout_days, horizon, stride)
        settings = place.settings.model_copy(update={"horizon": horizon})
        recipe = training.recipe_of(settings, seed, epochs)
        with recorded(place.engine, "backtest", origin), fit_progress() as report:
            scores, seconds = training.run_backtest(panel, plan, recipe, names, report)
    result = backtests.as_json(plan, scores, panel.n_depots, seconds)
    if as_json:
        show_json(result)
        return
    say(
        f"{panel.n_depots} depots, trained through {plan.trained_through} in "
        f"{seconds:.0f} s; {len(plan.origins)} origins, {horizon} days each."
    )
    show_scores(result["models"], f"The last {holdout_days} days, held out")
