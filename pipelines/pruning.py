"""Removes artefacts that are no longer needed, and forecasts and orders older than a setting.

Everything here is safe to repeat. `clean_up` removes files that killed commands left,
and old log lines.
"""

import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import chain
from pathlib import Path

import sqlalchemy as sa
import structlog

from pipelines.demand import counting
from pipelines.settings import Settings
from pipelines.store import (
    artefacts,
    demand,
    forecast_retention,
    ingest,
    order_retention,
    run_lines,
)
from pipelines.whole_file import UNFINISHED

log = structlog.get_logger()

MIN_ARTEFACT_AGE = timedelta(days=1)
"""Younger files are kept: a training may be writing a pruned model again."""
STAGED_FILE_AGE = timedelta(days=1)
"""Longer than writing a file takes on any machine that shares the folder."""
RESTORE_PREFIX = ".restore-"
"""Prefix of the folder, under `HARBOR_HOME`, for a dump that is being restored."""
CHECKPOINT_AGE = timedelta(days=14)
"""After this time, an interrupted training is not resumed, because its data has changed."""
LOG_LINE_AGE = timedelta(days=90)
"""Rows of runs are kept for ever; their log lines for this long."""


@dataclass(frozen=True)
class PrunedArtefacts:
    """The versions newly recorded as pruned, and the number and size of the removed files.

    The files include those that an earlier pruning left.
    """

    models: list[str]
    files: int
    size_bytes: int


@dataclass(frozen=True)
class DeletedForecasts:
    """The number of deleted rows (forecasts, totals and scores), and the number of their origins."""

    rows: int
    origins: int


@dataclass(frozen=True)
class DroppedOrders:
    """The number of dropped orders, and the first day whose orders are kept.

    `froze` tells whether days were frozen that were not before.
    """

    orders: int
    before: date
    froze: bool


@dataclass(frozen=True)
class Pruned:
    """What was removed; None where a setting keeps every forecast or order."""

    artefacts: PrunedArtefacts
    forecasts: DeletedForecasts | None
    orders: DroppedOrders | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was removed or frozen."""
        return not (
            self.artefacts.models
            or self.artefacts.files
            or (self.forecasts and self.forecasts.origins)
            or (self.orders and (self.orders.orders or self.orders.froze))
        )

    def metrics(self) -> dict[str, int]:
        """Numbers for the ledger, without those whose setting is not set."""
        numbers = {"artefacts": self.artefacts.files}
        if self.forecasts is not None:
            numbers["forecasts_deleted"] = self.forecasts.rows
        if self.orders is not None:
            numbers["dropped"] = self.orders.orders
        return numbers


def prune(engine: sa.Engine, settings: Settings, now: datetime) -> Pruned:
    """Removes artefacts that nothing needs, and old forecasts and orders if settings say so."""
    return Pruned(
        prune_artefacts(engine, settings),
        delete_old_forecasts(engine, settings),
        drop_old_orders(engine, settings, now),
    )


def prune_artefacts(engine: sa.Engine, settings: Settings) -> PrunedArtefacts:
    """Removes old artefacts that are not needed; their models stay listed.

    Needed are the artefacts of the champion, the previous champion, the newest forecasts,
    recent models and recent champions, each with its evaluation model. The database records them
    as pruned before the files are removed: after an interruption in between, the next pruning
    removes the remaining files.
    """
    with engine.begin() as connection:
        versions = artefacts.prune(connection, settings.keep_artefacts_days)
    paths = {path.name: path for path in settings.artefacts.glob("*.npz")}
    with engine.connect() as connection:
        pruned = [paths[name] for name in artefacts.pruned_files(connection, paths)]
    sizes = []
    for path in older_than(pruned, MIN_ARTEFACT_AGE):
        # Another pruning may remove it meanwhile.
        with suppress(FileNotFoundError):
            size = path.stat().st_size
            path.unlink()
            sizes.append(size)
    return PrunedArtefacts(versions, len(sizes), sum(sizes))


def delete_old_forecasts(
    engine: sa.Engine, settings: Settings
) -> DeletedForecasts | None:
    """Deletes forecasts, totals and scores from origins that are no longer kept.

    An origin is kept for `keep_forecasts_days` before the newest one. Each is deleted in one
    transaction. Returns None if the setting keeps every forecast.
    """
    if settings.keep_forecasts_days is None:
        return None
    with engine.connect() as connection:
        origins = forecast_retention.origins_older_than(
            connection, settings.keep_forecasts_days
        )
    n_rows = 0
    for origin in origins:
        with engine.begin() as connection:
            n_rows += forecast_retention.delete_origin(connection, origin)
    return DeletedForecasts(n_rows, len(origins))


def drop_old_orders(
    engine: sa.Engine, settings: Settings, now: datetime
) -> DroppedOrders | None:
    """Counts demand, freezes days older than `keep_orders_days`, and drops their orders.

    Daily demand keeps every day. Orders that come later for a frozen day are not counted, and
    are dropped the next time. A clock that is ahead freezes no day that is still to come: today
    is at most `MAX_FEED_DELAY_DAYS` after the newest day with demand. Returns None if the
    setting keeps every order, or there is no demand.
    """
    if settings.keep_orders_days is None:
        return None
    keep = timedelta(days=settings.keep_orders_days)
    fleet_day = now.astimezone(settings.zone).date()
    with engine.begin() as connection:
        # A concurrent load could insert orders between counting and dropping.
        ingest.lock(connection, "orders")
        today = counting.first_incomplete_day(connection, now)
        demand.recount(connection, today, now, settings.look_back_days)
        last_day_on = demand.last_day(connection)
        if last_day_on is None:
            return None
        latest = last_day_on + timedelta(days=counting.MAX_FEED_DELAY_DAYS)
        before = min(fleet_day, latest) - keep
        # Frozen days stay frozen, even if the setting has been raised since.
        frozen = order_retention.frozen_before(connection)
        before = max(before, frozen or before)
        return DroppedOrders(
            order_retention.drop_orders(connection, before), before, before != frozen
        )


def clean_up(engine: sa.Engine, settings: Settings) -> int:
    """Removes old log lines, and files that killed commands left.

    These files are unpublished artefacts, unfinished files of paths, checkpoints of trainings and
    dumps being restored.

    Returns:
      Number of files and folders removed.
    """
    with engine.begin() as connection:
        run_lines.delete_old_lines(connection, LOG_LINE_AGE)
    unfinished = (settings.home / "paths").glob(f".*{UNFINISHED}")
    files = chain(settings.artefacts.glob(".*.tmp"), unfinished)
    staged = older_than(files, STAGED_FILE_AGE)
    abandoned = [
        *older_than(settings.checkpoints.glob("*"), CHECKPOINT_AGE),
        *older_than(settings.home.glob(f"{RESTORE_PREFIX}*"), STAGED_FILE_AGE),
    ]
    for path in staged:
        path.unlink(missing_ok=True)
    for path in abandoned:
        shutil.rmtree(path, ignore_errors=True)
    if staged or abandoned:
        log.info("cleaned_up", staged=len(staged), folders=len(abandoned))
    return len(staged) + len(abandoned)


def older_than(paths: Iterable[Path], age: timedelta) -> list[Path]:
    """Returns the files and folders whose last modification is longer ago than `age`."""
    before = time.time() - age.total_seconds()
    old = []
    for path in paths:
        # Another process may remove it meanwhile.
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                old.append(path)
    return old
