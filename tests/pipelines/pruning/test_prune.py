"""What the command and the night remove, and what they say of it."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from pipelines import pruning
from pipelines.pruning import Pruned, PrunedArtefacts
from pipelines.settings import Settings
from tests.pipelines.make import add_depot, add_orders, record_model, scalar

NOW = datetime.now(UTC)
KEEP = {"HARBOR_KEEP_ORDERS_DAYS": "40", "HARBOR_KEEP_FORECASTS_DAYS": "365"}


@pytest.fixture
def fleet(clean_engine, tmp_path):
    """An artefact that nothing needs, and two orders, one of them old."""
    path = tmp_path / "artefacts" / "old.npz"
    path.parent.mkdir()
    path.write_bytes(b"weights")
    os.utime(path, (0, 0))
    old, new = (f"{NOW.date() - timedelta(days=ago)}T12:00:00" for ago in (45, 5))
    with clean_engine.begin() as connection:
        long_ago = datetime(2020, 1, 1, tzinfo=UTC)
        record_model(connection, "old", "rejected", created_at=long_ago)
        add_depot(connection)
        add_orders(connection, "A", old, new)
    return clean_engine


def n_orders(engine):
    return scalar(engine, "select count(*) from orders")


def test_without_settings_only_artefacts_go(fleet, tmp_path):
    pruned = pruning.prune(fleet, Settings(home=tmp_path), NOW)
    assert pruned == Pruned(PrunedArtefacts(["old"], 1, 7), None, None)
    assert pruned.metrics() == {"artefacts": 1}
    assert n_orders(fleet) == 2


def test_the_command_says_what_went_and_a_second_that_nothing_is_old(fleet, harbor):
    done = harbor("db", "prune", **KEEP)
    assert "Artefacts removed: 1 (0.0 MiB)." in done.stderr
    assert "Forecasts and scores deleted: 0 rows of 0 origins." in done.stderr
    assert "Orders dropped: 1. Demand of the days before" in done.stderr
    assert n_orders(fleet) == 1
    again = harbor("db", "prune", "--json", **KEEP)
    assert json.loads(again.stdout)["forecasts"] == {"rows": 0, "origins": 0}
    assert again.returncode == 3
    assert "HARBOR_KEEP_ORDERS_DAYS (40)" in again.stderr
    assert "HARBOR_KEEP_FORECASTS_DAYS (365)" in again.stderr
    assert "HARBOR_KEEP_ORDERS_DAYS (not set)" in harbor("db", "prune").stderr
