"""A small fleet in a database of its own, with a champion whose artefact is there."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from pipelines import backup
from pipelines.database import migrate, roles
from pipelines.settings import Settings
from tests.pipelines.in_process import harbor
from tests.pipelines.make import (
    LAST,
    NOW,
    add_champion,
    count_fleet,
    forecast_from,
    query,
)


@dataclass(frozen=True)
class Fleet:
    """A database, and the settings with its artefacts."""

    engine: sa.Engine
    settings: Settings

    @property
    def address(self):
        """As psycopg takes it."""
        return self.settings.database_url.get_secret_value()

    def harbor(self, *words):
        """Runs a command on it."""
        home = str(self.settings.home)
        return harbor(*words, HARBOR_DATABASE_URL=self.address, HARBOR_HOME=home)

    def rows(self):
        """Every row of every table, as text, but what the ledger says of backups."""
        with self.engine.connect() as connection:
            names = sa.inspect(connection).get_table_names()
            found = {
                name: sorted(
                    connection.scalars(sa.text(f"select t::text from {name} t"))
                )
                for name in names
                if name not in {"runs", "run_lines"}
            }
        self.engine.dispose()
        return found

    def forecast(self):
        """Forecasts of the champion, depot by depot and day by day."""
        settings = self.settings
        forecast_from(self.engine, settings.artefacts, LAST, NOW, ZoneInfo("UTC"))
        asked = "select depot_id, target_on, p10, p50, p90, point from forecasts order by 1, 2"
        found = query(self.engine, asked)
        self.engine.dispose()
        return found

    def change(self, *statements):
        """Does something to the database."""
        with self.engine.begin() as connection:
            for each in statements:
                connection.execute(sa.text(each))
        self.engine.dispose()

    def backup(self, folder: Path, now: datetime = NOW, keep: int | None = None):
        try:
            return backup.create(self.engine, self.settings, folder, now, keep)
        finally:
            self.engine.dispose()

    def restore(self, folder: Path, replace: bool = False):
        try:
            now = datetime.now(UTC)
            return backup.restore(
                self.engine, self.settings, folder, now, replace=replace
            )
        finally:
            self.engine.dispose()


@pytest.fixture(scope="module")
def original(new_database, tmp_path_factory):
    """Every test leaves it as it was, but for the ledger."""
    engine = new_database()
    settings = Settings(
        home=tmp_path_factory.mktemp("home"),
        database_url=engine.url.render_as_string(hide_password=False),
    )
    migrate.upgrade(engine)
    roles.ensure(engine)
    count_fleet(engine, n_depots=3)
    add_champion(engine, LAST, settings.artefacts)
    fleet = Fleet(engine, settings)
    fleet.forecast()
    return fleet


@pytest.fixture(scope="module")
def saved(original, tmp_path_factory):
    """A backup of it."""
    return original.backup(tmp_path_factory.mktemp("backups"))


@pytest.fixture
def mine(saved, tmp_path):
    """A copy of the backup that a test may spoil."""
    return Path(shutil.copytree(saved.folder, tmp_path / saved.folder.name))


@pytest.fixture
def elsewhere(new_database, tmp_path):
    """An empty database and an empty home."""
    engine = new_database()
    url = engine.url.render_as_string(hide_password=False)
    return Fleet(engine, Settings(home=tmp_path / "elsewhere", database_url=url))
