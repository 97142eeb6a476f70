"""The stages of the demonstration; a completed stage is not repeated."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from forecaster.errors import BadInputError
from pipelines import backfill
from pipelines.database.engine import snapshot
from pipelines.demand import counting
from pipelines.demo.depots import CITIES
from pipelines.demo.files import write_files
from pipelines.demo.fleet import invent
from pipelines.forecasting import forecast as forecasting
from pipelines.ingest import FileOptions, LoadProgress, ingest
from pipelines.runs.ledger import recorded
from pipelines.settings import Settings
from pipelines.store import depots as depot_store
from pipelines.store import forecasts, models
from pipelines.store.demo import DemoFleet, read_demo_fleet, record_demo_fleet
from pipelines.training import promotion, train
from pipelines.training.train import FitReporter

Advance = Callable[[float, float], None]
"""Called with the work done so far and the total work."""


@dataclass(frozen=True)
class DemoContext:
    """Options, settings and database of the demonstration."""

    engine: sa.Engine
    settings: Settings
    now: datetime
    seed: int
    n_depots: int
    n_days: int

    @property
    def folder(self) -> Path:
        """Folder of the invented files; it exists only once they are complete."""
        options = f"{self.n_depots}-depots-{self.n_days}-days-seed-{self.seed}"
        return self.settings.home / "demo" / options

    @property
    def yesterday(self) -> date:
        """The last day that is over in every city."""
        days = [self.now.astimezone(ZoneInfo(city.timezone)).date() for city in CITIES]
        return min(days) - timedelta(days=1)


def write_fleet(demo: DemoContext, advance: Advance) -> str:
    """Invents the fleet and writes its files, unless they lie there already.

    Raises:
      BadInputError: the database holds another fleet, invented or not.
    """
    _claim_database(demo)
    if demo.folder.exists():
        return f"in {demo.folder} already"
    fleet = invent(demo.seed, demo.n_depots, demo.n_days, demo.yesterday)
    write_files(fleet, demo.folder, advance)
    n_orders = fleet.counts_dt.sum()
    return f"{n_orders:,} orders of {demo.n_depots} depots up to {demo.yesterday}"


def load_files(demo: DemoContext, advance: Advance) -> str:
    """Loads the files as `harbor ingest` does, and counts demand."""

    def report_progress(load: LoadProgress) -> None:
        advance(load.done, load.total)

    with recorded(demo.engine, "ingest") as run:
        report = ingest(
            demo.engine,
            [str(demo.folder)],
            # Its corrections move a day's orders, as a partner's do.
            FileOptions(force=True),
            demo.settings,
            report_progress,
            is_invented=True,
        )
        run.metrics["files"] = len(report.files)
    with recorded(demo.engine, "demand") as run:
        change = counting.rebuild(demo.engine, demo.now)
        run.metrics |= {"new": change.new, "corrected": change.corrected}
    loaded = sum(file.state == "loaded" for file in report.files)
    return f"{loaded} of {len(report.files)} files were new; {change.new:,} depot-days"


def train_model(demo: DemoContext, report: FitReporter) -> str:
    """Trains and promotes a model, unless there is a champion."""
    with demo.engine.connect() as connection:
        champion = models.champion(connection)
    if champion is not None:
        return f"{champion['version']} is the champion already"
    origin = counting.default_origin(demo.engine)
    recipe = train.build_recipe(demo.settings, seed=None, epochs=None)
    with recorded(demo.engine, "train", origin) as run:
        model = train.train(demo.engine, demo.settings, origin, recipe, report, run)
    artefacts = demo.settings.artefacts
    return promotion.promote_if_better(demo.engine, artefacts, model.version).reason


def hindcast(demo: DemoContext, advance: Advance) -> str:
    """Hindcasts the holdout days of the evaluation fit, and scores them."""
    origin = counting.default_origin(demo.engine)
    with snapshot(demo.engine) as connection:
        evaluation = models.newest_evaluation(connection)
        if evaluation is None or forecasts.has_scores(connection):
            return "scored already"
    first, last = evaluation["trained_through"], origin - timedelta(days=1)
    days = (last - first).days + 1
    slots: list[backfill.Slot] = []

    def on_slot(slot: backfill.Slot) -> None:
        slots.append(slot)
        advance(len(slots), days)

    done = backfill.run_backfill(
        demo.engine, demo.settings, first, last, demo.now, on_slot
    )
    made = sum(slot.model is not None for slot in done.of("forecast"))
    scored = sum(slot.rows for slot in done.of("score"))
    return f"{made} origins, {scored:,} depot-days scored"


def forecast(demo: DemoContext) -> str:
    """Forecasts the next days with the champion, unless this is done already."""
    origin = counting.default_origin(demo.engine)
    settings = demo.settings
    with snapshot(demo.engine) as connection:
        model = forecasting.model_for(connection, origin)
        version = str(model["version"])
        if forecasts.read_forecasts(connection, origin, version):
            return f"forecast from {origin} already"
    with recorded(demo.engine, "forecast", origin) as run:
        forecasting.forecast_from(
            demo.engine, settings.artefacts, origin, demo.now, settings.zone, run
        )
    return f"the {settings.horizon} days after {origin}, with model {version}"


def _claim_database(demo: DemoContext) -> None:
    """Records that the database holds this fleet; real files are refused from then on."""
    requested = DemoFleet(demo.seed, demo.n_depots, demo.n_days)
    with demo.engine.begin() as connection:
        held = read_demo_fleet(connection)
        if held == requested:
            return
        if held is not None:
            raise BadInputError(
                "This database holds a fleet invented with other options. Give the same, "
                "or set HARBOR_HOME to a new place."
            )
        if depot_ids := depot_store.depot_ids(connection):
            raise BadInputError(
                f"This database holds {len(depot_ids)} depots that are not invented, such as "
                f"{min(depot_ids)}; the demonstration would mix with them. Set HARBOR_HOME to "
                "a new place."
            )
        record_demo_fleet(connection, requested)
