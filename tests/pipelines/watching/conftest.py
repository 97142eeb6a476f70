"""A watch over the tests' database, an hour old."""

from datetime import timedelta

import pytest

from pipelines.reading import reader
from pipelines.settings import Settings
from pipelines.watching.screen import Screen
from tests.pipelines.watching.watched import NOW


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path, watch_dashboard="")


@pytest.fixture
def looks(database_url):
    engine = reader(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def screen(settings):
    return Screen(settings.home, NOW - timedelta(hours=1))
