"""A watch over the tests' database, an hour old."""

from datetime import timedelta

import pytest

from pipelines.database.roles import create_readonly_engine
from pipelines.monitoring.server import MonitorState
from pipelines.settings import Settings
from tests.pipelines.monitoring.monitored import NOW


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path, watch_dashboard="")


@pytest.fixture
def reader_engine(database_url):
    engine = create_readonly_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def monitor_state(settings):
    return MonitorState(settings.home, NOW - timedelta(hours=1))
