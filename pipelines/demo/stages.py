"""The stages of the demonstration; a completed stage is not repeated."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from forecaster.errors import BadInputError
from pipelines import backfill
from pipelines.database.engine import snapshot
from pipelines.demand import counting
from pipelines.demand.panels import shared_panels
from pipelines.demo.depots import CITIES
from pipelines.demo.files import write_files
from pipelines.demo.fleet import invent
from pipelines.ingest.load import FileOptions, LoadProgress, ingest
from pipelines.runs.ledger import recorded
from pipelines.settings import Settings
from pipelines.store import demand, depots, forecasts, models
from pipelines.store.demo import (
    DemoFleet,
    move_times,
    read_demo_fleet,
    record_demo_fleet,
)
from pipelines.store.ingest import now
from pipelines.training import promotion, train
from pipelines.training.train import FitReporter

MIN_HISTORY_DAYS, MAX_NIGHTS = 60, 10
"""Minimum number of days left for training, and maximum number of simulated nights."""

SETUP, LOADING = timedelta(hours=1), timedelta(minutes=15)

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

    @property
    def n_nights(self) -> int:
        """Number of simulated nights, one for each of the newest days."""
        return min(MAX_NIGHTS, max(self.n_days - MIN_HISTORY_DAYS, 1))

    @property
    def nights(self) -> list[date]:
        """Origins of the simulated nights, from the written files, earliest first."""
        return sorted(
            date.fromisoformat(each.name) for each in self.folder.glob("nights/*")
        )

    def morning_after(self, day: date) -> datetime:
        """Returns when the night after a day was due, or now if that is earlier."""
        return min(self.settings.night_on(day + timedelta(days=1)), self.now)

    @property
    def setup_at(self) -> datetime:
        """Start of the simulated clock: an hour before the night before the first simulated one."""
        if not self.nights:
            return self.now
        return self.morning_after(self.nights[0] - timedelta(days=1)) - SETUP

    @contextmanager
    def clock_at(self, at: datetime) -> Iterator[None]:
        """Shifts the times recorded in the block, as if it had begun at a simulated time."""
        with self.engine.connect() as connection:
            began = now(connection)
        try:
            yield
        finally:
            with self.engine.begin() as connection:
                move_times(connection, began, at - began)


def write_fleet(demo: DemoContext, advance: Advance) -> str:
    """Invents the fleet and writes its files, unless they exist already.

    Raises:
      BadInputError: the database holds another fleet, invented or real.
    """
    _claim_database(demo)
    if demo.folder.exists():
        return f"in {demo.folder} already"
    fleet = invent(demo.seed, demo.n_depots, demo.n_days, demo.yesterday)
    write_files(fleet, demo.folder, advance, demo.n_nights)
    n_orders = fleet.counts_dt.sum()
    return f"{n_orders:,} orders of {demo.n_depots} depots up to {demo.yesterday}"


def load_files(demo: DemoContext, advance: Advance) -> str:
    """Loads the files as `harbor ingest` does, and counts demand."""

    def report_progress(load: LoadProgress) -> None:
        advance(load.done, load.total)

    at = demo.setup_at
    files = sorted(str(path) for path in demo.folder.glob("*.*"))
    with demo.clock_at(at), recorded(demo.engine, "ingest") as run:
        report = ingest(
            demo.engine,
            files,
            # Correcting files move all of their orders; without force, a file may move only some.
            FileOptions(force=True),
            demo.settings,
            report_progress,
            is_invented=True,
        )
        run.metrics["files"] = len(report.files)
    loaded = sum(file.state == "loaded" for file in report.files)
    files_loaded = f"{loaded} of {len(report.files)} files were new"
    with demo.engine.connect() as connection:
        last_day_on = demand.last_day(connection)
    # At this simulated time, days that later nights have counted are not over; a rebuild would
    # remove their counts.
    if last_day_on is not None and last_day_on >= at.date():
        return files_loaded
    with demo.clock_at(at + LOADING), recorded(demo.engine, "demand") as run:
        change = counting.rebuild(demo.engine, at)
        run.metrics |= {"new": change.new, "corrected": change.corrected}
    return f"{files_loaded}; {change.new:,} depot-days"


def train_model(demo: DemoContext, report: FitReporter) -> str:
    """Trains and promotes a model, unless there is a champion."""
    with demo.engine.connect() as connection:
        champion = models.champion(connection)
    if champion is not None:
        return f"{champion['version']} is the champion already"
    origin = counting.default_origin(demo.engine)
    recipe = train.build_recipe(demo.settings)
    panels = shared_panels(demo.engine, origin, demo.settings.zone)
    with demo.clock_at(demo.setup_at + 2 * LOADING):
        with recorded(demo.engine, "train", origin) as run:
            model = train.train(run, demo.settings, origin, recipe, report, panels)
        with recorded(demo.engine, "promote", origin) as run:
            decision = promotion.promote_if_better(
                run.engine, demo.settings.artefacts, panels, model.version
            )
            run.metrics |= decision.metrics()
    return decision.reason


def hindcast(demo: DemoContext, advance: Advance) -> str:
    """Hindcasts the holdout days of the evaluation fit, and scores them."""
    origin = counting.default_origin(demo.engine)
    with snapshot(demo.engine) as connection:
        evaluation = models.newest_evaluation(connection)
        if evaluation is None or forecasts.has_scores(connection):
            return "scored already"
    first, last = evaluation["trained_through"], origin - timedelta(days=1)
    at = demo.setup_at + 3 * LOADING
    with demo.clock_at(at):
        done = backfill.run_backfill(
            demo.engine,
            demo.settings,
            backfill.BackfillRequest(first, last),
            at,
            backfill.ProgressCallbacks(on_progress=advance),
        )
    return f"{done.n_forecast} origins, {done.scored:,} depot-days scored"


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
        if depot_ids := depots.depot_ids(connection):
            raise BadInputError(
                f"This database holds {len(depot_ids)} depots that are not invented, such as "
                f"{min(depot_ids)}; the demonstration would mix with them. Set HARBOR_HOME to "
                "a new place."
            )
        record_demo_fleet(connection, requested)
