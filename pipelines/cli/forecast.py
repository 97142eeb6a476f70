"""`harbor forecast`: forecasts the days ahead with the champion."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forecaster.errors import NothingToDoError, shortened_list
from pipelines.cli.console import (
    echo,
    not_started_depots,
    show_csv,
    show_json,
    show_table,
)
from pipelines.cli.context import AsJson, Origin, open_context, past_day
from pipelines.cli.hours import as_rows, show_hours, show_today

if TYPE_CHECKING:
    import pyarrow as pa

    from pipelines.store.publications import Publication

NO_HOURS = (
    "There are no hours to show: they come from orders with times, and this fleet's demand "
    "comes as daily counts. The forecast itself is stored."
)


def forecast(
    origin: Origin = None,
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
    hourly: Annotated[
        bool,
        typer.Option(
            "--hourly", help="Print the orders of each hour of the days ahead."
        ),
    ] = False,
    today: Annotated[
        bool,
        typer.Option(
            "--today",
            help="Make no forecast; estimate today's orders from those that have come so far.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Forecasts every depot, and stores the forecast.

    The dashboard then shows the forecast if it is from the last day of data; a forecast from an
    earlier day is a hindcast, which is not shown.

    Example: `harbor forecast --origin 2026-03-31 --csv > forecast.csv`
    """
    if as_csv and as_json:
        raise typer.BadParameter("Give --csv or --json, not both.")
    if today and (origin or n_paths or hourly):
        raise typer.BadParameter("--today can be combined only with --csv or --json.")
    if today:
        _tell_today(as_csv=as_csv, as_json=as_json)
        return
    made = _make(origin, n_paths, hourly=hourly)
    if made.not_started:
        echo(f"Not started, and left out: {not_started_depots(made.not_started)}.")
    if made.without_orders:
        depot_ids = shortened_list(made.without_orders)
        echo(f"Without orders up to {made.origin_on}, and left out: {depot_ids}.")
    rows = made.rows
    if made.by_hour is not None:
        rows = as_rows(made.by_hour, made.origin_on, made.version)
    if as_json:
        show_json(rows)
    elif as_csv:
        show_csv(rows)
    else:
        _show(made)


@dataclass(frozen=True)
class _Made:
    """A stored forecast, with the data that is printed.

    Attributes:
      rows, totals: Results of `read_forecasts` and `read_totals`.
      by_hour: Result of `hours.stored_hours` or `forecast_hours`; None without --hourly.
      shown: The forecast that the dashboard shows; None if it shows none.
      reason: Why a model other than the champion made it; None if the champion did.
      not_started: Ids of the depots that are left out, as they have not started yet.
      without_orders: Ids of those that are left out for lack of orders up to the origin.
    """

    origin_on: date
    version: str
    rows: list[dict[str, Any]]
    totals: list[dict[str, Any]]
    by_hour: "pa.Table | None"
    shown: "Publication | None"
    reason: str | None
    not_started: list[str]
    without_orders: list[str]


def _make(origin: str | None, n_paths: int | None, *, hourly: bool) -> _Made:
    """Makes, stores and publishes a forecast, and writes its paths.

    Raises:
      NothingToDoError: --hourly is given and orders have no times; the forecast is stored.
    """
    from pipelines.database.engine import snapshot
    from pipelines.demand import counting
    from pipelines.demand.panels import shared_panels
    from pipelines.forecasting import forecast as forecast_module
    from pipelines.forecasting import hours
    from pipelines.publishing import publication
    from pipelines.runs.ledger import recorded
    from pipelines.store import depots, publications
    from pipelines.store.forecasts import read_forecasts, read_totals

    with open_context() as context:
        engine, settings = context.engine, context.settings
        day = past_day(context, origin, "--origin") or counting.default_origin(engine)
        panels = shared_panels(engine, day, settings.zone)
        with recorded(engine, "forecast", day) as run:
            version = forecast_module.forecast_from(
                run, settings, day, context.now, panels
            )
            hours.store_shares(run, panels, day)
            if publication.is_wanted(settings):
                publication.publish(run, settings)
        by_hour = None
        with snapshot(engine) as connection:
            rows = read_forecasts(connection, day, version)
            totals = read_totals(connection, day, version)
            shown = publications.shown(connection)
            never = set(depots.not_started(connection))
            if hourly and shown == publications.Publication(day, version):
                # What the pages show, with the shares that `store_shares` has just stored.
                by_hour = hours.stored_hours(connection, day, version)
            elif hourly:
                by_hour = hours.forecast_hours(connection, panels().at(day), rows)
        if n_paths is not None:
            from pipelines.forecasting.paths import write_paths

            folder = settings.home / "paths"
            path = write_paths(
                engine, settings.artefacts, folder, day, version, n_paths
            )
            echo(f"{n_paths} paths of all depots and days: {path}")
        if by_hour is not None and not by_hour.num_rows:
            raise NothingToDoError(NO_HOURS)
    reason = run.metrics.get("reason")
    left_out = run.metrics.get("not_started_ids", [])
    not_started = [each for each in left_out if each in never]
    others = [each for each in left_out if each not in never]
    return _Made(
        day, version, rows, totals, by_hour, shown, reason, not_started, others
    )


