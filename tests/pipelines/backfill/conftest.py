"""A fleet with counted demand, and models whose weights were never trained."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.demand.panels import read_panel
from pipelines.schema import models as models_table
from pipelines.settings import Settings
from pipelines.store import models
from tests.make import make_artefact
from tests.pipelines.make import START, add_fleet, save_model

DAYS = 120
LAST = START + timedelta(days=DAYS - 1)
NOW = datetime.combine(LAST + timedelta(days=5), datetime.min.time(), UTC)
UTC_ZONE = ZoneInfo("UTC")


def days_before(n):
    return LAST - timedelta(days=n)


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path)


@pytest.fixture
def fleet(clean_engine):
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=3, n_days=DAYS)
    counting.rebuild(clean_engine, NOW)
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
