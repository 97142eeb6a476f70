"""`harbor backtest`: scores of forecasts for held-out days."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forecaster.errors import BadInputError
from pipelines.cli.console import echo, show_json, show_table
from pipelines.cli.context import (
    AsJson,
    as_date,
    open_context,
    require_folder,
    segment_tables,
)
from pipelines.cli.train import (
    SCORE_COLUMNS,
    Epochs,
    Seed,
    fit_progress,
    score_cells,
    show_scores,
)

if TYPE_CHECKING:
    import pandas as pd

# Copy of `naive_forecasts.NAIVE_FORECASTS`: a help text need not wait for NumPy's import.
NAIVE_FORECASTS = ("seasonal_naive", "median4")
# Copy of `backtest_rows.SEGMENTS`, whose module imports pandas.
SEGMENTS = ("depot", "city", "horizon", "weekday", "kind")


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
    forecasts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write every forecast to this Parquet file: a row for each depot, origin, "
            "day and model.",
            dir_okay=False,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Show the scores by {', '.join(SEGMENTS)}, or by several of them together, "
            "separated by commas; repeat it for another table."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Trains on everything before the held-out days, then forecasts them from every origin.

    Each forecast sees what was known on the night after its origin, not later corrections.
    With --as-of, the actuals, too, are as known on that night.

    Example: `harbor backtest --holdout-days 30 --against seasonal_naive,median4`
    """
    from forecaster import backtest as backtests
    from forecaster.naive_forecasts import NAIVE_FORECASTS
    from pipelines.demand import counting
    from pipelines.demand.panels import PanelsAsKnown
    from pipelines.runs.ledger import recorded
    from pipelines.training import backtesting, train
    from pipelines.training.backtest_rows import scores_by
    from pipelines.whole_file import whole_file

    names = tuple(name.strip() for name in against.split(",") if name.strip())
    if unknown := sorted(set(names) - set(NAIVE_FORECASTS)):
        raise typer.BadParameter(
            f"--against names {', '.join(unknown)}, which is not a naive forecast. Choose from "
            f"{', '.join(NAIVE_FORECASTS)}."
        )
    tables = segment_tables(by or [], SEGMENTS)
    if forecasts is not None:
        require_folder(forecasts, "--forecasts")
    # Opened before the training, as a file that cannot be written is to be told at once.
    to_write = nullcontext() if forecasts is None else whole_file(forecasts)
    with to_write as unfinished, open_context() as context:
        last_day_on = counting.default_origin(context.engine)
        origin = last_day_on if as_of is None else as_date(as_of, "--as-of")
        if origin > last_day_on:
            raise BadInputError(
                f"--as-of is {origin}, but the data ends on {last_day_on}. Choose that day or "
                "an earlier one."
            )
        panels = PanelsAsKnown(context.engine, origin, context.settings.zone)
        panel = panels.at(origin) if as_of else panels.with_newest_counts(origin)
        split = backtests.split_holdout(panel, holdout_days, horizon, stride)
        settings = context.settings.model_copy(update={"horizon": horizon})
        recipe = train.build_recipe(settings, seed, epochs)
        with recorded(context.engine, "backtest", origin), fit_progress() as report:
            done = backtesting.run_backtest(
                panel, panels.at, split, recipe, names, report, settings.point
            )
        result = backtests.summarise(split, done.scores(), panel.n_depots, done.seconds)
        if tables:
            rows = done.rows
            result["by"] = {",".join(each): scores_by(rows, each) for each in tables}
        # The scores are shown even if the disk is full.
        try:
            if unfinished is not None:
                n_rows = _write(done.rows, unfinished)
                result["forecasts"] = {"path": str(forecasts), "rows": n_rows}
        finally:
            if as_json:
                show_json(result)
            else:
                echo(
                    f"{panel.n_depots} depots, trained through {split.trained_through} in "
                    f"{done.seconds:.0f} s; {len(split.origins)} origins, {horizon} days each."
                )
                _show(result, holdout_days, tables)
    if forecasts is not None and not as_json:
        echo(f"{result['forecasts']['rows']:,} forecasts written to {forecasts}.")


def _write(rows: pd.DataFrame, path: Path) -> int:
    """Writes the forecasts as Parquet; returns their number."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pandas(rows, preserve_index=False), path)
    return len(rows)


def _show(
    result: dict[str, Any], holdout_days: int, tables: list[tuple[str, ...]]
) -> None:
    """Shows the scores of all held-out days, and a table for each group of segments."""
    show_scores(result, f"Scores over the last {holdout_days} days, held out")
    for segments in tables:
        columns = (*segments, "model", *SCORE_COLUMNS.values())
        rows = [
            (*(row[name] for name in (*segments, "model")), *score_cells(row))
            for row in result["by"][",".join(segments)]
        ]
        show_table(f"By {', '.join(segments)}", columns, rows)
