"""A fleet with counted demand, and models whose weights were never trained."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from pipelines.backfill import BackfillRequest, run_backfill
from pipelines.demand.panels import read_panel
from pipelines.schema import models as models_table
from pipelines.store import models
from tests.make import make_artefact
from tests.pipelines.make import START, count_fleet, midnight_after, query, save_model

DAYS = 75
LAST = START + timedelta(days=DAYS - 1)
NOW = midnight_after(LAST + timedelta(days=4))


def days_before(n):
    return LAST - timedelta(days=n)


def request(first, last, **options):
    """A backfill of origins that lie some days before the last one."""
    return BackfillRequest(days_before(first), days_before(last), **options)


def backfill(engine, settings, first, last, *, now=NOW, callbacks=None, **options):
    """Runs a backfill of origins that lie some days before the last one."""
    more = () if callbacks is None else (callbacks,)
    asked = request(first, last, **options)
    return run_backfill(engine, settings, asked, now, *more)


def stored(engine):
    """Forecasts, totals and scores as they are, when and by which run they were made apart."""
    columns = {
        "forecasts": "depot_id, origin_on, target_on, model_version, p10, p50, p90, point, "
        "basis, is_live",
        "forecast_totals": "city, origin_on, target_on, model_version, p10, p90, depots",
        "scores": "depot_id, origin_on, target_on, model_version, actual, p10, p50, p90, "
        "point, seasonal_naive, median4, is_live",
    }
    return {
        table: query(engine, f"select {names} from {table} order by 1, 2, 3, 4")
        for table, names in columns.items()
    }


@pytest.fixture
def fleet(clean_engine):
    count_fleet(clean_engine, n_depots=3, n_days=DAYS)
    return clean_engine


@pytest.fixture
def prune(fleet, settings):
    """Takes a model's artefact away, as a night does long after."""

    def pruned(version):
        by_version = models_table.c.version == version
        with fleet.begin() as connection:
            name = models.model(connection, version)["filename"]
            gone = sa.update(models_table).where(by_version)
            connection.execute(gone.values(pruned_at=NOW))
        (settings.artefacts / name).unlink()

    return pruned


@pytest.fixture
def add_model(fleet, settings):
    """Exports and records a model that claims to be trained through a day."""

    def add(through, seed=0, role="evaluation"):
        made = make_artefact(read_panel(fleet, through), seed=seed)
        columns = {"trained_through": through, "seed": seed, "role": role}
        save_model(fleet, made, settings.artefacts, **columns)
        return made.version

    return add
