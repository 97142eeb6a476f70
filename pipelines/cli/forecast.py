"""`harbor forecast`: forecasts the days ahead with the champion."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from typing import Annotated, Any

import typer

from pipelines.cli.console import echo, show_csv, show_json, show_table
from pipelines.cli.context import AsJson, open_context, past_day
from pipelines.cli.findings import not_started_depots


def forecast(
    origin: Annotated[
        str | None,
        typer.Option(
            help="Forecast origin: last day of actuals used. [default: the last day of data]"
        ),
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print one CSV row per depot and day.")
    ] = False,
    n_paths: Annotated[
        int | None,
        typer.Option(
            "--paths",
            min=1,
            max=10_000,
            metavar="N",
            help="Also write N equally likely paths of all depots and days, as Parquet under "
            "HARBOR_HOME/paths.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forecasts every depot, and stores the forecast.

    From the last day of data, the dashboard shows it from then on; from an earlier day it is
    a hindcast, which is not shown.

    Example: `harbor forecast --origin 2026-03-31 --csv > forecast.csv`
    """
    from pipelines.database.engine import snapshot
    from pipelines.demand import counting
    from pipelines.demand.panels import shared_panels
    from pipelines.forecasting import forecast as forecast_module
    from pipelines.publishing import publication
    from pipelines.runs.ledger import recorded
    from pipelines.store import publications
    from pipelines.store.forecasts import read_forecasts, read_totals

    if as_csv and as_json:
        raise typer.BadParameter("Give --csv or --json, not both.")
    with open_context() as context:
        engine, settings = context.engine, context.settings
        day = past_day(context, origin, "--origin") or counting.default_origin(engine)
        with recorded(engine, "forecast", day) as run:
            version = forecast_module.forecast_from(
                run.engine,
                settings.artefacts,
                day,
                context.now,
                settings.zone,
                run,
                shared_panels(engine, day, settings.zone),
                settings.point,
            )
            if publication.is_wanted(settings):
                publication.publish(engine, settings, run, run.run_id)
        with snapshot(engine) as connection:
            rows = read_forecasts(connection, day, version)
            totals = read_totals(connection, day, version)
            shown = publications.shown(connection)
        if n_paths is not None:
            from pipelines.forecasting.paths import write_paths

            folder = settings.home / "paths"
            path = write_paths(
                engine, settings.artefacts, folder, day, version, n_paths
            )
            echo(f"{n_paths} paths of all depots and days: {path}")
    if not_started := run.metrics.get("not_started_ids"):
        echo(f"Not started, and left out: {not_started_depots(not_started)}.")
    if as_json:
        show_json(rows)
    elif as_csv:
        show_csv(rows)
    else:
        echo(
            f"Forecast from {day} with model {version}; 80 % of days should fall "
            "between p10 and p90."
        )
        if "reason" in run.metrics:
            echo(run.metrics["reason"])
        if shown is not None and (shown.origin_on, shown.model_version) != (
            day,
            version,
        ):
            echo(
                f"The dashboard goes on showing the forecast from {shown.origin_on}, by "
                f"model {shown.model_version}."
            )
        show_totals(totals)
        _show_by_day(
            "Orders planned",
            "depot",
            ((row["depot_id"], row["target_on"], _planned(row)) for row in rows),
        )


def _show_by_day(
    title: str, heading: str, cells: Iterable[tuple[str, date, str]]
) -> None:
    """Prints cells (name of the line, day, text): one line a name, one column a day."""
    lines: dict[str, list[str]] = defaultdict(list)
    days = set()
    for name, day, text in cells:
        lines[name].append(text)
        days.add(day)
    columns = (heading, *(f"{day:%a %d %b}" for day in sorted(days)))
    show_table(title, columns, [(name, *texts) for name, texts in lines.items()])


def _planned(row: dict[str, Any]) -> str:
    """'420 (model 341)'; the number alone where both are the same."""
    planned, model = f"{row['planned']:,.0f}", f"{row['point']:,.0f}"
    return planned if planned == model else f"{planned} (model {model})"


def _interval(row: dict[str, Any]) -> str:
    """'(390–450)': the model's interval, moved with the planned number as on the pages."""
    ratio = row["planned"] / row["point"] if row["point"] > 0 else 1.0
    return f"({ratio * row['p10']:,.0f}–{ratio * row['p90']:,.0f})"


def show_totals(totals: list[dict[str, Any]]) -> None:
    """Prints each day's planned sum and its interval, the fleet first, then its cities."""
    _show_by_day(
        "Orders planned in total (and their p10–p90)",
        "",
        (
            (
                row["city"] or "all depots",
                row["target_on"],
                f"{_planned(row)} {_interval(row)}",
            )
            for row in totals
        ),
    )
