"""A fleet that a nightly run can forecast."""

from datetime import timedelta

import pytest

from tests.pipelines.make import LAST, add_champion, count_fleet


@pytest.fixture
def fleet(clean_engine, tmp_path):
    """Counts through `LAST`, and a champion trained through the day before."""
    count_fleet(clean_engine)
    add_champion(clean_engine, LAST - timedelta(days=1), tmp_path / "artefacts")
    return clean_engine
