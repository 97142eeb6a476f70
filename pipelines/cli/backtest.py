"""`harbor backtest`: scores of forecasts of held-out days."""

from typing import Annotated

import typer

from forecaster.errors import BadInputError
from pipelines.cli.console import echo, show_json
from pipelines.cli.context import AsJson, as_date, open_context
from pipelines.cli.train import Epochs, Seed, fit_progress, show_scores

# As `naive_forecasts.NAIVE_FORECASTS`, whose module would import NumPy for a help text.
NAIVE_FORECASTS = ("seasonal_naive", "median4")


def backtest(
    holdout_days: Annotated[
        int, typer.Option(help="Number of final days to hold out.", min=1)
    ] = 30,
    horizon: Annotated[
        int, typer.Option(help="Days to forecast from each origin.", min=1, max=63)
    ] = 7,
    stride: Annotated[int, typer.Option(help="Days between origins.", min=1)] = 1,
    against: Annotated[
        str, typer.Option(help="Naive forecasts to compare with, separated by commas.")
    ] = ",".join(NAIVE_FORECASTS),
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="DAY",
            help="Backtest using only data known on the night after this day.",
        ),
    ] = None,
    seed: Seed = None,
    epochs: Epochs = None,
    as_json: AsJson = False,
) -> None:
    """Trains on everything before the held-out days, then forecasts them from every origin.

    Each forecast sees what was known on the night after its origin, not later corrections.
    With --as-of, the actuals are those known then, too.

    Example: `harbor backtest --holdout-days 30 --against seasonal_naive,median4`
    """
    from forecaster import backtest as backtests
    from forecaster.naive_forecasts import NAIVE_FORECASTS
    from pipelines.demand import counting
    from pipelines.demand.panels import PanelsAsKnown, read_panel
    from pipelines.runs.ledger import recorded
    from pipelines.training import backtesting, train

    names = tuple(name.strip() for name in against.split(",") if name.strip())
    if unknown := sorted(set(names) - set(NAIVE_FORECASTS)):
        raise typer.BadParameter(
            f"--against names {', '.join(unknown)}, which is no naive forecast. Choose from "
            f"{', '.join(NAIVE_FORECASTS)}."
        )
    with open_context() as context:
        last_day_on = counting.default_origin(context.engine)
        origin = last_day_on if as_of is None else as_date(as_of, "--as-of")
        if origin > last_day_on:
            raise BadInputError(
                f"--as-of is {origin}, but the data ends on {last_day_on}. Choose that day or "
                "an earlier one."
            )
        panel_at = PanelsAsKnown(context.engine, origin, context.settings.zone).at
        panel = panel_at(origin) if as_of else read_panel(context.engine, origin)
        split = backtests.split_holdout(panel, holdout_days, horizon, stride)
        settings = context.settings.model_copy(update={"horizon": horizon})
        recipe = train.build_recipe(settings, seed, epochs)
        with recorded(context.engine, "backtest", origin), fit_progress() as report:
            scores, seconds = backtesting.run_backtest(
                panel, panel_at, split, recipe, names, report, settings.point
            )
    result = backtests.summarise(split, scores, panel.n_depots, seconds)
    if as_json:
        show_json(result)
        return
    echo(
        f"{panel.n_depots} depots, trained through {split.trained_through} in "
        f"{seconds:.0f} s; {len(split.origins)} origins, {horizon} days each."
    )
    show_scores(result, f"Scores over the last {holdout_days} days, held out")