def _show(made: _Made) -> None:
    """Prints a forecast as text: origin, model, totals, and orders by hour or by day."""
    echo(
        f"Forecast from {made.origin_on} with model {made.version}; 80 % of days should fall "
        "between p10 and p90."
    )
    if made.reason:
        echo(made.reason)
    shown = made.shown
    own = (made.origin_on, made.version)
    if shown and (shown.origin_on, shown.model_version) != own:
        echo(
            f"The dashboard still shows the forecast from {shown.origin_on}, by model "
            f"{shown.model_version}."
        )
    show_totals(made.totals)
    if made.by_hour is not None:
        show_hours(made.by_hour)
        return
    cells = ((row["depot_id"], row["target_on"], _planned(row)) for row in made.rows)
    _show_by_day("Orders planned", "depot", cells)


def _tell_today(*, as_csv: bool, as_json: bool) -> None:
    """Prints the estimates of the running day; exit code 3 if there are none."""
    from forecaster.hours.today import MIN_SHARE
    from pipelines.database.engine import snapshot
    from pipelines.forecasting.hours import running_day

    with open_context() as context, snapshot(context.engine) as connection:
        cities = running_day(connection, context.now)
    if cities.empty:
        raise NothingToDoError(
            "There is no estimate of today yet: it needs a forecast of today, orders of today "
            f"with their times, and an hour by which {MIN_SHARE:.0%} of a day's orders usually have "
            "come. Load the newest file with 'harbor ingest PATH'."
        )
    rows = cities.to_dict("records")
    if as_json:
        show_json(rows)
    elif as_csv:
        show_csv(rows)
    else:
        show_today(cities)


def _show_by_day(
    title: str, heading: str, cells: Iterable[tuple[str, date, str]]
) -> None:
    """Prints cells (row name, day, text) as a table with a row per name and a column per day."""
    lines: dict[str, list[str]] = defaultdict(list)
    days = set()
    for name, day, text in cells:
        lines[name].append(text)
        days.add(day)
    columns = (heading, *(f"{day:%a %d %b}" for day in sorted(days)))
    show_table(title, columns, [(name, *texts) for name, texts in lines.items()])


def _planned(row: dict[str, Any]) -> str:
    """Planned orders as text, such as '420 (model 341)'; without the model's number if equal."""
    planned, model = f"{row['planned']:,.0f}", f"{row['point']:,.0f}"
    return planned if planned == model else f"{planned} (model {model})"


def _interval(row: dict[str, Any]) -> str:
    """80 % interval as text, such as '(390–450)', scaled by planned / point as on the pages.

    Where the model forecasts 0, a planner's number is its own interval.
    """
    if row["point"] == 0 and row["planned"] > 0:
        planned = f"{row['planned']:,.0f}"
        return f"({planned}–{planned})"
    ratio = row["planned"] / row["point"] if row["point"] > 0 else 1.0
    return f"({ratio * row['p10']:,.0f}–{ratio * row['p90']:,.0f})"


def show_totals(totals: list[dict[str, Any]]) -> None:
    """Prints each day's planned sum and its interval, the fleet first, then its cities."""
    cells = (
        (row["city"] or "all depots", row["target_on"], f"{_planned(row)} {_interval(row)}")
        for row in totals
    )  # fmt: skip
    _show_by_day("Orders planned in total (and their p10–p90)", "", cells)
