"""Speed of a backfill over single forecasts, both measured in one run.

    python -m tests.benchmarks.hindcast [--depots N] [--origins N] [--singles N]

A single forecast is `harbor forecast --origin`: read the counts as they were known, build
the panel, ask the network, write. One by one, the counts are read once and the rest is done
for each origin. A backfill asks the network once for up to 64 origins. All write to the
same database, over the same forecasts, and must say the same.
"""

import argparse
import os
import tempfile
from datetime import UTC, date, datetime, timedelta

import numpy as np
import sqlalchemy as sa

from forecaster.inference import infer
from pipelines.backfill import BackfillRequest, run_backfill
from pipelines.cli.context import CommandContext, open_context
from pipelines.demand import counting
from pipelines.demand.panels import PanelsAsKnown, read_panel
from pipelines.forecasting import forecast
from pipelines.runs.ledger import Run
from pipelines.schema import depots
from pipelines.store.copying import copy_rows
from tests.benchmarks.invented import (
    CITIES,
    START,
    invented_artefact,
    invented_panel,
)
from tests.benchmarks.machine import stamp, timed
from tests.pipelines.make import (
    forecast_from,
    save_model,
)

N_DAYS = 548
COUNTS = ("depot_id", "service_on", "orders", "file_id")
SECONDS_TO_FORECAST = """
select extract(epoch from max(finished_at) filter (where step = 'hindcast')
                          - min(started_at) filter (where step = 'backfill'))
from runs
"""
AS_STORED = (
    "select p10, p50, p90, point from forecasts where origin_on = any(:origins) "
    "order by origin_on, depot_id, target_on"
)


def main() -> None:
    """Measures both, and prints how long an origin took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depots", type=int, default=1_000)
    parser.add_argument("--origins", type=int, default=90)
    parser.add_argument(
        "--singles", type=int, default=3, help="origins forecast one by one"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="harbor-bench-") as home:
        os.environ["HARBOR_HOME"] = home
        with open_context() as context:
            _measure(context, args.depots, args.origins, args.singles)


def _measure(
    context: CommandContext, n_depots: int, n_origins: int, n_singles: int
) -> None:
    """Prints seconds an origin, and how many times faster the backfill is."""
    last = _fill(context, n_depots) - timedelta(days=8)
    first = last - timedelta(days=n_origins - 1)
    _add_model(context, first)
    singles = [last - timedelta(days=ago * 7) for ago in range(n_singles)]
    # The first looks the holidays up, which are kept.
    _single(context, singles[0])
    single = timed(lambda: [_single(context, origin) for origin in singles]) / n_singles
    single_forecasts = _stored(context, singles)
    panels = PanelsAsKnown(context.engine, last, context.settings.zone)
    one_by_one = timed(lambda: _one_by_one(context, panels, singles)) / n_singles
    whole = _backfill(context, first, last)
    np.testing.assert_allclose(_stored(context, singles), single_forecasts, rtol=5e-3)
    print(stamp())
    print(f"{n_depots:,} depots, {n_origins} origins, 7 days each")
    print(
        f"backfill:        {whole / n_origins:6.2f} s an origin, {whole:.1f} s in all"
    )
    for name, seconds in (("single forecast", single), ("one by one", one_by_one)):
        ratio = seconds * n_origins / whole
        print(
            f"{name + ':':<17}{seconds:6.2f} s an origin ({n_singles} origins): {ratio:.1f} ×"
        )


def _single(context: CommandContext, origin: date) -> None:
    settings = context.settings
    forecast_from(context.engine, settings.artefacts, origin, _now(), settings.zone)


def _one_by_one(
    context: CommandContext, panels: PanelsAsKnown, origins: list[date]
) -> None:
    settings = context.settings
    with context.engine.connect() as connection:
        model = forecast.model_for(connection, origins[-1])
    loaded = forecast.load_recorded(settings.artefacts, model)
    for origin in origins:
        panel = panels.at(origin)
        forecasts, version = infer.forecast(loaded, panel), str(model["version"])
        forecast.write(
            context.engine, panel, forecasts, version, _now(), settings.zone, Run(None, context.engine),
            is_shown=False,
        )  # fmt: skip


def _backfill(context: CommandContext, first: date, last: date) -> float:
    """Seconds from the start of a backfill to its last forecast: its scores are apart."""
    request = BackfillRequest(first, last, again=True)
    done = run_backfill(context.engine, context.settings, request, _now())
    assert done.n_forecast == len(request.origins), done
    with context.engine.connect() as connection:
        return float(connection.execute(sa.text(SECONDS_TO_FORECAST)).scalar_one())


def _fill(context: CommandContext, n_depots: int) -> date:
    """Depots with daily counts; returns the last day."""
    panel = invented_panel(n_depots, N_DAYS)
    places = [
        {
            "depot_id": depot_id, "name": depot_id, "city": CITIES[number % 3],
            "timezone": "UTC", "country": "NL", "is_complete": True,
        }
        for number, depot_id in enumerate(panel.depot_ids)
    ]  # fmt: skip
    days = [START + timedelta(days=step) for step in range(N_DAYS)]
    with context.engine.begin() as connection:
        connection.execute(sa.insert(depots), places)
        rows = (
            (depot_id, day, int(orders), 1)
            for depot_id, of_depot in zip(panel.depot_ids, panel.demand_dt, strict=True)
            for day, orders in zip(days, of_depot, strict=True)
        )
        copy_rows(connection, "daily_counts", COUNTS, rows)
    counting.rebuild(context.engine, _now())
    return days[-1]


def _add_model(context: CommandContext, through: date) -> None:
    """One of the size that is delivered, with the weights it began with."""
    model = invented_artefact(read_panel(context.engine, through))
    save_model(context.engine, model, context.settings.artefacts, role="evaluation")


def _stored(context: CommandContext, origins: list[date]) -> np.ndarray:
    with context.engine.connect() as connection:
        rows = connection.execute(sa.text(AS_STORED), {"origins": origins}).all()
    return np.array([tuple(row) for row in rows])


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    main()
