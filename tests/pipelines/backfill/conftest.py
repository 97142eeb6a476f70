"""A fleet with counted demand, and models whose weights were never trained."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from forecaster import artefact
from pipelines import demand
from pipelines.panels import read_panel
from pipelines.settings import Settings
from pipelines.store import models
from tests.make import make_artefact
from tests.pipelines.make import START, add_fleet

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
    demand.rebuild(clean_engine, NOW)
    return clean_engine


@pytest.fixture
def add_model(fleet, settings):
    """Exports and records a model that claims to be trained through a day."""

    def add(through, seed=0, role="judge"):
        made = make_artefact(read_panel(fleet, through), seed=seed)
        path = artefact.save(made, settings.artefacts)
        with fleet.begin() as connection:
            models.add_model(
                connection, version=made.version, trained_through=through, seed=seed,
                data_watermark="", filename=path.name, role=role, scores={},
                sha256=artefact.file_sha256(path),
            )  # fmt: skip
        return made.version

    return add
