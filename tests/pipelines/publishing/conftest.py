"""A fleet of two nights, and a folder and a bucket to publish to."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from tests.pipelines.make import (
    START,
    UTC_ZONE,
    add_champion,
    add_counts,
    count_fleet,
    forecast_from,
    midnight_after,
    score_known_days,
)

DAYS = 40
LAST = START + timedelta(days=DAYS - 1)
EARLIER = LAST - timedelta(days=1)


class Fleet:
    """Two depots with a champion, forecast night by night."""

    def __init__(self, engine, home):
        self.engine, self.home = engine, home
        count_fleet(engine, n_days=DAYS - 1)
        add_champion(engine, EARLIER, home / "artefacts")
        self.forecast(EARLIER)

    def forecast(self, day):
        artefacts = self.home / "artefacts"
        forecast_from(self.engine, artefacts, day, midnight_after(day), UTC_ZONE)

    def count(self, day, orders):
        with self.engine.begin() as connection:
            add_counts(connection, ("A0", "A1"), [day], orders)
        counting.rebuild(self.engine, midnight_after(day))

    def next_night(self):
        """The last day is counted and scored, and forecast from."""
        self.count(LAST, 80)
        score_known_days(self.engine)
        self.forecast(LAST)

    def read(self, statement):
        with self.engine.connect() as connection:
            return [
                dict(row) for row in connection.execute(sa.text(statement)).mappings()
            ]


@pytest.fixture
def fleet(clean_engine, tmp_path):
    return Fleet(clean_engine, tmp_path)
